// Operations begin. A message that fits one packet leaves inside the call or is copied; so does every message up to the
// copy limit, longer ones keep pointing into the user's memory until the origin counter moves (guide, chapter 11).
#include <cstring>

#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/endpoint/record_bytes.h"
#include "dataplane/operation/completion_counter.h"
#include "dataplane/operation/read_modify_write.h"

namespace openlapi {

using wire::RecordKind;

Submit EndpointCore::put(const PutRequest& request) {
  if (request.target == config_.self) return put_to_self(request);
  Peer* peer = contact(request.target);
  if (peer == nullptr) return Submit::unreachable;

  const wire::PutBody body{request.target_address, request.target_counter, request.completion_counter};
  RecordBytes fixed(RecordKind::put, body);
  if (fixed.length() + request.length <= peer->max_record) [[likely]] {
    fixed.payload_length(request.length);
    const ConstBuffer pieces[] = {fixed.piece(), {request.data, request.length}};
    return submit_single(*peer, pieces, static_cast<std::uint32_t>(fixed.length() + request.length), request.length,
                         request.origin_counter);
  }
  OutgoingMessage message;
  message.kind = RecordKind::put;
  std::memcpy(message.body.data(), &body, sizeof(body));
  message.data = static_cast<const std::byte*>(request.data);
  message.total = request.length;
  message.free_counter = request.origin_counter;
  return submit_long(*peer, std::move(message));
}

Submit EndpointCore::active_message(const ActiveMessageRequest& request) {
  if (request.target == config_.self) return message_to_self(request);
  Peer* peer = contact(request.target);
  if (peer == nullptr) return Submit::unreachable;

  const wire::ActiveMessageBody body{request.handler, request.target_counter, request.completion_counter};
  RecordBytes fixed(RecordKind::active_message, body);
  const std::uint64_t length = fixed.length() + request.user_header_length + request.length;
  if (length <= peer->max_record) [[likely]] {
    fixed.user_header_length(request.user_header_length).payload_length(request.length);
    const ConstBuffer pieces[] = {
        fixed.piece(), {request.user_header, request.user_header_length}, {request.data, request.length}};
    return submit_single(*peer, pieces, static_cast<std::uint32_t>(length), request.length, request.origin_counter);
  }
  OutgoingMessage message;
  message.kind = RecordKind::active_message;
  std::memcpy(message.body.data(), &body, sizeof(body));
  const auto* header = static_cast<const std::byte*>(request.user_header);
  message.user_header.assign(header, header + request.user_header_length);
  message.data = static_cast<const std::byte*>(request.data);
  message.total = request.length;
  message.free_counter = request.origin_counter;
  return submit_long(*peer, std::move(message));
}

Submit EndpointCore::submit_single(Peer& peer, Pieces pieces, std::uint32_t length, std::uint64_t data,
                                   std::uint64_t counter) {
  if (!peer.backlog.empty() || !send_record(peer, pieces, length)) [[unlikely]] {
    if (copies_exhausted()) return Submit::busy;
    queue_record(peer, pieces, length, true);
  }
  ++peer.messages_sent;
  add_to_counter(counter);
  count_sent(peer, data);
  return Submit::accepted;
}

Submit EndpointCore::submit_long(Peer& peer, OutgoingMessage message) {
  message.id = next_message_id_;
  message.peer = peer.index;
  const bool copied = message.total + message.user_header.size() <= config_.copy_limit;
  if (copied && copies_exhausted()) return Submit::busy;
  ++next_message_id_;
  ++peer.messages_sent;
  message.counts_as_send = true;
  if (!copied && peer.remote_memory != nullptr && !peer.attach_refused) {
    offer_attach(peer, std::move(message));
    return Submit::accepted;
  }

  message.referenced = !copied && !peer.is_direct();
  OutgoingMessage& stored = store(std::move(message));
  if (peer.backlog.empty() && pump(peer, stored)) {
    finish_sending(stored);
  } else if (copied) {
    keep_copy(stored);
    add_to_counter(stored.free_counter);
    stored.free_counter = 0;
    count_sent(peer, stored.total);
    stored.counts_as_send = false;
  }
  return Submit::accepted;
}

// The first record goes without data; the peer reads our memory and says whether it could.
void EndpointCore::offer_attach(Peer& peer, OutgoingMessage message) {
  const wire::LongExtension extension{message.total, reinterpret_cast<std::uintptr_t>(message.data), message.id, 0};
  RecordBytes fixed(message.kind, message.body);
  fixed.extend(extension, wire::kFlagLong | wire::kFlagAttach)
      .user_header_length(static_cast<std::uint32_t>(message.user_header.size()));
  message.stage = OutgoingMessage::Stage::awaiting_attach;
  message.first_sent = true;
  const ConstBuffer pieces[] = {fixed.piece(), {message.user_header.data(), message.user_header.size()}};
  post(peer, pieces, static_cast<std::uint32_t>(fixed.length() + message.user_header.size()));
  store(std::move(message));
}

Submit EndpointCore::get(const GetRequest& request) {
  if (request.target == config_.self) {
    if (request.length != 0) {
      std::memmove(request.buffer, reinterpret_cast<const void*>(request.target_address), request.length);
    }
    MessageStatistics& local = statistics_[static_cast<std::size_t>(StatisticsPath::local)];
    local.data_sent += request.length;
    local.data_received += request.length;
    ++receives_completed_;
    add_to_counter(request.target_counter);
    add_to_counter(request.origin_counter);
    return Submit::accepted;
  }
  Peer* peer = contact(request.target);
  if (peer == nullptr) return Submit::unreachable;
  if (requests_exhausted(*peer)) return Submit::busy;

  const std::uint32_t id =
      requests_.add({request.target, request.buffer, request.length, 0, request.origin_counter, true});
  if (request.length > config_.copy_limit && peer->remote_memory != nullptr &&
      peer->remote_memory->reachable(request.target)) {
    begin_read({request.target, true, id, request.target_address, request.target_counter});
  } else {
    send_get_request(*peer, id, request.target_address, request.length, request.target_counter);
  }
  return Submit::accepted;
}

Submit EndpointCore::read_modify_write(const RmwRequest& request) {
  if (request.target == config_.self) {
    const std::uint64_t previous =
        apply_rmw(request.operation, request.width, request.target_address, request.input, request.swap_value);
    if (request.previous != nullptr) std::memcpy(request.previous, &previous, request.width);
    add_to_counter(request.origin_counter);
    return Submit::accepted;
  }
  Peer* peer = contact(request.target);
  if (peer == nullptr) return Submit::unreachable;
  if (requests_exhausted(*peer)) return Submit::busy;

  const std::uint32_t id =
      requests_.add({request.target, request.previous, request.width, 0, request.origin_counter, false});
  post_record(*peer, RecordKind::rmw_request,
              wire::RmwRequestBody{static_cast<std::uint8_t>(request.operation), request.width, 0, id,
                                   request.target_address, request.input, request.swap_value});
  return Submit::accepted;
}

// Messages to oneself are local copies. Target and origin are the same task, so all counters are here.
Submit EndpointCore::put_to_self(const PutRequest& request) {
  if (request.length != 0) {
    std::memmove(reinterpret_cast<void*>(request.target_address), request.data, request.length);
  }
  MessageStatistics& local = statistics_[static_cast<std::size_t>(StatisticsPath::local)];
  local.data_sent += request.length;
  local.data_received += request.length;
  ++sends_completed_;
  ++receives_completed_;
  add_to_counter(request.origin_counter);
  add_to_counter(request.target_counter);
  add_to_counter(request.completion_counter);
  return Submit::accepted;
}

Submit EndpointCore::message_to_self(const ActiveMessageRequest& request) {
  if (copies_exhausted() || (inline_depth_ == 0 && waiting_.size() >= config_.copy_buffers)) return Submit::busy;
  const WholeMessage message{config_.self,
                             {request.handler, request.target_counter, request.completion_counter},
                             const_cast<void*>(request.user_header),
                             request.user_header_length,
                             const_cast<void*>(request.data),
                             request.length,
                             true};
  statistics_[static_cast<std::size_t>(StatisticsPath::local)].data_sent += request.length;
  ++sends_completed_;
  // From inside an inline handler it waits for the next step: handlers that answer themselves must not recurse.
  if (inline_depth_ > 0) retry_now_ = true;
  if (inline_depth_ > 0 || !deliver_whole(message)) keep_waiting(message);
  add_to_counter(request.origin_counter);
  return Submit::accepted;
}

}  // namespace openlapi
