// Records arrive. Addresses in them are the job's own (the packet has proved that it is from its pair); lengths and ids
// are checked against what is known here, and what does not fit is counted and dropped.
#include <algorithm>
#include <cstring>
#include <new>

#include "dataplane/base/copy_bytes.h"
#include "dataplane/base/own_memory.h"
#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/endpoint/endpoint_delivery.h"
#include "dataplane/endpoint/served_packet.h"
#include "dataplane/operation/read_modify_write.h"
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

unsigned EndpointCore::receive_direct(Transport& transport) {
  std::array<IncomingPacket, tuning::kReceiveBurst> packets;
  const std::size_t count = transport.receive_burst(packets);
  for (std::size_t i = 0; i < count; ++i) {
    Peer* from = contact(packets[i].source);
    if (from == nullptr) {
      ghost();
      continue;
    }
    ++statistics_of(*from).packets_received;
    handle_packet(*from, {packets[i].data, packets[i].length});
  }
  if (count != 0) transport.release(count);
  return static_cast<unsigned>(count);
}

void EndpointCore::handle_packet(Peer& from, std::span<std::byte> packet) {
  if (from.deaf && !is_beginning(packet)) [[unlikely]]
    return;
  ServedPacket served(*this, from.index);
  while (!packet.empty() && !from.closed) {
    if (!wire::next_record(packet, served.record)) return ghost();
    handle_record(from, served.record);
  }
}

ChannelPath* EndpointCore::channel_path(PeerIndex source, bool may_be_new) {
  if (!may_be_new && (source >= peers_.size() || peers_[source] == nullptr)) return nullptr;
  const Peer* peer = contact(source);
  return peer != nullptr ? peer->channel.get() : nullptr;
}

void EndpointCore::channel_delivered(PeerIndex source, std::span<std::byte> payload) {
  if (Peer* from = contact(source); from != nullptr) handle_packet(*from, payload);
}

// What needs more memory than there is, and cannot wait for it, is lost; the user is told.
void EndpointCore::handle_record(Peer& from, const wire::Record& record) {
  try {
    dispatch_record(from, record);
  } catch (const std::bad_alloc&) {
    host_.report_fault(Fault::out_of_memory, from.index);
  }
}

void EndpointCore::dispatch_record(Peer& from, const wire::Record& record) {
  if constexpr (kWordIs32Bits) {
    if (!is_for_own_memory(record)) [[unlikely]]
      return refuse(from, record);
  }
  switch (record.kind()) {
    case RecordKind::put:
      return on_put(from, record);
    case RecordKind::active_message:
      return on_active_message(from, record);
    case RecordKind::get_request:
      return on_get_request(from, record);
    case RecordKind::get_data:
      return on_get_data(from, record);
    case RecordKind::rmw_request:
      return on_rmw_request(from, record);
    case RecordKind::rmw_reply:
      return on_rmw_reply(from, record);
    case RecordKind::counter_update:
      return on_counter_update(from, record);
    default:
      return dispatch_longer_record(from, record);
  }
}

// Those whose work is more than a call: apart, so that the others are found in few pages.
void EndpointCore::dispatch_longer_record(Peer& from, const wire::Record& record) {
  switch (record.kind()) {
    case RecordKind::data:
      return on_data(from, record);
    case RecordKind::attach_done:
      return on_attach_done(from, record);
    case RecordKind::fence_request:
      return on_fence_request(from, record);
    case RecordKind::fence_reply:
      return on_fence_reply(from, record);
    case RecordKind::collective:
      return on_collective(from, record);
    case RecordKind::memory_read:
      return on_memory_read(from, record);
    case RecordKind::put_pieces:
      return on_put_pieces(from, record);
    case RecordKind::put_strided:
      return on_put_strided(from, record);
    case RecordKind::get_layout:
      return on_get_layout(from, record);
    case RecordKind::request_refused:
      return on_request_refused(from, record);
    case RecordKind::get_key:
      return on_get_key(from, record);
    default:
      return;  // dispatch_record() has the others
  }
}

void EndpointCore::on_put(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::PutBody>(record);
  CompletionRun run;
  run.source = from.index;
  run.source_life = from.life;
  run.target_counter = body.target_counter;
  run.completion_counter = body.completion_counter;
  if (!record.is_long()) {
    const std::uint32_t length = record.header.payload_length;
    copy_bytes(pointer_to(body.target_address), record.payload, length);
    return data_in_place(&from, ++from.messages_begun, run, CompletionStyle::thread, length);
  }
  begin_long_put(from, record, run, pointer_to(body.target_address));
}

void EndpointCore::begin_long_put(Peer& from, const wire::Record& record, const CompletionRun& run, std::byte* target) {
  IncomingMessage message;
  message.kind = RecordKind::put;
  message.buffer = target;
  message.vector = record.has_layout();
  message.for_null = target == nullptr && !message.vector;
  message.total = record.extension.total_length;
  message.run = run;
  begin_incoming(from, record, std::move(message));
}

void EndpointCore::on_collective(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::CollectiveBody>(record);
  if (!record.is_long()) {
    const std::byte* bytes = record.payload;
    return collective_arrived(from, body.sequence, body.round, {bytes, bytes + record.header.payload_length});
  }
  if (record.extension.total_length > std::uint64_t{config_.tasks} * sizeof(std::uint64_t)) return ghost();
  if (!may_keep(from, record.extension.total_length)) return;
  IncomingMessage message;
  message.kept = {from.kept, record.extension.total_length};
  message.kind = RecordKind::collective;
  message.total = record.extension.total_length;
  message.own_buffer = std::make_unique_for_overwrite<std::byte[]>(message.total);
  message.buffer = message.own_buffer.get();
  message.collective_sequence = body.sequence;
  message.collective_round = body.round;
  begin_incoming(from, record, std::move(message));
}

void EndpointCore::begin_incoming(Peer& from, const wire::Record& record, IncomingMessage message) {
  const std::uint32_t id = record.extension.message_id;
  IncomingMessage* const begun = add_incoming(from, id, std::move(message));
  if (begun == nullptr) return;
  IncomingMessage& stored = *begun;
  const bool moves_data = stored.kind == RecordKind::put || stored.kind == RecordKind::active_message;
  if (moves_data) stored.number = ++from.messages_begun;
  if (record.is_attach()) {
    stored.elsewhere = true;
    const std::uint32_t layout_length = record.has_layout() ? record.extension.layout_length : 0;
    if (stored.refused) return;
    if (record.is_bulk()) {
      return pull_message(from, id, stored, record.extension.source_address, from_wire(record.key));
    }
    return begin_read({from.index, false, id, record.extension.source_address, 0, layout_length});
  }
  if (stored.layout != nullptr) {
    place_data(from, stored, 0, {record.payload, record.header.payload_length});
  } else if (stored.has_buffer() && record.header.payload_length != 0) {
    std::memcpy(stored.buffer, record.payload, record.header.payload_length);
  }
  stored.kept_end = record.header.payload_length;
  fragment_arrived(from, id, stored, record.header.payload_length);
}

// Null: there is one of that id, or it is too much.
IncomingMessage* EndpointCore::add_incoming(Peer& from, std::uint32_t id, IncomingMessage message) {
  if (from.incoming.contains(id)) {
    ghost();
    return nullptr;
  }
  if (!may_keep(from, 0)) return nullptr;
  if (!message.kept.counts()) message.kept = {from.kept, 0};
  return &from.incoming.emplace(id, std::move(message)).first->second;
}

const IncomingMessage* EndpointCore::incoming_message(PeerIndex from, std::uint32_t id) const {
  const auto found = peers_[from]->incoming.find(id);
  return found != peers_[from]->incoming.end() ? &found->second : nullptr;
}

void EndpointCore::on_data(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::DataBody>(record);
  const auto found = from.incoming.find(body.message_id);
  if (found == from.incoming.end()) return ghost();
  IncomingMessage& message = found->second;
  const std::uint64_t length = record.header.payload_length;
  if (body.offset > message.total || length > message.total - body.offset || message.elsewhere) return ghost();
  if (length > message.total - message.received) return ghost();
  if (message.layout != nullptr) [[unlikely]] {
    place_data(from, message, body.offset, {record.payload, record.header.payload_length});
  } else if (message.has_buffer()) {
    std::memcpy(message.buffer + body.offset, record.payload, length);
  }
  if (message.refused) message.kept_end = std::max(message.kept_end, body.offset + length);
  fragment_arrived(from, body.message_id, message, length);
}

// `bytes` more of the message are in place; with the last of them it is complete.
void EndpointCore::fragment_arrived(Peer& from, std::uint32_t id, IncomingMessage& message, std::uint64_t bytes) {
  message.received += bytes;
  if (message.received != message.total || message.refused) return;
  IncomingMessage done = std::move(message);
  from.incoming.erase(id);
  if (done.kind == RecordKind::collective) {
    return collective_arrived(from, done.collective_sequence, done.collective_round,
                              {done.buffer, done.buffer + done.total});
  }
  if (done.kind == RecordKind::get_layout) {
    return answer_layout(from, {done.target_counter, done.request_id, 0},
                         {done.buffer, static_cast<std::size_t>(done.total)});
  }
  const MovedMessage moved(&done);
  data_in_place(&from, done.number, done.run, done.style, done.total);
}

void EndpointCore::on_get_request(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::GetRequestBody>(record);
  const wire::GetDataBody answer{body.request_id, 0, 0};
  RecordBytes fixed(RecordKind::get_data, answer);
  if (from.backlog.empty() && body.length <= from.max_record - fixed.length()) {
    fixed.payload_length(body.length);
    const ConstBuffer pieces[] = {fixed.piece(),
                                  {pointer_to(body.target_address), static_cast<std::size_t>(body.length)}};
    if (send_record(from, pieces, static_cast<std::uint32_t>(fixed.length() + body.length))) {
      count_sent(from, body.length);
      return move_counter(body.target_counter, from.index);
    }
  }
  OutgoingMessage message;
  give_number(message);
  message.peer = from.index;
  message.kind = RecordKind::get_data;
  std::memcpy(message.body.data(), &answer, sizeof(answer));
  message.data = pointer_to(body.target_address);
  message.total = body.length;
  message.free_counter = body.target_counter;
  message.counts_as_send = true;
  message.referenced = !from.is_direct() && body.length > config_.copy_limit;
  if (record.is_bulk() && offer_key(from, body.request_id, message)) return;
  OutgoingMessage* const stored = store_answer(from, std::move(message), body.request_id);
  if (stored != nullptr && from.backlog.empty() && pump(from, *stored)) finish_sending(*stored);
}

void EndpointCore::on_get_data(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::GetDataBody>(record);
  PendingRequest* request = requests_.find(body.request_id);
  const std::uint64_t length = record.header.payload_length;
  if (request == nullptr || !request->is_get || request->peer != from.index) return ghost();
  if (request->pull != 0 || request->read) return ghost();
  if (body.offset > request->length || length > request->length - body.offset) return ghost();
  if (length > request->length - request->received) return ghost();
  if (request->layout != nullptr) [[unlikely]] {
    place_answer(*request, body.offset, {record.payload, record.header.payload_length});
  } else if (length != 0) {
    copy_bytes(static_cast<std::byte*>(request->buffer) + body.offset, record.payload, length);
  }
  request->received += length;
  if (request->received == request->length) request_complete(body.request_id, &from);
}

// All that was asked for is in place: first the data, then the origin counter, then the handler. The request is there
// until its counter has moved, for the words of a task that dies of it.
void EndpointCore::request_complete(std::uint32_t id, Peer* from) {
  const PendingRequest& request = *requests_.find(id);
  const HandlerCall handler{request.handler, request.handler_info};
  if (request.is_get) {
    ++receives_completed_;
    statistics_of(*from).data_received += request.length;
  } else {
    ++sends_completed_;
  }
  move_counter(request.origin_counter, from->index);
  request_done(*from, id, request.list_bytes);
  run_get_handler(from->index, handler);
}

void EndpointCore::on_counter_update(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::CounterUpdateBody>(record);
  if (!from.owed.settle(body.counter)) return ghost();
  move_counter(body.counter, from.index);
}

void EndpointCore::on_rmw_request(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::RmwRequestBody>(record);
  if (!rmw_is_valid(body.operation, body.width)) return ghost();
  const std::uint64_t previous = apply_rmw(static_cast<wire::RmwOperation>(body.operation), body.width,
                                           body.target_address, body.input, body.swap_value);
  answer(from, RecordKind::rmw_reply, wire::RmwReplyBody{body.request_id, 0, previous});
}

void EndpointCore::on_rmw_reply(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::RmwReplyBody>(record);
  PendingRequest* request = requests_.find(body.request_id);
  if (request == nullptr || request->is_get || request->peer != from.index) return ghost();
  if (request->buffer != nullptr) std::memcpy(request->buffer, &body.previous, request->length);
  request_complete(body.request_id, &from);
}

}  // namespace openlapi
