#include "dataplane/operation/gets.h"

#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "dataplane/base/copy_bytes.h"
#include "dataplane/base/own_memory.h"
#include "dataplane/layout/guarded_copy.h"
#include "dataplane/layout/own_layouts.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::body_of;
using wire::RecordKind;

// The origin asks.

Submit Gets::begin(Peer& peer, const GetRequest& request) {
  if (means_.direct.get(peer, request)) [[unlikely]]
    return Submit::accepted;
  if (means_.admission.requests_exhausted(peer)) return Submit::busy;
  const std::uint32_t id = means_.requests.add(peer, {.peer = request.target,
                                                      .buffer = request.buffer,
                                                      .length = request.length,
                                                      .origin_counter = request.origin_counter,
                                                      .is_get = true,
                                                      .handler = request.completion_handler.function,
                                                      .handler_info = request.completion_handler.info});
  if (means_.one_sided.begin(peer, id, request)) return Submit::accepted;
  if (request.length > means_.config.copy_limit && peer.remote_memory != nullptr &&
      peer.remote_memory->reachable(request.target)) {
    means_.requests.find(id)->read = true;
    means_.reads.begin({.peer = request.target,
                        .is_get = true,
                        .id = id,
                        .source_address = request.target_address,
                        .target_counter = request.target_counter});
    return Submit::accepted;
  }
  const bool bulk = request.length > peer.max_record && means_.offers.wants_bulk(peer, request.bulk, request.length) &&
                    MemoryOffers::may_try_bulk(peer);
  ask(peer, id, request.target_address, request.length, request.target_counter, bulk ? wire::kFlagBulk : 0);
  return Submit::accepted;
}

void Gets::ask(Peer& peer, std::uint32_t id, std::uint64_t address, std::uint64_t length, std::uint64_t target_counter,
               std::uint8_t flags) {
  RecordBytes fixed(
      RecordKind::get_request,
      wire::GetRequestBody{
          .target_address = address, .length = length, .target_counter = target_counter, .request_id = id});
  fixed.flags(flags);
  const ConstBuffer piece = fixed.piece();
  means_.outbox.post(peer, {&piece, 1}, fixed.length());
}

Submit Gets::begin(Peer& peer, const LayoutGetRequest& request) {
  if (means_.direct.get(peer, request)) [[unlikely]]
    return Submit::accepted;
  if (means_.admission.requests_exhausted(peer) || means_.admission.keeps_exhausted(peer)) return Submit::busy;
  const std::uint64_t total = request.source->total_bytes();
  PendingRequest pending{.peer = request.target,
                         .length = total,
                         .origin_counter = request.origin_counter,
                         .is_get = true,
                         .handler = request.completion_handler.function,
                         .handler_info = request.completion_handler.info,
                         .layout = request.destination->detached()};
  const bool large_pieces = total / request.source->piece_count() >= tuning::kSmallestAttachPiece;
  pending.read = total > means_.config.copy_limit && large_pieces && peer.remote_memory != nullptr &&
                 peer.remote_memory->reachable(request.target);
  std::unique_ptr<LayoutCursor> source = pending.read ? request.source->detached() : nullptr;
  pending.list_bytes = pending.layout->list_bytes() + (source != nullptr ? source->list_bytes() : 0);
  const std::uint32_t id = means_.requests.add(peer, std::move(pending));
  if (source == nullptr) {
    ask_layout(peer, id, *request.source, request.target_counter);
    return Submit::accepted;
  }
  means_.reads.begin({.peer = request.target,
                      .is_get = true,
                      .id = id,
                      .source_address = 0,
                      .target_counter = request.target_counter,
                      .source = std::move(source)});
  return Submit::accepted;
}

// The description travels like any data of ours: long ones in several records.
void Gets::ask_layout(Peer& peer, std::uint32_t id, const LayoutCursor& source, std::uint64_t target_counter) {
  std::vector<std::byte> description;
  describe_layout(source, SIZE_MAX, description);
  const wire::GetLayoutBody body{.target_counter = target_counter, .request_id = id};
  RecordBytes fixed(RecordKind::get_layout, body);
  if (fixed.length() + description.size() <= peer.max_record) {
    fixed.payload_length(description.size());
    const ConstBuffer pieces[] = {fixed.piece(), {description.data(), description.size()}};
    return means_.outbox.post(peer, pieces, static_cast<std::uint32_t>(fixed.length() + description.size()));
  }
  OutgoingMessage message;
  means_.sender.give_number(message);
  message.peer = peer.index;
  message.kind = RecordKind::get_layout;
  std::memcpy(message.body.data(), &body, sizeof(body));
  message.description = std::move(description);
  message.total = message.description.size();
  message.data = message.description.data();
  means_.sender.begin(peer, std::move(message));
}

// The memory could not be read.
void Gets::ask_for_packets(Peer& peer, const AttachRead& read, std::uint64_t length) {
  if (read.source != nullptr) return ask_layout(peer, read.id, *read.source, read.target_counter);
  ask(peer, read.id, read.source_address, length, read.target_counter);
}

// The target answers.

void Gets::on_request(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::GetRequestBody>(record);
  note_message(from, body.target_address, body.length, body.target_counter);
  if (answer_at_once(from, body)) return;
  const wire::GetDataBody answer{.request_id = body.request_id, .offset = 0};
  OutgoingMessage message;
  means_.sender.give_number(message);
  message.peer = from.index;
  message.kind = RecordKind::get_data;
  std::memcpy(message.body.data(), &answer, sizeof(answer));
  message.data = pointer_to(body.target_address);
  message.total = body.length;
  message.free_counter = body.target_counter;
  message.counts_as_send = true;
  message.referenced = !from.is_direct() && body.length > means_.config.copy_limit;
  if (record.is_bulk() && means_.offers.offer_answer(from, body.request_id, message)) return;
  means_.sender.begin_answer(from, std::move(message), body.request_id);
}

// False: it needs more than one record, or has no room.
bool Gets::answer_at_once(Peer& from, const wire::GetRequestBody& body) {
  RecordBytes fixed(RecordKind::get_data, wire::GetDataBody{.request_id = body.request_id, .offset = 0});
  if (!from.backlog.empty() || body.length > from.max_record - fixed.length()) return false;
  fixed.payload_length(body.length);
  const ConstBuffer pieces[] = {fixed.piece(),
                                {pointer_to(body.target_address), static_cast<std::size_t>(body.length)}};
  if (!means_.outbox.send_record(from, pieces, static_cast<std::uint32_t>(fixed.length() + body.length))) return false;
  means_.statistics.message_sent(from, body.length);
  means_.counters.move(body.target_counter, from.index);
  return true;
}

void Gets::on_layout_request(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::GetLayoutBody>(record);
  if (!record.is_long()) {
    return answer_layout(from, body, {record.payload, record.header.payload_length});
  }
  const std::uint64_t total = record.extension.total_length;
  if (!from.kept.has_room(total)) return means_.refusals.no_memory(from, body.request_id);
  IncomingMessage message{.kind = IncomingDescription{body}, .total = total, .kept = {from.kept, total}};
  try {
    message.go_to(std::make_unique_for_overwrite<std::byte[]>(message.total));
    means_.incoming.begin(from, record, std::move(message));
  } catch (const std::bad_alloc&) {
    means_.refusals.no_memory(from, body.request_id);
  }
}

void Gets::answer_layout(Peer& from, const wire::GetLayoutBody& body, std::span<const std::byte> description) {
  OutgoingMessage* stored = nullptr;
  try {
    OutgoingMessage message;
    if (!layout_answer(from, body, {description.begin(), description.end()}, message)) return;
    stored = means_.sender.store_answer(from, std::move(message), body.request_id);
  } catch (const std::bad_alloc&) {
    return means_.refusals.no_memory(from, body.request_id);
  }
  if (stored != nullptr) means_.sender.go_on(from, *stored);
}

// False: there will be none.
bool Gets::layout_answer(Peer& from, const wire::GetLayoutBody& body, std::vector<std::byte> description,
                         OutgoingMessage& answer) {
  std::span<const std::byte> rest(description);
  wire::LayoutDescription layout;
  if (!wire::next_description(rest, layout) || !rest.empty()) {
    means_.statistics.ghost();
    return false;
  }
  if (!is_own_layout(layout)) {
    means_.refusals.not_own_memory(from, body.request_id);
    return false;
  }
  const wire::GetDataBody first{.request_id = body.request_id, .offset = 0};
  means_.sender.give_number(answer);
  answer.peer = from.index;
  answer.kind = RecordKind::get_data;
  std::memcpy(answer.body.data(), &first, sizeof(first));
  answer.source = cursor_of(layout);
  answer.description = std::move(description);
  answer.total = layout.total_bytes;
  note_message(from, *answer.source, answer.total, body.target_counter);
  answer.free_counter = body.target_counter;
  answer.counts_as_send = true;
  return true;
}

// The other side has served itself: only now does this task know of the get, and counts it as sent.
void Gets::on_memory_read(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::MemoryReadBody>(record);
  ++means_.statistics.of(from).packets_sent;
  means_.statistics.of(from).data_sent += body.length;
  means_.counters.move(body.counter, from.index);
}

// The answer arrives.

void Gets::on_data(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::GetDataBody>(record);
  PendingRequest* request = means_.requests.find(body.request_id);
  const std::uint64_t length = record.header.payload_length;
  if (request == nullptr || !request->is_get || request->peer != from.index) return means_.statistics.ghost();
  if (request->pull != 0 || request->read) return means_.statistics.ghost();
  if (body.offset > request->length || length > request->length - body.offset) return means_.statistics.ghost();
  if (length > request->length - request->received) return means_.statistics.ghost();
  if (request->layout != nullptr) [[unlikely]] {
    means_.requests.place(*request, body.offset, {record.payload, record.header.payload_length});
  } else if (length != 0) {
    copy_bytes(static_cast<std::byte*>(request->buffer) + body.offset, record.payload, length);
  }
  request->received += length;
  if (request->received == request->length) means_.requests.complete(body.request_id, from);
}

bool Gets::awaits_data(const Peer& from, std::uint32_t request_id) const {
  const PendingRequest* const request = means_.requests.find(request_id);
  if (request == nullptr || !request->is_get || request->peer != from.index) return false;
  if (request->pull != 0 || request->read) return false;
  return request->layout == nullptr || request->layout->expect_any_order();
}

void Gets::on_key(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::GetKeyBody>(record);
  PendingRequest* request = means_.requests.find(body.request_id);
  const bool expected = request != nullptr && request->is_get && request->peer == from.index &&
                        request->layout == nullptr && request->received == 0 && request->pull == 0 && !request->read;
  const MemoryKeys keys = MemoryKeys::of(record);
  if (!expected || keys.empty()) {
    means_.statistics.ghost();
    return means_.outbox.answer(from, RecordKind::attach_done,
                                wire::AttachDoneBody{body.message_id, wire::AttachAnswer::not_read});
  }
  means_.pulls.pull_answer(from, *request, body, keys);
}

// From oneself: a local copy.

Submit Gets::begin_at_self(const GetRequest& request) {
  if (request.length != 0) {
    std::memmove(request.buffer, reinterpret_cast<const void*>(request.target_address), request.length);
  }
  end_at_self(request.length, request.target_counter, request.origin_counter, request.completion_handler);
  return Submit::accepted;
}

Submit Gets::begin_at_self(const LayoutGetRequest& request) {
  if (!means_.guard.copy(*request.source, *request.destination)) {
    const bool readable = is_readable(*request.source, request.source->total_bytes());
    return readable ? Submit::origin_memory : Submit::target_memory;
  }
  end_at_self(request.source->position(), request.target_counter, request.origin_counter, request.completion_handler);
  return Submit::accepted;
}

void Gets::end_at_self(std::uint64_t data_bytes, std::uint64_t target_counter, std::uint64_t origin_counter,
                       const HandlerCall& handler) {
  const PeerIndex self = means_.config.self;
  means_.statistics.message_copied(data_bytes);
  means_.statistics.receive_completed();
  means_.counters.move(target_counter, self);
  means_.counters.move(origin_counter, self);
  means_.requests.run_handler(self, 0, handler);
}

}  // namespace openlapi
