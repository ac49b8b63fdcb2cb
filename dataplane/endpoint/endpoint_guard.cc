// Layouts that name memory which is not there, or may not be written. The copy that finds out ends where it stands
// (base/memory_fault_guard.h), and its message alone suffers: the call that began it refuses it if nothing was sent,
// else the rest of it travels as zeros, or is thrown away on arrival, so that nobody waits for it.
#include <algorithm>

#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/layout/guarded_copy.h"

namespace openlapi {

using wire::RecordKind;

namespace {

// Whose mistake it is when the data of a message of ours cannot be read.
Fault fault_of(const OutgoingMessage& message) {
  if (message.kind == RecordKind::get_data) return Fault::target_vector;
  return message.kind == RecordKind::put || message.vector ? Fault::origin_vector : Fault::program_memory;
}

// What the layout has no room for is thrown away.
void scatter_at(LayoutCursor& layout, std::uint64_t offset, std::span<const std::byte> data) {
  if (offset >= layout.total_bytes()) return;
  layout.seek(offset);
  layout.scatter(data.data(), std::min<std::uint64_t>(data.size(), layout.bytes_left()));
}

}  // namespace

EndpointCore::Attempt EndpointCore::try_to_send(Peer& peer, const LayoutRecord& record, bool guarded) {
  if (!guarded) return send_record(peer, record.pieces(), record.length()) ? Attempt::sent : Attempt::no_room;
  if (peer.direct != nullptr) {
    bool sent = false;
    if (survives([&] { sent = send_record(peer, record.pieces(), record.length()); })) {
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

// As submit_single().
Submit EndpointCore::submit_guarded(Peer& peer, const LayoutRecord& record, std::uint64_t data,
                                    const OriginNotice& notice) {
  const Attempt attempt = peer.backlog.empty() ? try_to_send(peer, record, true) : Attempt::no_room;
  if (attempt == Attempt::memory_fault) return Submit::origin_memory;
  if (attempt == Attempt::no_room) {
    if (copies_exhausted(peer)) return Submit::busy;
    QueuedRecord queued{std::make_unique_for_overwrite<std::byte[]>(record.length()), record.length(), true};
    if (!survives([&] { copy_pieces(queued.bytes.get(), record.pieces()); })) return Submit::origin_memory;
    enqueue(peer, std::move(queued));
  }
  ++peer.messages_sent;
  origin_is_free(peer.index, notice);
  count_sent(peer, data);
  return Submit::accepted;
}

// The rest of the message is zeros, or there will be no message at all.
void EndpointCore::source_failed(OutgoingMessage& message) {
  if (message.submitting && !message.first_sent) {
    message.withdrawn = true;
    return;
  }
  host_.report_fault(fault_of(message), message.peer);
  message.source = std::make_unique<ZeroCursor>(message.total, message.source->atom_size());
  message.source->seek(message.offset);
}

// As if it had never been begun.
Submit EndpointCore::withdraw(Peer& peer, OutgoingMessage& message) {
  --peer.messages_sent;
  forget(message);
  return Submit::origin_memory;
}

// False: some of the data has no place.
bool EndpointCore::scatter(LayoutCursor& layout, std::uint64_t offset, std::span<const std::byte> data) {
  if (is_guarded(layout)) return survives([&] { scatter_at(layout, offset, data); });
  scatter_at(layout, offset, data);
  return true;
}

void EndpointCore::place_data(Peer& from, IncomingMessage& message, std::uint64_t offset,
                              std::span<const std::byte> data) {
  if (scatter(*message.layout, offset, data)) return;
  message.layout = nowhere();
  host_.report_fault(message.vector ? Fault::target_vector : Fault::program_memory, from.index);
}

void EndpointCore::place_answer(PendingRequest& request, std::uint64_t offset, std::span<const std::byte> data) {
  if (scatter(*request.layout, offset, data)) return;
  request.layout = nowhere();
  host_.report_fault(Fault::origin_vector, request.peer);
}

// Inside this task. False: one of the two cannot be copied.
bool EndpointCore::copy_guarded(LayoutCursor& from, LayoutCursor& to) {
  if (is_guarded(from) || is_guarded(to)) return survives([&] { copy_layout(from, to); });
  copy_layout(from, to);
  return true;
}

}  // namespace openlapi
