// Records arrive. Addresses in them are the job's own (the packet's cookie was checked); lengths and ids are checked
// against what is known here, and what does not fit is counted and dropped.
#include <cstring>

#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/operation/completion_counter.h"
#include "dataplane/operation/read_modify_write.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

namespace {

template <typename Body>
Body body_of(const wire::Record& record) {
  Body body;
  std::memcpy(&body, record.body, sizeof(body));
  return body;
}

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

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
  wire::Record record;
  while (!packet.empty()) {
    if (!wire::next_record(packet, record)) return ghost();
    handle_record(from, record);
  }
}

ChannelPath* EndpointCore::channel_path(PeerIndex source) {
  const Peer* peer = contact(source);
  return peer != nullptr ? peer->channel.get() : nullptr;
}

void EndpointCore::channel_delivered(PeerIndex source, std::span<std::byte> payload) {
  if (Peer* from = contact(source); from != nullptr) handle_packet(*from, payload);
}

void EndpointCore::handle_record(Peer& from, const wire::Record& record) {
  switch (record.kind()) {
    case RecordKind::put:
      return on_put(from, record);
    case RecordKind::active_message:
      return on_active_message(from, record);
    case RecordKind::data:
      return on_data(from, record);
    case RecordKind::get_request:
      return on_get_request(from, record);
    case RecordKind::get_data:
      return on_get_data(from, record);
    case RecordKind::rmw_request:
      return on_rmw_request(from, record);
    case RecordKind::rmw_reply:
      return on_rmw_reply(from, record);
    case RecordKind::counter_update:
      return add_to_counter(body_of<wire::CounterUpdateBody>(record).counter);
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
    if (length != 0) std::memcpy(pointer(body.target_address), record.payload, length);
    return data_in_place(&from, ++from.messages_begun, run, CompletionStyle::thread, length);
  }
  IncomingMessage message;
  message.kind = RecordKind::put;
  message.buffer = static_cast<std::byte*>(pointer(body.target_address));
  message.total = record.extension.total_length;
  message.run = run;
  begin_incoming(from, record, std::move(message));
}

void EndpointCore::on_collective(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::CollectiveBody>(record);
  if (!record.is_long()) {
    const std::byte* bytes = record.payload;
    return collective_.arrived(body.sequence, body.round, {bytes, bytes + record.header.payload_length}, *this);
  }
  if (record.extension.total_length > std::uint64_t{config_.tasks} * sizeof(std::uint64_t)) return ghost();
  IncomingMessage message;
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
  const auto [place, is_new] = from.incoming.emplace(id, std::move(message));
  if (!is_new) return ghost();
  if (place->second.kind != RecordKind::collective) place->second.number = ++from.messages_begun;
  if (record.is_attach()) return begin_read({from.index, false, id, record.extension.source_address, 0});
  IncomingMessage& stored = place->second;
  if (stored.buffer != nullptr && record.header.payload_length != 0) {
    std::memcpy(stored.buffer, record.payload, record.header.payload_length);
  }
  fragment_arrived(from, id, stored, record.header.payload_length);
}

void EndpointCore::on_data(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::DataBody>(record);
  const auto found = from.incoming.find(body.message_id);
  if (found == from.incoming.end()) return ghost();
  IncomingMessage& message = found->second;
  const std::uint64_t length = record.header.payload_length;
  if (body.offset > message.total || length > message.total - body.offset) return ghost();
  if (message.buffer != nullptr) std::memcpy(message.buffer + body.offset, record.payload, length);
  fragment_arrived(from, body.message_id, message, length);
}

// `bytes` more of the message are in place; with the last of them it is complete.
void EndpointCore::fragment_arrived(Peer& from, std::uint32_t id, IncomingMessage& message, std::uint64_t bytes) {
  message.received += bytes;
  if (message.received != message.total || message.refused) return;
  IncomingMessage done = std::move(message);
  from.incoming.erase(id);
  if (done.kind == RecordKind::collective) {
    collective_.arrived(done.collective_sequence, done.collective_round, {done.buffer, done.buffer + done.total},
                        *this);
    return;
  }
  data_in_place(&from, done.number, done.run, done.style, done.total);
}

void EndpointCore::on_get_request(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::GetRequestBody>(record);
  const wire::GetDataBody answer{body.request_id, 0, 0};
  RecordBytes fixed(RecordKind::get_data, answer);
  if (from.backlog.empty() && fixed.length() + body.length <= from.max_record) {
    fixed.payload_length(body.length);
    const ConstBuffer pieces[] = {fixed.piece(), {pointer(body.target_address), body.length}};
    if (send_record(from, pieces, static_cast<std::uint32_t>(fixed.length() + body.length))) {
      count_sent(from, body.length);
      return add_to_counter(body.target_counter);
    }
  }
  OutgoingMessage message;
  message.id = next_message_id_++;
  message.peer = from.index;
  message.kind = RecordKind::get_data;
  std::memcpy(message.body.data(), &answer, sizeof(answer));
  message.data = static_cast<const std::byte*>(pointer(body.target_address));
  message.total = body.length;
  message.free_counter = body.target_counter;
  message.counts_as_send = true;
  message.referenced = !from.is_direct() && body.length > config_.copy_limit;
  OutgoingMessage& stored = store(std::move(message));
  if (from.backlog.empty() && pump(from, stored)) finish_sending(stored);
}

void EndpointCore::on_get_data(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::GetDataBody>(record);
  PendingRequest* request = requests_.find(body.request_id);
  const std::uint64_t length = record.header.payload_length;
  if (request == nullptr || !request->is_get || request->peer != from.index) return ghost();
  if (body.offset > request->length || length > request->length - body.offset) return ghost();
  if (length != 0) std::memcpy(static_cast<std::byte*>(request->buffer) + body.offset, record.payload, length);
  request->received += length;
  if (request->received == request->length) request_complete(body.request_id, &from);
}

// All that was asked for is in place: first the data, then the origin counter.
void EndpointCore::request_complete(std::uint32_t id, Peer* from) {
  const PendingRequest request = *requests_.find(id);
  requests_.remove(id);
  if (request.is_get) {
    ++receives_completed_;
    statistics_of(*from).data_received += request.length;
  } else {
    ++sends_completed_;
  }
  add_to_counter(request.origin_counter);
}

void EndpointCore::on_rmw_request(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::RmwRequestBody>(record);
  if (!rmw_is_valid(body.operation, body.width)) return ghost();
  const std::uint64_t previous = apply_rmw(static_cast<wire::RmwOperation>(body.operation), body.width,
                                           body.target_address, body.input, body.swap_value);
  post_record(from, RecordKind::rmw_reply, wire::RmwReplyBody{body.request_id, 0, previous});
}

void EndpointCore::on_rmw_reply(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::RmwReplyBody>(record);
  PendingRequest* request = requests_.find(body.request_id);
  if (request == nullptr || request->is_get || request->peer != from.index) return ghost();
  if (request->buffer != nullptr) std::memcpy(request->buffer, &body.previous, request->length);
  request_complete(body.request_id, &from);
}

}  // namespace openlapi
