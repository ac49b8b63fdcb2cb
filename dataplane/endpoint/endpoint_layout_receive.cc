// Records of layouts arrive, and gets of layouts are asked for and answered. What a record says about memory is taken
// only as far as its numbers agree; the rest is counted and dropped.
#include <algorithm>
#include <cstring>
#include <new>

#include "dataplane/base/own_memory.h"
#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/endpoint/endpoint_delivery.h"
#include "dataplane/layout/guarded_copy.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::body_of;
using wire::RecordKind;

void EndpointCore::on_put_pieces(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::PutPiecesBody>(record);
  wire::PiecesAndData payload;
  if (!wire::split_pieces(record, body, payload)) return ghost();
  ListCursor layout(PieceList::of_pieces(payload.pieces, payload.count));
  place_put(from, {body.target_counter, body.completion_counter, body.total_length, body.message_id}, layout,
            {payload.data, payload.length});
}

void EndpointCore::on_put_strided(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::PutStridedBody>(record);
  if (body.block == 0) return ghost();
  const std::uint64_t blocks = body.total_length / body.block + (body.total_length % body.block != 0 ? 1 : 0);
  StridedCursor layout({body.base, body.block, body.stride, blocks});
  const std::uint64_t length = record.header.payload_length;
  if (layout.total_bytes() < body.total_length) return ghost();
  if (body.offset > body.total_length || length > body.total_length - body.offset) return ghost();
  layout.seek(body.offset);
  place_put(from, {body.target_counter, body.completion_counter, body.total_length, body.message_id}, layout,
            {record.payload, record.header.payload_length});
}

// `layout` stands where the data goes.
void EndpointCore::place_put(Peer& from, const PutFragment& put, LayoutCursor& layout,
                             std::span<const std::byte> data) {
  CompletionRun run;
  run.source = from.index;
  run.source_life = from.life;
  run.target_counter = put.target_counter;
  run.completion_counter = put.completion_counter;
  if (put.message_id == 0) {
    if (data.size() != put.total) return ghost();
    if (!scatter(layout, layout.position(), data)) host_.report_fault(Fault::target_vector, from.index);
    return data_in_place(&from, ++from.messages_begun, run, CompletionStyle::thread, put.total);
  }
  if (data.size() > put.total) return ghost();
  const auto found = from.incoming.find(put.message_id);
  IncomingMessage* part_of = found != from.incoming.end() ? &found->second : nullptr;
  if (part_of == nullptr) {
    IncomingMessage begun;
    begun.kind = RecordKind::put;
    begun.vector = true;
    begun.total = put.total;
    begun.run = run;
    part_of = add_incoming(from, put.message_id, std::move(begun));
    if (part_of == nullptr) return;
    part_of->number = ++from.messages_begun;
  }
  IncomingMessage& message = *part_of;
  if (message.kind != RecordKind::put || message.total != put.total || message.elsewhere) return ghost();
  if (data.size() > message.total - message.received) return ghost();
  if (!message.cut_off && !scatter(layout, layout.position(), data)) {
    message.cut_off = true;
    host_.report_fault(Fault::target_vector, from.index);
  }
  fragment_arrived(from, put.message_id, message, data.size());
}

Submit EndpointCore::get_layout(const LayoutGetRequest& request) {
  request.source->seek(0);
  request.destination->seek(0);
  const std::uint64_t total = request.source->total_bytes();
  if (total == 0) {
    return get(
        {request.target, 0, nullptr, 0, request.target_counter, request.origin_counter, request.completion_handler});
  }
  if (request.target == config_.self) return get_layout_from_self(request);
  Peer* peer = contact(request.target);
  if (peer == nullptr) return refusal(request.target);
  if (requests_exhausted(*peer) || keeps_exhausted(*peer)) return Submit::busy;

  PendingRequest pending{request.target,
                         nullptr,
                         total,
                         0,
                         request.origin_counter,
                         true,
                         request.completion_handler.function,
                         request.completion_handler.info};
  pending.layout = request.destination->detached();
  const bool large_pieces = total / request.source->piece_count() >= tuning::kSmallestAttachPiece;
  const bool reads = total > config_.copy_limit && large_pieces && peer->remote_memory != nullptr &&
                     peer->remote_memory->reachable(request.target);
  std::unique_ptr<LayoutCursor> source = reads ? request.source->detached() : nullptr;
  const std::uint64_t list_bytes = pending.layout->list_bytes() + (reads ? source->list_bytes() : 0);
  pending.list_bytes = list_bytes;
  pending.read = reads;
  const std::uint32_t id = requests_.add(std::move(pending));
  ++peer->requests_waiting;
  count_lists(*peer, list_bytes);
  if (reads) {
    begin_read({request.target, true, id, 0, request.target_counter, 0, std::move(source)});
  } else {
    send_layout_request(*peer, id, *request.source, request.target_counter);
  }
  return Submit::accepted;
}

Submit EndpointCore::get_layout_from_self(const LayoutGetRequest& request) {
  if (kWordIs32Bits && refuse_own(request)) return Submit::accepted;
  if (!copy_guarded(*request.source, *request.destination)) {
    const bool readable = is_readable(*request.source, request.source->total_bytes());
    return readable ? Submit::origin_memory : Submit::target_memory;
  }
  MessageStatistics& local = statistics_[static_cast<std::size_t>(StatisticsPath::local)];
  local.data_sent += request.source->position();
  local.data_received += request.source->position();
  ++receives_completed_;
  move_counter(request.target_counter, config_.self);
  move_counter(request.origin_counter, config_.self);
  run_get_handler(config_.self, request.completion_handler);
  return Submit::accepted;
}

// The description travels like any data of ours: long ones in several records.
void EndpointCore::send_layout_request(Peer& peer, std::uint32_t id, const LayoutCursor& source,
                                       std::uint64_t target_counter) {
  std::vector<std::byte> description;
  describe_layout(source, SIZE_MAX, description);
  const wire::GetLayoutBody body{target_counter, id, 0};
  RecordBytes fixed(RecordKind::get_layout, body);
  if (fixed.length() + description.size() <= peer.max_record) {
    fixed.payload_length(description.size());
    const ConstBuffer pieces[] = {fixed.piece(), {description.data(), description.size()}};
    return post(peer, pieces, static_cast<std::uint32_t>(fixed.length() + description.size()));
  }
  OutgoingMessage message;
  give_number(message);
  message.peer = peer.index;
  message.kind = RecordKind::get_layout;
  std::memcpy(message.body.data(), &body, sizeof(body));
  message.description = std::move(description);
  message.total = message.description.size();
  message.data = message.description.data();
  OutgoingMessage& stored = store(std::move(message));
  if (peer.backlog.empty() && pump(peer, stored)) finish_sending(stored);
}

void EndpointCore::on_get_layout(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::GetLayoutBody>(record);
  if (!record.is_long()) {
    return answer_layout(from, body, {record.payload, record.header.payload_length});
  }
  if (!from.kept.has_room(record.extension.total_length)) return no_memory_for(from, body.request_id);
  IncomingMessage message;
  message.kept = {from.kept, record.extension.total_length};
  message.kind = RecordKind::get_layout;
  message.total = record.extension.total_length;
  message.target_counter = body.target_counter;
  message.request_id = body.request_id;
  try {
    message.own_buffer = std::make_unique_for_overwrite<std::byte[]>(message.total);
    message.buffer = message.own_buffer.get();
    begin_incoming(from, record, std::move(message));
  } catch (const std::bad_alloc&) {
    no_memory_for(from, body.request_id);
  }
}

void EndpointCore::answer_layout(Peer& from, const wire::GetLayoutBody& body, std::span<const std::byte> description) {
  OutgoingMessage* stored = nullptr;
  try {
    stored = layout_answer(from, body, {description.begin(), description.end()});
  } catch (const std::bad_alloc&) {
    return no_memory_for(from, body.request_id);
  }
  if (stored != nullptr && from.backlog.empty() && pump(from, *stored)) finish_sending(*stored);
}

// Null: there will be none.
OutgoingMessage* EndpointCore::layout_answer(Peer& from, const wire::GetLayoutBody& body,
                                             std::vector<std::byte> description) {
  std::span<const std::byte> rest(description);
  wire::LayoutDescription layout;
  if (!wire::next_description(rest, layout) || !rest.empty()) {
    ghost();
    return nullptr;
  }
  if (!is_own_layout(layout)) {
    refuse_request(from, body.request_id);
    return nullptr;
  }
  const wire::GetDataBody answer{body.request_id, 0, 0};
  OutgoingMessage message;
  give_number(message);
  message.peer = from.index;
  message.kind = RecordKind::get_data;
  std::memcpy(message.body.data(), &answer, sizeof(answer));
  message.source = cursor_of(layout);
  message.description = std::move(description);
  message.total = layout.total_bytes;
  message.free_counter = body.target_counter;
  message.counts_as_send = true;
  return store_answer(from, std::move(message), body.request_id);
}

}  // namespace openlapi
