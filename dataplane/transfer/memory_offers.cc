#include "dataplane/transfer/memory_offers.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/message/fragments.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

bool MemoryOffers::wants_bulk(const Peer& peer, BulkHint hint, std::uint64_t length) const {
  if (peer.bulk_paths.empty() || length < config_.bulk_minimum) return false;
  return hint == BulkHint::by_task ? config_.bulk : hint == BulkHint::always;
}

// Of those that do not rest: the ones over which packets come through, all if there is none.
MemoryOffers::PathsToTry MemoryOffers::paths_to_try(Peer& peer) {
  if (peer.bulk_paths.size() > 1 && peer.channel != nullptr) peer.channel->watch_links();
  std::uint32_t paths = 0, serving = 0, down = 0;
  for (std::uint32_t number = 0; number != peer.bulk_paths.size(); ++number) {
    BulkPath& path = peer.bulk_paths[number];
    if (path.pause != 0) {
      --path.pause;
    } else if (peer.reads_over(path)) {
      paths |= 1u << number;
      if (peer.serves(path)) serving |= 1u << number;
      if (peer.is_link_down(path)) down |= 1u << number;
    }
  }
  return serving != 0 ? PathsToTry{serving, paths & ~(serving | down)} : PathsToTry{paths, 0};
}

// To all adapters that may read it; a message that is not long enough for several to one of them.
bool MemoryOffers::expose(Peer& peer, OutgoingMessage& message, std::size_t most_keys) {
  if (message.total < config_.bulk_shared_minimum) most_keys = std::min<std::size_t>(most_keys, 1);
  const PathsToTry paths = most_keys != 0 ? paths_to_try(peer) : PathsToTry{};
  expose_over(peer, paths.first, false, message, most_keys);
  if (message.exposure.active()) expose_over(peer, paths.spare, true, message, most_keys);
  if (paths.first != 0 && !message.exposure.active()) fell_back(peer);
  return message.exposure.active();
}

void MemoryOffers::expose_over(Peer& peer, std::uint32_t paths, bool are_spare, OutgoingMessage& message,
                               std::size_t& most_keys) {
  for (; paths != 0 && most_keys != 0; paths &= paths - 1) {
    BulkPath& path = peer.bulk_paths[static_cast<std::size_t>(std::countr_zero(paths))];
    if (message.exposure.add(*path.memory, message.data, static_cast<std::size_t>(message.total), are_spare)) {
      --most_keys;
    } else {
      path.failed();
    }
  }
}

// Of several paths only the reader knows over which it has read; over a spare one most likely nothing.
void MemoryOffers::bulk_ended(Peer& peer, const Exposure& exposure, bool succeeded) {
  ++(succeeded ? statistics_.of(peer).bulk_sent : statistics_.of(peer).bulk_fallbacks);
  for (BulkPath& path : peer.bulk_paths) {
    if (!exposure.relies_on(*path.memory)) continue;
    succeeded ? path.succeeded() : path.failed();
  }
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
  post_offer(peer, std::move(message), extension, 0);
}

void MemoryOffers::post_offer(Peer& peer, OutgoingMessage&& message, const wire::LongExtension& extension,
                              std::uint8_t flags) {
  RecordBytes fixed(message.kind, message.body);
  fixed.extend(extension, static_cast<std::uint8_t>(wire::kFlagLong | wire::kFlagAttach | flags))
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
  const std::uint32_t used = std::min(fixed.length() + header_bytes, peer.max_record);
  const std::size_t most_keys = (peer.max_record - used) / sizeof(MemoryKey);
  if (!expose(peer, message, std::min(most_keys, wire::kMostBulkKeys))) return false;
  const MemoryKeys keys = message.exposure.keys();
  fixed.user_header_length(header_bytes).payload_length(keys.bytes());
  message.stage = OutgoingMessage::Stage::awaiting_attach;
  message.first_sent = true;
  OutgoingMessage& stored = sender_.store(std::move(message));
  const ConstBuffer pieces[] = {
      fixed.piece(), {stored.user_header.data(), stored.user_header.size()}, {keys.all().data(), keys.bytes()}};
  outbox_.post(peer, pieces, fixed.length() + header_bytes + keys.bytes());
  return true;
}

bool MemoryOffers::offer_answer(Peer& peer, std::uint32_t request_id, OutgoingMessage& message) {
  if (!expose(peer, message, wire::kMostBulkKeys)) return false;
  const wire::GetKeyBody body{.request_id = request_id,
                              .message_id = message.id,
                              .source_address = reinterpret_cast<std::uintptr_t>(message.data)};
  const MemoryKeys keys = message.exposure.keys();
  message.stage = OutgoingMessage::Stage::awaiting_attach;
  if (sender_.store_answer(peer, std::move(message), request_id) != nullptr) {
    RecordBytes fixed(RecordKind::get_key, body);
    fixed.payload_length(keys.bytes());
    const ConstBuffer pieces[] = {fixed.piece(), {keys.all().data(), keys.bytes()}};
    outbox_.answer(peer, pieces, fixed.length() + keys.bytes());
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
  const auto flags = static_cast<std::uint8_t>(wire::kFlagLayout | message_flags(message.vector, *message.source));
  post_offer(peer, std::move(message), extension, flags);
}

void MemoryOffers::on_attach_done(Peer& from, const wire::Record& record) {
  const auto body = wire::body_of<wire::AttachDoneBody>(record);
  OutgoingMessage* const found = sender_.find(body.message_id);
  if (found == nullptr || found->peer != from.index) return statistics_.ghost();
  OutgoingMessage& message = *found;
  if (message.stage != OutgoingMessage::Stage::awaiting_attach) return statistics_.ghost();
  if (body.answer == wire::AttachAnswer::read) {
    ++statistics_.of(from).packets_sent;
    if (message.exposure.active()) bulk_ended(from, message.exposure, true);
    return sender_.finish_sending(message);
  }
  if (message.exposure.active()) {
    bulk_ended(from, message.exposure, false);
    message.exposure.end();
  } else {
    from.attach_closed = from.attach_closed || body.answer == wire::AttachAnswer::closed;
  }
  ++statistics_.of(from).retransmitted_packets;
  sender_.set_stage(message, OutgoingMessage::Stage::sending);
  sender_.go_on(from, message);
}

}  // namespace openlapi
