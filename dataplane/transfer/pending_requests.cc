#include "dataplane/transfer/pending_requests.h"

#include <utility>

#include "dataplane/layout/guarded_copy.h"

namespace openlapi {

std::uint32_t PendingRequests::add(Peer& peer, PendingRequest request) {
  const std::uint64_t list_bytes = request.list_bytes;
  const std::uint32_t id = means_.table.add(std::move(request));
  ++peer.requests_waiting;
  if (list_bytes != 0) means_.admission.count_lists(peer, list_bytes);
  return id;
}

void PendingRequests::place(PendingRequest& request, std::uint64_t offset, std::span<const std::byte> data) {
  if (means_.guard.scatter(*request.layout, offset, data)) return;
  request.layout = nowhere();
  means_.host.report_fault(Fault::origin_vector, request.peer);
}

// The request is there until its counter has moved, for the words of a task that dies of it.
void PendingRequests::complete(std::uint32_t id, Peer& from) {
  const PendingRequest& request = *means_.table.find(id);
  const HandlerCall handler{request.handler, request.handler_info};
  if (request.is_get) {
    means_.statistics.receive_completed();
    means_.statistics.of(from).data_received += request.length;
  } else {
    means_.statistics.send_completed();
  }
  means_.counters.move(request.origin_counter, from.index);
  done(from, id, request.list_bytes);
  run_handler(from.index, from.incarnation, handler);
}

void PendingRequests::done(Peer& peer, std::uint32_t id, std::uint64_t list_bytes) {
  means_.table.remove(id);
  --peer.requests_waiting;
  if (list_bytes != 0) [[unlikely]]
    means_.admission.return_lists(peer, list_bytes);
}

void PendingRequests::refused(std::uint32_t id, Peer& from, CounterLoss why) {
  const PendingRequest& request = *means_.table.find(id);
  means_.counters.lose(request.origin_counter, why);
  done(from, id, request.list_bytes);
}

void PendingRequests::run_handler(PeerIndex source, std::uint32_t incarnation, const HandlerCall& handler) {
  if (handler.function == nullptr) [[likely]]
    return;
  means_.host.run_completion_handler({handler.function, handler.info, source, incarnation, 0, 0}, false);
}

}  // namespace openlapi
