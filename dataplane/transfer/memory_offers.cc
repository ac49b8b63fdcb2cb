#include "dataplane/transfer/memory_offers.h"

#include <algorithm>
#include <utility>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/message/fragments.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

bool MemoryOffers::wants_bulk(const Peer& peer, BulkHint hint, std::uint64_t length) const {
  if (peer.bulk_memory == nullptr || length < config_.bulk_minimum) return false;
  return hint == BulkHint::by_task ? config_.bulk : hint == BulkHint::always;
}

// After a failure some messages go in packets at once, more each time: a path that does not work costs a round trip.
bool MemoryOffers::may_try_bulk(Peer& peer) {
  if (peer.bulk_pause != 0) {
    --peer.bulk_pause;
    return false;
  }
  return peer.bulk_memory->reachable(peer.index);
}

void MemoryOffers::bulk_failed(Peer& peer) {
  ++statistics_.of(peer).bulk_fallbacks;
  peer.bulk_failures = std::min(peer.bulk_failures + 1, tuning::kMostBulkFailures);
  peer.bulk_pause = (1u << peer.bulk_failures) - 1;
}

bool MemoryOffers::expose(Peer& peer, OutgoingMessage& message) {
  if (peer.bulk_memory == nullptr || !may_try_bulk(peer)) return false;
  if (message.exposure.begin(*peer.bulk_memory, message.data, static_cast<std::size_t>(message.total))) return true;
  bulk_failed(peer);
  return false;
}

bool MemoryOffers::offer(Peer& peer, OutgoingMessage& message, BulkHint bulk) {
  if (peer.remote_memory == nullptr || peer.attach_closed) {
    message.referenced = !peer.is_direct();
    return wants_bulk(peer, bulk, message.total) && offer_bulk(peer, message);
  }
  offer_attach(peer, std::move(message));
  return true;
}

bool MemoryOffers::offer_layout(Peer& peer, OutgoingMessage& message) {
  const bool attach = may_attach(peer, message);
  message.kept_bytes = message.bytes_of_ours();
  if (attach) offer_layout_attach(peer, std::move(message));
  return attach;
}

// The first record goes without data; the peer reads our memory and says whether it could.
void MemoryOffers::offer_attach(Peer& peer, OutgoingMessage message) {
  const wire::LongExtension extension{message.total, reinterpret_cast<std::uintptr_t>(message.data), message.id, 0};
  RecordBytes fixed(message.kind, message.body);
  fixed.extend(extension, wire::kFlagLong | wire::kFlagAttach)
      .user_header_length(static_cast<std::uint32_t>(message.user_header.size()));
  message.stage = OutgoingMessage::Stage::awaiting_attach;
  message.first_sent = true;
  const ConstBuffer pieces[] = {fixed.piece(), {message.user_header.data(), message.user_header.size()}};
  outbox_.post(peer, pieces, static_cast<std::uint32_t>(fixed.length() + message.user_header.size()));
  sender_.store(std::move(message));
}

// As offer_attach(). False: the message goes in packets.
bool MemoryOffers::offer_bulk(Peer& peer, OutgoingMessage& message) {
  const wire::LongExtension extension{message.total, reinterpret_cast<std::uintptr_t>(message.data), message.id, 0};
  RecordBytes fixed(message.kind, message.body);
  fixed.extend(extension, wire::kFlagLong | wire::kFlagAttach | wire::kFlagBulk);
  const auto header_bytes = static_cast<std::uint32_t>(message.user_header.size());
  if (fixed.length() + sizeof(wire::BulkKey) + header_bytes > peer.max_record || !expose(peer, message)) return false;
  fixed.key(to_wire(message.exposure.key())).user_header_length(header_bytes);
  message.stage = OutgoingMessage::Stage::awaiting_attach;
  message.first_sent = true;
  OutgoingMessage& stored = sender_.store(std::move(message));
  const ConstBuffer pieces[] = {fixed.piece(), {stored.user_header.data(), stored.user_header.size()}};
  outbox_.post(peer, pieces, fixed.length() + header_bytes);
  return true;
}

bool MemoryOffers::offer_answer(Peer& peer, std::uint32_t request_id, OutgoingMessage& message) {
  if (!expose(peer, message)) return false;
  const wire::GetKeyBody body{.request_id = request_id,
                              .message_id = message.id,
                              .source_address = reinterpret_cast<std::uintptr_t>(message.data),
                              .key = to_wire(message.exposure.key())};
  message.stage = OutgoingMessage::Stage::awaiting_attach;
  if (sender_.store_answer(peer, std::move(message), request_id) != nullptr) {
    outbox_.answer(peer, RecordKind::get_key, body);
  }
  return true;
}

// Reading a peer's memory pays when its pieces are large: the kernel looks up the pages of each.
bool MemoryOffers::may_attach(const Peer& peer, OutgoingMessage& message) {
  if (peer.remote_memory == nullptr || peer.attach_closed) return false;
  if (message.total / message.source->piece_count() < tuning::kSmallestAttachPiece) return false;
  const bool described = describe_layout(*message.source, tuning::kLongestDescription, message.description) &&
                         (message.destination == nullptr ||
                          describe_layout(*message.destination, tuning::kLongestDescription, message.description));
  if (!described) message.description.clear();
  return described;
}

// The first record says where the description lies; the peer reads it, and then the data.
void MemoryOffers::offer_layout_attach(Peer& peer, OutgoingMessage message) {
  const wire::LongExtension extension{message.total, reinterpret_cast<std::uintptr_t>(message.description.data()),
                                      message.id, static_cast<std::uint32_t>(message.description.size())};
  const std::uint8_t flags = message_flags(message.vector, *message.source);
  RecordBytes fixed(message.kind, message.body);
  fixed.extend(extension, wire::kFlagLong | wire::kFlagAttach | wire::kFlagLayout | flags)
      .user_header_length(static_cast<std::uint32_t>(message.user_header.size()));
  message.stage = OutgoingMessage::Stage::awaiting_attach;
  message.first_sent = true;
  const ConstBuffer pieces[] = {fixed.piece(), {message.user_header.data(), message.user_header.size()}};
  outbox_.post(peer, pieces, static_cast<std::uint32_t>(fixed.length() + message.user_header.size()));
  sender_.store(std::move(message));
}

void MemoryOffers::on_attach_done(Peer& from, const wire::Record& record) {
  const auto body = wire::body_of<wire::AttachDoneBody>(record);
  OutgoingMessage* const found = sender_.find(body.message_id);
  if (found == nullptr || found->peer != from.index) return statistics_.ghost();
  OutgoingMessage& message = *found;
  if (message.stage != OutgoingMessage::Stage::awaiting_attach) return statistics_.ghost();
  if (body.answer == wire::AttachAnswer::read) {
    ++statistics_.of(from).packets_sent;
    if (message.exposure.active()) bulk_succeeded(from);
    return sender_.finish_sending(message);
  }
  if (message.exposure.active()) {
    message.exposure.end();
    bulk_failed(from);
  } else {
    from.attach_closed = from.attach_closed || body.answer == wire::AttachAnswer::closed;
  }
  ++statistics_.of(from).retransmitted_packets;
  sender_.set_stage(message, OutgoingMessage::Stage::sending);
  sender_.go_on(from, message);
}

}  // namespace openlapi
