// Attach mode (guide, appendix B): the side that receives copies straight from the other side's memory, a bounded piece
// per step so that one huge message does not hold up the rest. When the memory cannot be read the message comes as
// fragments instead.
#include <algorithm>

#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/endpoint/served_packet.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

namespace {

bool is_put(const IncomingMessage& message) { return message.kind == RecordKind::put; }

}  // namespace

void EndpointCore::begin_read(DirectRead read) {
  if (!advance_read(read)) reads_.push_back(std::move(read));
}

unsigned EndpointCore::advance_reads() {
  if (reads_.empty()) return 0;
  DirectRead read = std::move(reads_.front());
  reads_.pop_front();
  begin_read(std::move(read));
  return 1;
}

// Copies the next piece; true: this read needs no further steps.
bool EndpointCore::advance_read(DirectRead& read) {
  Peer* peer = peers_[read.peer].get();
  if (peer == nullptr || peer->remote_memory == nullptr) {
    if (peer == nullptr || read.is_get) return true;
    if (const auto found = peer->incoming.find(read.id); found != peer->incoming.end()) found->second.elsewhere = false;
    answer(*peer, RecordKind::attach_done, wire::AttachDoneBody{read.id, wire::AttachAnswer::closed});
    return true;
  }
  return read.is_get ? advance_get(read, *peer) : advance_attach(read, *peer);
}

bool EndpointCore::advance_get(DirectRead& read, Peer& peer) {
  PendingRequest* request = requests_.find(read.id);
  if (request == nullptr) return true;
  std::uint64_t piece = std::min(request->length - request->received, tuning::kDirectReadPiece);
  if (read.source != nullptr) {
    piece = read_layout(peer, *read.source, *request->layout, request->received, piece);
    if (piece == 0) {
      ++statistics_of(peer).retransmitted_packets;
      request->received = 0;
      request->read = false;
      send_layout_request(peer, read.id, *read.source, read.target_counter);
      return true;
    }
  } else {
    auto* place = static_cast<std::byte*>(request->buffer) + request->received;
    if (!peer.remote_memory->read(peer.index, read.source_address + request->received, place, piece)) {
      ++statistics_of(peer).retransmitted_packets;
      request->received = 0;
      request->read = false;
      send_get_request(peer, read.id, read.source_address, request->length, read.target_counter);
      return true;
    }
  }
  request->received += piece;
  if (request->received != request->length) return false;
  ++statistics_of(peer).packets_received;
  post_record(peer, RecordKind::memory_read, wire::MemoryReadBody{read.target_counter, request->length});
  const MovedMessage moved(request);
  request_complete(read.id, &peer);
  return true;
}

bool EndpointCore::advance_attach(DirectRead& read, Peer& peer) {
  const auto found = peer.incoming.find(read.id);
  if (found == peer.incoming.end()) return true;
  IncomingMessage& message = found->second;
  if (message.layout != nullptr || (read.layout_length != 0 && (message.buffer != nullptr || is_put(message)))) {
    return advance_layout_attach(read, peer, message);
  }
  const std::uint64_t piece = std::min(message.total - message.received, tuning::kDirectReadPiece);
  const bool wanted = message.has_buffer();
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

void EndpointCore::finish_attach(const DirectRead& read, Peer& peer, IncomingMessage& message, std::uint64_t bytes) {
  ++statistics_of(peer).packets_received;
  answer(peer, RecordKind::attach_done, wire::AttachDoneBody{read.id, wire::AttachAnswer::read});
  fragment_arrived(peer, read.id, message, bytes);
}

void EndpointCore::refuse_attach(const DirectRead& read, Peer& peer, IncomingMessage& message) {
  message.received = 0;
  message.elsewhere = false;
  if (is_put(message)) message.layout.reset();  // the records of the data say where it goes
  const bool closed = !peer.remote_memory->reachable(peer.index);
  answer(peer, RecordKind::attach_done,
         wire::AttachDoneBody{read.id, closed ? wire::AttachAnswer::closed : wire::AttachAnswer::not_read});
}

// The other side has served itself: only now does this task know of the get, and counts it as sent.
void EndpointCore::on_memory_read(Peer& from, const wire::Record& record) {
  wire::MemoryReadBody body;
  std::memcpy(&body, record.body, sizeof(body));
  ++statistics_of(from).packets_sent;
  statistics_of(from).data_sent += body.length;
  move_counter(body.counter, from.index);
}

void EndpointCore::on_attach_done(Peer& from, const wire::Record& record) {
  wire::AttachDoneBody body;
  std::memcpy(&body, record.body, sizeof(body));
  OutgoingMessage* const found = outgoing_.find(body.message_id);
  if (found == nullptr || found->peer != from.index) return ghost();
  OutgoingMessage& message = *found;
  if (message.stage != OutgoingMessage::Stage::awaiting_attach) return ghost();
  if (body.answer == wire::AttachAnswer::read) {
    ++statistics_of(from).packets_sent;
    if (message.exposure.active()) bulk_succeeded(from);
    return finish_sending(message);
  }
  if (message.exposure.active()) {
    message.exposure.end();
    bulk_failed(from);
  } else {
    from.attach_closed = from.attach_closed || body.answer == wire::AttachAnswer::closed;
  }
  ++statistics_of(from).retransmitted_packets;
  set_stage(message, OutgoingMessage::Stage::sending);
  if (from.backlog.empty() && pump(from, message)) finish_sending(message);
}

void EndpointCore::send_get_request(Peer& peer, std::uint32_t id, std::uint64_t address, std::uint64_t length,
                                    std::uint64_t target_counter, std::uint8_t flags) {
  RecordBytes fixed(RecordKind::get_request, wire::GetRequestBody{address, length, target_counter, id, 0});
  fixed.flags(flags);
  const ConstBuffer piece = fixed.piece();
  post(peer, {&piece, 1}, fixed.length());
}

}  // namespace openlapi
