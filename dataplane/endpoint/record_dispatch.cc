#include "dataplane/endpoint/record_dispatch.h"

#include <array>
#include <new>
#include <utility>

#include "dataplane/base/own_memory.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::body_of;
using wire::RecordKind;

namespace {

[[gnu::noinline]] bool is_beginning(std::span<std::byte> packet) {
  wire::Record record;
  if (packet.empty() || !wire::next_record(packet, record)) return false;
  return record.kind() == RecordKind::request_refused &&
         body_of<wire::RequestRefusedBody>(record).reason == wire::RefusalReason::begins_anew;
}

}  // namespace

unsigned RecordDispatch::receive(Transport& transport) {
  std::array<IncomingPacket, tuning::kReceiveBurst> packets;
  const std::size_t count = transport.receive_burst(packets);
  for (std::size_t i = 0; i < count; ++i) {
    Peer* from = means_.peers.contact(packets[i].source);
    if (from == nullptr) {
      means_.statistics.ghost();
      continue;
    }
    ++means_.statistics.of(*from).packets_received;
    handle_packet(*from, {packets[i].data, packets[i].length});
  }
  if (count != 0) transport.release(count);
  return static_cast<unsigned>(count);
}

void RecordDispatch::handle_packet(Peer& from, std::span<std::byte> packet) {
  if (from.deaf && !is_beginning(packet)) [[unlikely]]
    return;
  ServedPacket served(*this, from.index);
  while (!packet.empty() && !from.closed) {
    if (!wire::next_record(packet, served.record)) return means_.statistics.ghost();
    handle_record(from, served.record);
  }
}

// What needs more memory than there is, and cannot wait for it, is lost; the user is told.
void RecordDispatch::handle_record(Peer& from, const wire::Record& record) {
  try {
    dispatch(from, record);
  } catch (const std::bad_alloc&) {
    means_.host.report_fault(Fault::out_of_memory, from.index);
  }
}

void RecordDispatch::dispatch(Peer& from, const wire::Record& record) {
  if constexpr (kWordIs32Bits) {
    if (!is_for_own_memory(record)) [[unlikely]]
      return means_.narrow.refuse(from, record);
  }
  switch (record.kind()) {
    case RecordKind::put:
      return means_.puts.on_put(from, record);
    case RecordKind::short_put:
      return means_.puts.on_short_put(from, record);
    case RecordKind::active_message:
      return means_.messages.on_message(from, record);
    case RecordKind::get_request:
      return means_.gets.on_request(from, record);
    case RecordKind::get_data:
      return means_.gets.on_data(from, record);
    case RecordKind::rmw_request:
      return means_.rmws.on_request(from, record);
    case RecordKind::rmw_reply:
      return means_.rmws.on_reply(from, record);
    case RecordKind::counter_update:
      return means_.completions.on_counter_update(from, record);
    default:
      return dispatch_longer(from, record);
  }
}

// Those whose work is more than a call: apart, so that the others are found in few pages.
void RecordDispatch::dispatch_longer(Peer& from, const wire::Record& record) {
  switch (record.kind()) {
    case RecordKind::data:
      return means_.incoming.on_data(from, record);
    case RecordKind::attach_done:
      return means_.offers.on_attach_done(from, record);
    case RecordKind::fence_request:
      return means_.fence_answers.on_request(from, record);
    case RecordKind::fence_reply:
      return means_.fences.on_reply(from, record);
    case RecordKind::collective:
      return means_.collectives.on_round(from, record);
    case RecordKind::memory_read:
      return means_.gets.on_memory_read(from, record);
    case RecordKind::put_pieces:
      return means_.puts.on_put_pieces(from, record);
    case RecordKind::put_strided:
      return means_.puts.on_put_strided(from, record);
    case RecordKind::get_layout:
      return means_.gets.on_layout_request(from, record);
    case RecordKind::request_refused:
      return on_request_refused(from, record);
    case RecordKind::get_key:
      return means_.gets.on_key(from, record);
    default:
      return;  // dispatch() has the others
  }
}

void RecordDispatch::on_request_refused(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::RequestRefusedBody>(record);
  if (body.reason == wire::RefusalReason::begins_anew) {
    return from.is_direct() ? means_.watch.on_beginning(from, body.request_id) : means_.statistics.ghost();
  }
  const PendingRequest* request = means_.requests.find(body.request_id);
  if (request == nullptr || request->peer != from.index) return means_.statistics.ghost();
  // It may have been answered, and our memory is written to.
  if (request->pull != 0 || request->read) return means_.statistics.ghost();
  const bool no_memory = body.reason == wire::RefusalReason::out_of_memory;
  means_.pending_requests.refused(body.request_id, from, no_memory ? CounterLoss::no_memory : CounterLoss::refused);
  means_.host.report_fault(no_memory ? Fault::target_out_of_memory : Fault::refused, from.index);
}

void RecordDispatch::message_complete(Peer& from, IncomingMessage message) {
  const std::span<const std::byte> bytes(message.buffer, static_cast<std::size_t>(message.total));
  if (const auto* round = std::get_if<IncomingRound>(&message.kind)) {
    return means_.collectives.round_arrived(from, round->sequence, round->round, {bytes.begin(), bytes.end()});
  }
  if (const auto* description = std::get_if<IncomingDescription>(&message.kind)) {
    return means_.gets.answer_layout(from, description->request, bytes);
  }
  const MovedMessage moved(&message);
  const auto* active = std::get_if<IncomingActiveMessage>(&message.kind);
  const IncomingOperation& operation = *message.operation();
  means_.completions.data_in_place(&from, operation.number, operation.run,
                                   active != nullptr ? active->style : CompletionStyle::thread, message.total);
}

const IncomingMessage* RecordDispatch::incoming_message(PeerIndex from, std::uint32_t id) const {
  Peer* const peer = means_.peers.find(from);  // null: it is being given up
  return peer != nullptr ? IncomingMessages::find(*peer, id) : nullptr;
}

PeerChannel* RecordDispatch::channel_to(PeerIndex source, bool may_be_new) {
  if (!may_be_new && !means_.peers.knows(source)) return nullptr;
  const Peer* peer = means_.peers.contact(source);
  return peer != nullptr ? peer->channel.get() : nullptr;
}

void RecordDispatch::channel_delivered(PeerIndex source, std::span<std::byte> payload) {
  if (Peer* from = means_.peers.contact(source); from != nullptr) handle_packet(*from, payload);
}

bool RecordDispatch::channel_may_deliver_early(PeerIndex source, std::span<std::byte> payload) {
  Peer* const from = means_.peers.find(source);
  if (from == nullptr || from->deaf || from->closed) return false;
  wire::Record record;
  for (std::span<std::byte> rest = payload; !rest.empty();) {
    if (!wire::next_record(rest, record) || !may_come_early(*from, record)) return false;
  }
  return !payload.empty();
}

// What only adds bytes to something that has begun.
bool RecordDispatch::may_come_early(Peer& from, const wire::Record& record) const {
  switch (record.kind()) {
    case RecordKind::data:
      return IncomingMessages::awaits_data(from, body_of<wire::DataBody>(record).message_id);
    case RecordKind::put_pieces:
      return IncomingMessages::awaits_data(from, body_of<wire::PutPiecesBody>(record).message_id);
    case RecordKind::put_strided:
      return IncomingMessages::awaits_data(from, body_of<wire::PutStridedBody>(record).message_id);
    case RecordKind::get_data:
      return means_.gets.awaits_data(from, body_of<wire::GetDataBody>(record).request_id);
    default:
      return false;
  }
}

void RecordDispatch::channel_acknowledged(PeerIndex, std::uint64_t tag) {
  means_.sender.acknowledged(static_cast<std::uint32_t>(tag));
}

void RecordDispatch::channel_timed_out(PeerIndex index) {
  Peer& peer = means_.peers.at(index);
  Fault fault = peer.channel->reliable().paths() > 1 ? Fault::no_path : Fault::timeout;
  if (means_.host.adapters_down(index)) fault = Fault::adapters_down;
  means_.losses.lose(peer, fault);
}

void RecordDispatch::channel_has_other_key(PeerIndex index, bool for_long) {
  if (for_long) return means_.losses.lose(means_.peers.at(index), Fault::other_secret);
  means_.host.warn_of_other_secret(index);
}

void RecordDispatch::channel_path_changed(PeerIndex index, const PathChange& change) {
  means_.host.path_changed(index, change);
}

void RecordDispatch::channel_own_address_changed(const Transport& transport, const ChangedAddress& change) {
  means_.peers.tell_addresses(transport);
  means_.host.address_changed({.transport = &transport, .before = change.published, .now = change.present});
}

bool RecordDispatch::channel_peer_moved(PeerIndex index, const ChangedAddress& change) {
  if (!means_.peers.address_changed(index, change.published, change.present)) return false;
  means_.host.address_changed({.peer = index, .before = change.published, .now = change.present});
  return true;
}

void RecordDispatch::channel_has_other_version(PeerIndex index, std::uint8_t version) {
  means_.host.name_other_version(index, version);
  means_.losses.lose(means_.peers.at(index), Fault::other_version);
}

void RecordDispatch::channel_restarted(PeerIndex index, bool lost, bool gave_up) {
  Peer& peer = means_.peers.at(index);
  peer.channel->drop_open_packet();
  means_.watch.restarted(peer, lost, gave_up);
}

}  // namespace openlapi
