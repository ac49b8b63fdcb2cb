#include "dataplane/transfer/message_submission.h"

#include <cstring>
#include <utility>

#include "dataplane/base/memory_fault_guard.h"

namespace openlapi {

bool MessageSubmission::no_room_for(const Peer& peer, bool copied) const {
  return copied ? means_.admission.copies_exhausted(peer) : means_.admission.keeps_exhausted(peer);
}

void MessageSubmission::begin(Peer& peer, OutgoingMessage& message) {
  message.peer = peer.index;
  message.counts_as_send = true;
  means_.sender.give_number(message);
  ++peer.messages_sent;
}

Submit MessageSubmission::send_long(Peer& peer, OutgoingMessage message, BulkHint bulk) {
  const bool copied = is_copied(message.total + message.user_header.size());
  if (no_room_for(peer, copied)) return Submit::busy;
  std::unique_ptr<std::byte[]> room = copied ? MessageSender::room_for_long_copy(message.total) : nullptr;
  begin(peer, message);
  if (!copied) message.kept_bytes = message.bytes_of_ours();
  if (!copied && means_.offers.offer(peer, message, bulk)) return Submit::accepted;

  message.referenced = !copied && !peer.is_direct();
  OutgoingMessage& stored = means_.sender.store(std::move(message));
  if (peer.backlog.empty() && means_.sender.pump(peer, stored)) {
    means_.sender.finish_sending(stored);
  } else if (copied) {
    means_.sender.keep_copy(stored, std::move(room));
    sent_for_the_origin(peer, stored);
  }
  return Submit::accepted;
}

// What is left of a message has been copied: for the origin it is sent, and its buffers are free.
void MessageSubmission::sent_for_the_origin(Peer& peer, OutgoingMessage& message) {
  means_.origins.origin_is_free(peer.index, {message.free_counter, message.free_handler});
  message.free_counter = 0;
  message.free_handler = {};
  means_.statistics.message_sent(peer, message.total);
  message.counts_as_send = false;
}

// One record if the whole message fits it, else a long message.
Submit MessageSubmission::send_layout(Peer& peer, const LayoutParts& parts, const OriginNotice& notice) {
  if (parts.total + parts.user_header.length < peer.max_record) {
    LayoutRecord record;
    if (record.build(parts, peer.max_record) == parts.total) {
      if (means_.guard.is_guarded(*parts.source)) return send_guarded(peer, record, parts.total, notice);
      return send_whole(peer, record.pieces(), record.length(), parts.total, notice);
    }
    parts.source->seek(0);
  }
  const bool copied = is_copied(parts.total + parts.user_header.length);
  if (no_room_for(peer, copied)) return Submit::busy;
  std::unique_ptr<std::byte[]> room = copied ? MessageSender::room_for_long_copy(parts.total) : nullptr;
  OutgoingMessage message = long_layout(parts, notice, copied);
  begin(peer, message);
  return send_long_layout(peer, std::move(message), std::move(room));
}

OutgoingMessage MessageSubmission::long_layout(const LayoutParts& parts, const OriginNotice& notice, bool copied) {
  OutgoingMessage message;
  message.kind = parts.kind;
  std::memcpy(message.body.data(), parts.body, message.body.size());
  if (parts.user_header.length != 0) {
    const auto* header = static_cast<const std::byte*>(parts.user_header.data);
    message.user_header.assign(header, header + parts.user_header.length);
  }
  // What is copied refers to the caller's lists until the call returns only: keep_layout_copy() ends that.
  message.source = copied ? parts.source->clone() : parts.source->detached();
  if (parts.destination != nullptr) {
    message.destination = copied ? parts.destination->clone() : parts.destination->detached();
  }
  message.vector = parts.vector;
  message.total = parts.total;
  message.free_counter = notice.counter;
  message.free_handler = notice.handler;
  return message;
}

Submit MessageSubmission::send_long_layout(Peer& peer, OutgoingMessage message, std::unique_ptr<std::byte[]> room) {
  const bool copied = is_copied(message.total + message.user_header.size());
  if (!copied && means_.offers.offer_layout(peer, message)) return Submit::accepted;
  message.submitting = true;
  OutgoingMessage& stored = means_.sender.store(std::move(message));
  const bool sent = peer.backlog.empty() && means_.sender.pump(peer, stored);
  if (!sent && copied && !stored.withdrawn) means_.sender.keep_layout_copy(stored, std::move(room));
  if (stored.withdrawn) {  // as if it had never been begun
    --peer.messages_sent;
    means_.sender.forget(stored);
    return Submit::origin_memory;
  }
  stored.submitting = false;
  if (sent) {
    means_.sender.finish_sending(stored);
  } else if (copied) {
    sent_for_the_origin(peer, stored);
  }
  return Submit::accepted;
}

// As send_whole().
Submit MessageSubmission::send_guarded(Peer& peer, const LayoutRecord& record, std::uint64_t data_bytes,
                                       const OriginNotice& notice) {
  using Attempt = MessageSender::Attempt;
  const Attempt attempt = peer.backlog.empty() ? means_.sender.try_to_send(peer, record, true) : Attempt::no_room;
  if (attempt == Attempt::memory_fault) return Submit::origin_memory;
  if (attempt == Attempt::no_room) {
    if (means_.admission.copies_exhausted(peer)) return Submit::busy;
    QueuedRecord queued{std::make_unique_for_overwrite<std::byte[]>(record.length()), record.length(), true};
    if (!survives([&] { copy_pieces(queued.bytes.get(), record.pieces()); })) return Submit::origin_memory;
    means_.outbox.enqueue(peer, std::move(queued));
  }
  ++peer.messages_sent;
  means_.origins.origin_is_free(peer.index, notice);
  means_.statistics.message_sent(peer, data_bytes);
  return Submit::accepted;
}

}  // namespace openlapi
