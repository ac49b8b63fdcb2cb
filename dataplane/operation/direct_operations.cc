#include "dataplane/operation/direct_operations.h"

#include <cstring>
#include <new>
#include <span>

#include "dataplane/base/copy_bytes.h"
#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/base/own_memory.h"
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

// The pieces of the first `bytes` of the layout, which is at its beginning. None: they do not fit.
std::span<const LayoutPiece> pieces_of(LayoutCursor& layout, std::uint64_t bytes, std::span<LayoutPiece> room) {
  const std::size_t count = layout.next_pieces(room, bytes);
  const bool fits = layout.position() == bytes;
  layout.seek(0);
  return room.first(fits ? count : 0);
}

void gather(std::byte* into, std::span<const LayoutPiece> pieces) {
  for (const LayoutPiece& piece : pieces) {
    copy_bytes(into, pointer_to(piece.address), piece.length);
    into += piece.length;
  }
}

}  // namespace

// What the target counts of it is its own to find out (DirectMemory::traffic()). The counters move in the order in
// which messages move them.
bool DirectOperations::put_now(Peer& peer, const PutRequest& request) {
  if (!peer.direct_memory->put(peer.index, request.target_address, request.data, request.length,
                               request.target_counter)) {
    return false;
  }
  put_is_done(peer, request, request.length);
  return true;
}

template <typename Request>
inline void DirectOperations::put_is_done(Peer& peer, const Request& request, std::uint64_t length) {
  means_.statistics.message_sent(peer, length);
  means_.counters.move(request.origin_counter, peer.index);
  answered(peer, request.send_handler, request.completion_counter);
}

inline void DirectOperations::answered(Peer& peer, const HandlerCall& send_handler, std::uint64_t counter) {
  if (send_handler.function == nullptr) [[likely]]
    return means_.counters.move(counter, peer.index);
  means_.origins.keep_handler(peer.index, send_handler, counter);
}

bool DirectOperations::get_now(Peer& peer, const GetRequest& request) {
  if (!peer.direct_memory->get(peer.index, request.target_address, request.buffer, request.length,
                               request.target_counter)) {
    return false;
  }
  get_is_done(peer, request.length, request.origin_counter, request.completion_handler);
  return true;
}

inline void DirectOperations::get_is_done(Peer& peer, std::uint64_t length, std::uint64_t origin_counter,
                                          const HandlerCall& handler) {
  means_.statistics.receive_completed();
  means_.statistics.of(peer).data_received += length;
  means_.counters.move(origin_counter, peer.index);
  means_.requests.run_handler(peer.index, peer.incarnation, handler);
}

DirectOperations::Room* DirectOperations::room() {
  if (room_ == nullptr) room_.reset(new (std::nothrow) Room);
  return room_.get();
}

// A source that cannot be read is found again, and told, by the message.
bool DirectOperations::put_pieces_now(Peer& peer, const LayoutPutRequest& request) {
  Room* const space = room();
  if (space == nullptr) return false;
  const std::uint64_t total = std::min(request.source->total_bytes(), request.destination->total_bytes());
  const auto theirs = pieces_of(*request.destination, total, space->theirs);
  const auto own = pieces_of(*request.source, total, space->own);
  if (theirs.empty() || own.empty()) return false;
  std::byte* const data = space->data.data();
  if (!means_.guard.is_guarded(*request.source)) {
    gather(data, own);
  } else if (!survives([&] { gather(data, own); })) {
    return false;
  }
  if (!peer.direct_memory->put_pieces(peer.index, theirs, data, request.target_counter)) return false;
  put_is_done(peer, request, total);
  return true;
}

// As with a message, what the destination has no room for is thrown away, and all that comes after an address that
// cannot be written.
bool DirectOperations::get_pieces_now(Peer& peer, const LayoutGetRequest& request) {
  Room* const space = room();
  if (space == nullptr) return false;
  const std::uint64_t total = request.source->total_bytes();
  const auto theirs = pieces_of(*request.source, total, space->theirs);
  if (theirs.empty()) return false;
  std::byte* const data = space->data.data();
  if (!peer.direct_memory->get_pieces(peer.index, theirs, data, request.target_counter)) return false;
  if (!means_.guard.scatter(*request.destination, 0, {data, static_cast<std::size_t>(total)})) {
    means_.host.report_fault(Fault::origin_vector, peer.index);
  }
  get_is_done(peer, total, request.origin_counter, request.completion_handler);
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
  answered(peer, request.send_handler, request.origin_counter);
  return true;
}

void ask_for(DirectMemory& memory, std::uint64_t address, std::uint64_t counter) {
  memory.asked_for(address);
  if (counter != 0) memory.asked_for(counter);
}

void ask_for(DirectMemory& memory, LayoutCursor& layout, std::uint64_t length, std::uint64_t counter) {
  const std::uint64_t position = layout.position();
  std::array<LayoutPiece, kPiecesAtATime> pieces;
  layout.seek(0);
  while (layout.position() < length) {
    const std::size_t count = layout.next_pieces(pieces, length - layout.position());
    if (count == 0) break;
    memory.asked_for_pieces(std::span(pieces).first(count));
  }
  layout.seek(position);
  if (counter != 0) memory.asked_for(counter);
}

}  // namespace openlapi
