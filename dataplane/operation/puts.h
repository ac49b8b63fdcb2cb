// Put: the origin sends the data and its destination, the target stores it, and counters tell both when it is in place.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/host/requests.h"
#include "dataplane/operation/completions.h"
#include "dataplane/operation/direct_operations.h"
#include "dataplane/transfer/incoming_messages.h"
#include "dataplane/transfer/message_submission.h"

namespace openlapi {

class Puts {
 public:
  struct Means {
    HandlerHost& host;
    Statistics& statistics;
    Counters& counters;
    Admission& admission;
    OriginNotices& origins;
    MessageSubmission& submission;
    IncomingMessages& incoming;
    Completions& completions;
    DirectOperations& direct;
    const GuardedLayouts& guard;
    PeerIndex self;
  };
  explicit Puts(const Means& means) : means_(means) {}

  // To a peer, or to this task itself.
  Submit begin(Peer& peer, const PutRequest& request);
  Submit begin_at_self(const PutRequest& request);
  // Between layouts; neither is empty, and both are at their beginnings.
  Submit begin(Peer& peer, const LayoutPutRequest& request);
  Submit begin_at_self(const LayoutPutRequest& request);

  // Records of peers' puts.
  void on_put(Peer& from, const wire::Record& record);
  void on_short_put(Peer& from, const wire::Record& record);
  void on_put_pieces(Peer& from, const wire::Record& record);
  void on_put_strided(Peer& from, const wire::Record& record);
  // A part of a put whose data goes to the present position of `layout`.
  void place(Peer& from, const PutFragment& put, LayoutCursor& layout, std::span<const std::byte> data);

 private:
  Submit begin_short(Peer& peer, const PutRequest& request);
  [[gnu::noinline]] void begin_long(Peer& from, const wire::Record& record, const CompletionRun& run,
                                    std::byte* target);
  void end_at_self(std::uint64_t data_bytes, const OriginNotice& notice, std::uint64_t target_counter,
                   std::uint64_t completion_counter);

  const Means means_;
};

}  // namespace openlapi
