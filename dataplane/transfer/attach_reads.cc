#include "dataplane/transfer/attach_reads.h"

#include <algorithm>
#include <utility>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/message/served_packet.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

void AttachReads::begin(AttachRead read) {
  if (!advance_read(read)) reads_.push_back(std::move(read));
  means_.signs.set(StepSigns::reads, !reads_.empty());
}

unsigned AttachReads::advance() {
  if (reads_.empty()) return 0;
  AttachRead read = std::move(reads_.front());
  reads_.pop_front();
  means_.signs.set(StepSigns::reads, !reads_.empty());
  begin(std::move(read));
  return 1;
}

// Copies the next piece; true: this read needs no further steps.
bool AttachReads::advance_read(AttachRead& read) {
  Peer* peer = means_.peers.find(read.peer);
  if (peer == nullptr || peer->remote_memory == nullptr) {
    if (peer == nullptr || read.is_get) return true;
    if (const auto found = peer->incoming.find(read.id); found != peer->incoming.end()) found->second.elsewhere = false;
    means_.outbox.answer(*peer, RecordKind::attach_done, wire::AttachDoneBody{read.id, wire::AttachAnswer::closed});
    return true;
  }
  return read.is_get ? advance_get(read, *peer) : advance_attach(read, *peer);
}

bool AttachReads::advance_get(AttachRead& read, Peer& peer) {
  PendingRequest* request = means_.requests.find(read.id);
  if (request == nullptr) return true;
  std::uint64_t piece = std::min(request->length - request->received, tuning::kAttachPiece);
  if (read.source != nullptr) {
    piece = read_layout(peer, *read.source, *request->layout, request->received, piece);
    if (piece == 0) return get_in_packets(read, peer, *request);
  } else {
    auto* place = static_cast<std::byte*>(request->buffer) + request->received;
    if (!peer.remote_memory->read(peer.index, read.source_address + request->received, place, piece)) {
      return get_in_packets(read, peer, *request);
    }
  }
  request->received += piece;
  if (request->received != request->length) return false;
  ++means_.statistics.of(peer).packets_received;
  means_.outbox.post_record(peer, RecordKind::memory_read, wire::MemoryReadBody{read.target_counter, request->length});
  const MovedMessage moved(request);
  means_.requests.complete(read.id, peer);
  return true;
}

// The memory could not be read. True, as advance_get() answers then.
bool AttachReads::get_in_packets(const AttachRead& read, Peer& peer, PendingRequest& request) {
  ++means_.statistics.of(peer).retransmitted_packets;
  request.received = 0;
  request.read = false;
  means_.fallback.ask_for_packets(peer, read, request.length);
  return true;
}

bool AttachReads::advance_attach(AttachRead& read, Peer& peer) {
  const auto found = peer.incoming.find(read.id);
  if (found == peer.incoming.end()) return true;
  IncomingMessage& message = found->second;
  if (message.layout != nullptr || (read.layout_length != 0 && (message.has_buffer || message.is_put()))) {
    return advance_layout_attach(read, peer, message);
  }
  const std::uint64_t piece = std::min(message.total - message.received, tuning::kAttachPiece);
  const bool wanted = message.has_buffer;
  if (wanted && !(peer.remote_memory->reachable(peer.index) &&
                  peer.remote_memory->read(peer.index, read.source_address + message.received,
                                           message.buffer + message.received, piece))) {
    refuse_attach(read, peer, message);
    return true;
  }
  const std::uint64_t step = wanted ? piece : message.total;
  if (message.received + step != message.total) {
    message.received += step;
    return false;
  }
  finish_attach(read, peer, message, step);
  return true;
}

void AttachReads::give_up(const Peer& peer) {
  std::erase_if(reads_, [&](const AttachRead& read) { return read.peer == peer.index; });
  means_.signs.set(StepSigns::reads, !reads_.empty());
}

void AttachReads::finish_attach(const AttachRead& read, Peer& peer, IncomingMessage& message, std::uint64_t bytes) {
  ++means_.statistics.of(peer).packets_received;
  means_.outbox.answer(peer, RecordKind::attach_done, wire::AttachDoneBody{read.id, wire::AttachAnswer::read});
  means_.incoming.arrived(peer, read.id, message, bytes);
}

void AttachReads::refuse_attach(const AttachRead& read, Peer& peer, IncomingMessage& message) {
  message.received = 0;
  message.elsewhere = false;
  if (message.is_put()) message.layout.reset();  // the records of the data say where it goes
  const bool closed = !peer.remote_memory->reachable(peer.index);
  means_.outbox.answer(
      peer, RecordKind::attach_done,
      wire::AttachDoneBody{read.id, closed ? wire::AttachAnswer::closed : wire::AttachAnswer::not_read});
}

}  // namespace openlapi
