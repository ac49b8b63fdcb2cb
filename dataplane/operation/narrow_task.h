// Operations that a 32-bit task cannot accept: for addresses that it cannot have, or longer than its memory. They are a
// mistake of the other task's program. This task reports them to its error handler and writes nothing, and nobody waits
// for what was refused.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/host/requests.h"
#include "dataplane/layout/own_layouts.h"
#include "dataplane/operation/completions.h"
#include "dataplane/operation/puts.h"
#include "dataplane/transfer/incoming_messages.h"
#include "dataplane/transfer/origin_notices.h"
#include "dataplane/transfer/refusals.h"

namespace openlapi {

// The filter for records: whether everything that the record names can belong to this task.
bool is_for_own_memory(const wire::Record& record);

// The same for what a user asks of the task itself.
template <typename Request>
bool is_for_own_memory(const Request& request) {
  if constexpr (requires { request.handler; }) {
    return is_own_memory(request.handler, 1) && is_own_counter(request.target_counter);
  } else if constexpr (requires { request.operation; }) {
    return is_own_memory(request.target_address, request.width);
  } else if constexpr (requires { request.target_address; }) {
    return is_own_memory(request.target_address, request.length) && is_own_counter(request.target_counter);
  } else if constexpr (requires { request.completion_handler; }) {
    return is_own_layout(*request.source) && is_own_counter(request.target_counter);
  } else {
    return is_own_layout(*request.destination) && is_own_counter(request.target_counter);
  }
}

class NarrowTask {
 public:
  struct Means {
    HandlerHost& host;
    Statistics& statistics;
    Counters& counters;
    OriginNotices& origins;
    IncomingMessages& incoming;
    Completions& completions;
    Puts& puts;
    Refusals& refusals;
    PeerIndex self;
  };
  explicit NarrowTask(const Means& means) : means_(means) {}

  // A put or active message is buried: fences and the origin's completion counter do not wait for it. A get or
  // read-modify-write gets an answer that makes its origin give it up.
  void refuse(Peer& from, const wire::Record& record);

  // Ends an operation of the task on itself.
  template <typename Request>
  Submit refuse_own(const Request& request) {
    if constexpr (requires { request.completion_counter; }) {
      end_message_at_self({request.origin_counter, request.send_handler}, request.completion_counter);
    } else {
      end_request_at_self(request.origin_counter);
    }
    return Submit::accepted;
  }

 private:
  void bury(Peer& from, const wire::Record& record);
  void bury_part(Peer& from, PutFragment put, std::span<const std::byte> data);
  void end_request_at_self(std::uint64_t origin_counter);
  void end_message_at_self(const OriginNotice& origin, std::uint64_t completion_counter);

  const Means means_;
};

}  // namespace openlapi
