// Messages whose data is copied since its origin may change it, or lies in layouts, perhaps of memory that is not
// there.
#include <cstring>
#include <utility>

#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/layout/guarded_copy.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/transfer/message_sender.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

namespace {

// Whose mistake it is when the data of a message of ours cannot be read.
Fault fault_of(const OutgoingMessage& message) {
  if (message.kind == RecordKind::get_data) return Fault::target_vector;
  return message.kind == RecordKind::put || message.vector ? Fault::origin_vector : Fault::program_memory;
}

}  // namespace

// Null: keep_copy() will find as much.
std::unique_ptr<std::byte[]> MessageSender::room_for_long_copy(std::uint64_t bytes) {
  return bytes > tuning::kSurelyFindsMemory ? std::make_unique_for_overwrite<std::byte[]>(bytes) : nullptr;
}

void MessageSender::keep_copy(OutgoingMessage& message, std::unique_ptr<std::byte[]> room) {
  const std::uint64_t left = message.total - message.offset;
  message.copy = room != nullptr ? std::move(room) : std::make_unique_for_overwrite<std::byte[]>(left);
  if (left != 0) std::memcpy(message.copy.get(), message.unsent(), left);
  message.data = message.copy.get();
  message.data_begin = message.offset;
  means_.admission.take_copy(means_.peers.at(message.peer));
}

// What is left of the data moves to memory of ours, and so do the lists of the destination: the caller may change both.
void MessageSender::keep_layout_copy(OutgoingMessage& message, std::unique_ptr<std::byte[]> room) {
  const std::uint64_t left = message.total - message.offset;
  message.copy = room != nullptr ? std::move(room) : std::make_unique_for_overwrite<std::byte[]>(left);
  if (means_.guard.is_guarded(*message.source)) {
    if (!gather_or_zero(*message.source, message.copy.get(), left)) source_failed(message);
    if (message.withdrawn) return;
  } else {
    message.source->gather(message.copy.get(), left);
  }
  message.source = std::make_unique<StridedCursor>(reinterpret_cast<std::uintptr_t>(message.copy.get()), left,
                                                   message.source->atom_size());
  if (message.destination != nullptr) {
    message.destination = message.destination->detached();
    message.destination->seek(message.offset);
  }
  means_.admission.take_copy(means_.peers.at(message.peer));
}

// Sends one fragment; false: no room.
bool MessageSender::send_layout_fragment(Peer& peer, OutgoingMessage& message) {
  const std::size_t header_bytes = message.first_sent ? 0 : message.user_header.size();
  const LayoutParts parts{.kind = message.kind,
                          .body = message.body.data(),
                          .source = message.source.get(),
                          .destination = message.destination.get(),
                          .user_header = {message.user_header.data(), header_bytes},
                          .total = message.total,
                          .offset = message.offset,
                          .message_id = message.id,
                          .first = !message.first_sent,
                          .vector = message.vector};
  const std::uint64_t begin = message.source->position();
  LayoutRecord record;
  const std::uint64_t bytes = record.build(parts, peer.max_record);
  const Attempt attempt = try_to_send(peer, record, means_.guard.is_guarded(*message.source));
  if (attempt != Attempt::sent) {
    message.source->seek(begin);
    if (message.destination != nullptr) message.destination->seek(message.offset);
    if (attempt == Attempt::no_room) return false;
    source_failed(message);
    return !message.withdrawn && send_layout_fragment(peer, message);
  }
  fragment_left(peer, message, bytes);
  return true;
}

MessageSender::Attempt MessageSender::try_to_send(Peer& peer, const LayoutRecord& record, bool guarded) {
  if (!guarded) {
    return means_.outbox.send_record(peer, record.pieces(), record.length()) ? Attempt::sent : Attempt::no_room;
  }
  if (peer.direct != nullptr) {
    bool sent = false;
    if (survives([&] { sent = means_.outbox.send_record(peer, record.pieces(), record.length()); })) {
      return sent ? Attempt::sent : Attempt::no_room;
    }
    peer.delivery->send_abandoned(peer.index);
    return Attempt::memory_fault;
  }
  std::byte* const place = peer.channel->begin_record(record.length());
  if (place == nullptr) return Attempt::no_room;
  if (!survives([&] { copy_pieces(place, record.pieces()); })) {
    peer.channel->abandon_record();
    return Attempt::memory_fault;
  }
  peer.channel->end_record(record.length());
  return Attempt::sent;
}

// The rest of the message is zeros, or there will be no message at all.
void MessageSender::source_failed(OutgoingMessage& message) {
  if (message.submitting && !message.first_sent) {
    message.withdrawn = true;
    return;
  }
  means_.host.report_fault(fault_of(message), message.peer);
  message.source = std::make_unique<ZeroCursor>(message.total, message.source->atom_size());
  message.source->seek(message.offset);
}

}  // namespace openlapi
