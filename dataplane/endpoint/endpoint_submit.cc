// Operations begin. A message that fits one packet leaves inside the call or is copied; so does every message up to the
// copy limit, longer ones keep pointing into the user's memory until the origin counter moves (guide, chapter 11).
// Whatever is kept of a message or request is bounded per peer: then the call is answered `busy`. A handler, which
// nobody could serve while it waits, may take more (tuning::kMostRequestsOfHandlers).
#include <cstring>

#include "dataplane/base/own_memory.h"
#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/endpoint/endpoint_delivery.h"
#include "dataplane/message/record_bytes.h"
#include "dataplane/operation/read_modify_write.h"

namespace openlapi {

using wire::RecordKind;

Submit EndpointCore::put(const PutRequest& request) {
  if (request.target == config_.self) return put_to_self(request);
  Peer* peer = contact(request.target);
  if (peer == nullptr) return refusal(request.target);

  if (owes_too_much(*peer, request.completion_counter)) [[unlikely]]
    return Submit::busy;
  const wire::PutBody body{request.target_address, request.target_counter, request.completion_counter};
  RecordBytes fixed(RecordKind::put, body);
  if (request.length <= peer->max_record - fixed.length()) [[likely]] {
    fixed.payload_length(request.length);
    const ConstBuffer pieces[] = {fixed.piece(), {request.data, static_cast<std::size_t>(request.length)}};
    const auto length = static_cast<std::uint32_t>(fixed.length() + request.length);
    return owe(*peer, request.completion_counter,
               submit_single(*peer, pieces, length, request.length, {request.origin_counter, request.send_handler}));
  }
  OutgoingMessage message;
  message.kind = RecordKind::put;
  std::memcpy(message.body.data(), &body, sizeof(body));
  message.data = static_cast<const std::byte*>(request.data);
  message.total = request.length;
  message.free_counter = request.origin_counter;
  message.free_handler = request.send_handler;
  return owe(*peer, request.completion_counter, submit_long(*peer, std::move(message), request.bulk));
}

Submit EndpointCore::active_message(const ActiveMessageRequest& request) {
  if (request.target == config_.self) return message_to_self(request);
  Peer* peer = contact(request.target);
  if (peer == nullptr) return refusal(request.target);

  if (owes_too_much(*peer, request.completion_counter)) [[unlikely]]
    return Submit::busy;
  const wire::ActiveMessageBody body{request.handler, request.target_counter, request.completion_counter};
  RecordBytes fixed(RecordKind::active_message, body);
  const std::uint32_t headers = fixed.length() + request.user_header_length;
  if (headers <= peer->max_record && request.length <= peer->max_record - headers) [[likely]] {
    fixed.user_header_length(request.user_header_length).payload_length(request.length);
    const ConstBuffer pieces[] = {fixed.piece(),
                                  {request.user_header, request.user_header_length},
                                  {request.data, static_cast<std::size_t>(request.length)}};
    return owe(*peer, request.completion_counter,
               submit_single(*peer, pieces, static_cast<std::uint32_t>(headers + request.length), request.length,
                             {request.origin_counter, request.send_handler}));
  }
  OutgoingMessage message;
  message.kind = RecordKind::active_message;
  std::memcpy(message.body.data(), &body, sizeof(body));
  const auto* header = static_cast<const std::byte*>(request.user_header);
  message.user_header.assign(header, header + request.user_header_length);
  message.data = static_cast<const std::byte*>(request.data);
  message.total = request.length;
  message.free_counter = request.origin_counter;
  message.free_handler = request.send_handler;
  return owe(*peer, request.completion_counter, submit_long(*peer, std::move(message), request.bulk));
}

Submit EndpointCore::submit_long(Peer& peer, OutgoingMessage message, BulkHint bulk) {
  message.peer = peer.index;
  const bool copied = message.total + message.user_header.size() <= config_.copy_limit;
  if (copied ? copies_exhausted(peer) : keeps_exhausted(peer)) return Submit::busy;
  std::unique_ptr<std::byte[]> room = copied ? room_for_long_copy(message.total) : nullptr;
  give_number(message);
  ++peer.messages_sent;
  message.counts_as_send = true;
  if (!copied) message.kept_bytes = message.bytes_of_ours();
  if (!copied && peer.remote_memory != nullptr && !peer.attach_closed) {
    offer_attach(peer, std::move(message));
    return Submit::accepted;
  }

  message.referenced = !copied && !peer.is_direct();
  if (!copied && wants_bulk(peer, bulk, message.total) && offer_bulk(peer, message)) return Submit::accepted;
  OutgoingMessage& stored = store(std::move(message));
  if (peer.backlog.empty() && pump(peer, stored)) {
    finish_sending(stored);
  } else if (copied) {
    keep_copy(stored, std::move(room));
    sent_for_the_origin(peer, stored);
  }
  return Submit::accepted;
}

// What is left of a message has been copied: for the origin it is sent, and its buffers are free.
void EndpointCore::sent_for_the_origin(Peer& peer, OutgoingMessage& message) {
  origin_is_free(peer.index, {message.free_counter, message.free_handler});
  message.free_counter = 0;
  message.free_handler = {};
  count_sent(peer, message.total);
  message.counts_as_send = false;
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
    if (kWordIs32Bits && refuse_own(request)) return Submit::accepted;
    if (request.length != 0) {
      std::memmove(request.buffer, reinterpret_cast<const void*>(request.target_address), request.length);
    }
    MessageStatistics& local = statistics_[static_cast<std::size_t>(StatisticsPath::local)];
    local.data_sent += request.length;
    local.data_received += request.length;
    ++receives_completed_;
    move_counter(request.target_counter, config_.self);
    move_counter(request.origin_counter, config_.self);
    run_get_handler(config_.self, request.completion_handler);
    return Submit::accepted;
  }
  Peer* peer = contact(request.target);
  if (peer == nullptr) return refusal(request.target);
  if (requests_exhausted(*peer)) return Submit::busy;

  ++peer->requests_waiting;
  const std::uint32_t id = requests_.add({request.target, request.buffer, request.length, 0, request.origin_counter,
                                          true, request.completion_handler.function, request.completion_handler.info});
  if (request.length > config_.copy_limit && peer->remote_memory != nullptr &&
      peer->remote_memory->reachable(request.target)) {
    requests_.find(id)->read = true;
    begin_read({request.target, true, id, request.target_address, request.target_counter});
    return Submit::accepted;
  }
  const bool bulk =
      request.length > peer->max_record && wants_bulk(*peer, request.bulk, request.length) && may_try_bulk(*peer);
  send_get_request(*peer, id, request.target_address, request.length, request.target_counter,
                   bulk ? wire::kFlagBulk : 0);
  return Submit::accepted;
}

Submit EndpointCore::read_modify_write(const RmwRequest& request) {
  if (request.target == config_.self) {
    if (kWordIs32Bits && refuse_own(request)) return Submit::accepted;
    const std::uint64_t previous =
        apply_rmw(request.operation, request.width, request.target_address, request.input, request.swap_value);
    if (request.previous != nullptr) std::memcpy(request.previous, &previous, request.width);
    ++sends_completed_;
    origin_is_free(config_.self, {request.origin_counter, request.send_handler});
    return Submit::accepted;
  }
  Peer* peer = contact(request.target);
  if (peer == nullptr) return refusal(request.target);
  if (requests_exhausted(*peer)) return Submit::busy;

  ++peer->requests_waiting;
  const std::uint32_t id =
      requests_.add({request.target, request.previous, request.width, 0, request.origin_counter, false});
  post_record(*peer, RecordKind::rmw_request,
              wire::RmwRequestBody{static_cast<std::uint8_t>(request.operation), request.width, 0, id,
                                   request.target_address, request.input, request.swap_value});
  origin_is_free(request.target, {0, request.send_handler});
  return Submit::accepted;
}

// Messages to oneself are local copies. Target and origin are the same task, so all counters are here.
Submit EndpointCore::put_to_self(const PutRequest& request) {
  if (kWordIs32Bits && refuse_own(request)) return Submit::accepted;
  if (request.length != 0) {
    std::memmove(reinterpret_cast<void*>(request.target_address), request.data, request.length);
  }
  MessageStatistics& local = statistics_[static_cast<std::size_t>(StatisticsPath::local)];
  local.data_sent += request.length;
  local.data_received += request.length;
  ++sends_completed_;
  ++receives_completed_;
  origin_is_free(config_.self, {request.origin_counter, request.send_handler});
  move_counter(request.target_counter, config_.self);
  move_counter(request.completion_counter, config_.self);
  return Submit::accepted;
}

Submit EndpointCore::message_to_self(const ActiveMessageRequest& request) {
  if (kWordIs32Bits && refuse_own(request)) return Submit::accepted;
  if (own_exhausted()) return Submit::busy;
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
  if (inline_depth_ > 0) untried_ = waiting_.size() + 1;
  if (inline_depth_ > 0 || !deliver_whole(message)) keep_waiting(message);
  origin_is_free(config_.self, {request.origin_counter, request.send_handler});
  return Submit::accepted;
}

}  // namespace openlapi
