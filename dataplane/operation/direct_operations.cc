#include "dataplane/operation/direct_operations.h"

#include <cstring>

#include "dataplane/operation/read_modify_write.h"

namespace openlapi {

namespace {

struct RmwOperands {
  const RmwRequest& request;
  std::uint64_t previous;
};

void apply_to_word(void* word, void* given) {
  auto& operands = *static_cast<RmwOperands*>(given);
  const RmwRequest& request = operands.request;
  operands.previous = apply_rmw(request.operation, request.width, reinterpret_cast<std::uintptr_t>(word), request.input,
                                request.swap_value);
}

}  // namespace

// What the target counts of it is its own to find out (DirectMemory::traffic()). The counters move in the order in
// which messages move them.
bool DirectOperations::put_now(Peer& peer, const PutRequest& request) {
  if (!peer.direct_memory->put(peer.index, request.target_address, request.data, request.length,
                               request.target_counter)) {
    return false;
  }
  means_.statistics.message_sent(peer, request.length);
  means_.counters.move(request.origin_counter, peer.index);
  means_.counters.move(request.completion_counter, peer.index);
  return true;
}

bool DirectOperations::get_now(Peer& peer, const GetRequest& request) {
  if (!peer.direct_memory->get(peer.index, request.target_address, request.buffer, request.length,
                               request.target_counter)) {
    return false;
  }
  means_.statistics.receive_completed();
  means_.statistics.of(peer).data_received += request.length;
  means_.counters.move(request.origin_counter, peer.index);
  means_.requests.run_handler(peer.index, peer.incarnation, request.completion_handler);
  return true;
}

// Words that are not aligned are protected by the target's lock only.
bool DirectOperations::change_now(Peer& peer, const RmwRequest& request) {
  if (request.target_address % request.width != 0) return false;
  RmwOperands operands{request, 0};
  if (!peer.direct_memory->change(peer.index, request.target_address, request.width, apply_to_word, &operands)) {
    return false;
  }
  if (request.previous != nullptr) std::memcpy(request.previous, &operands.previous, request.width);
  means_.statistics.send_completed();
  means_.counters.move(request.origin_counter, peer.index);
  return true;
}

void ask_for(DirectMemory& memory, std::uint64_t address, std::uint64_t counter) {
  memory.asked_for(address);
  if (counter != 0) memory.asked_for(counter);
}

}  // namespace openlapi
