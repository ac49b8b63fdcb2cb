// The gets and read-modify-writes of this task that wait for answers, and how they end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/counter/counters.h"
#include "dataplane/host/handler_host.h"
#include "dataplane/message/request_table.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/transfer/admission.h"
#include "dataplane/transfer/guarded_layouts.h"

namespace openlapi {

class PendingRequests {
 public:
  struct Means {
    HandlerHost& host;
    Counters& counters;
    Statistics& statistics;
    Admission& admission;
    const GuardedLayouts& guard;
    RequestTable& table;
  };
  explicit PendingRequests(const Means& means) : means_(means) {}

  std::uint32_t add(Peer& peer, PendingRequest request);
  // Null: it has ended.
  PendingRequest* find(std::uint32_t id) { return means_.table.find(id); }

  // Puts a part of a get's answer in place; data that has no place is thrown away.
  void place(PendingRequest& request, std::uint64_t offset, std::span<const std::byte> data);

  // Everything that was asked for is in place: moves the origin counter, then runs the handler.
  void complete(std::uint32_t id, Peer& from);

  // There will be no answer, for a reason that the peer has given: waits for the origin counter are told, and fences no
  // longer wait for it.
  void refused(std::uint32_t id, Peer& from, CounterLoss why);

  // Runs a get's completion handler, after the data is in place and the origin counter has moved. `incarnation`: the
  // source's; 0 for oneself.
  void run_handler(PeerIndex source, std::uint32_t incarnation, const HandlerCall& handler);

 private:
  void done(Peer& peer, std::uint32_t id, std::uint64_t list_bytes);

  const Means means_;
};

}  // namespace openlapi
