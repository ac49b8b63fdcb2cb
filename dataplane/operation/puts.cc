#include "dataplane/operation/puts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/base/copy_bytes.h"
#include "dataplane/base/own_memory.h"
#include "dataplane/layout/guarded_copy.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/message/record_bytes.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::body_of;
using wire::RecordKind;

namespace {

static_assert(wire::short_put_fixed_part(wire::kShortPutFlags) + tuning::kLongestShortPut <= tuning::kSmallestRecord);
static_assert(tuning::kLongestShortPut <= UINT16_MAX);

PutFragment fragment_of(const auto& body) {
  return {.target_counter = body.target_counter,
          .completion_counter = body.completion_counter,
          .total = body.total_length,
          .message_id = body.message_id};
}

CompletionRun run_of(const Peer& from, const auto& put) {
  CompletionRun run;
  run.source = from.index;
  run.source_incarnation = from.incarnation;
  run.target_counter = put.target_counter;
  run.completion_counter = put.completion_counter;
  return run;
}

}  // namespace

// The origin asks.

Submit Puts::begin(Peer& peer, const PutRequest& request) {
  if (means_.direct.put(peer, request)) [[unlikely]]
    return Submit::accepted;
  if (means_.admission.owes_too_much(peer, request.completion_counter)) [[unlikely]]
    return Submit::busy;
  if (request.length <= tuning::kLongestShortPut) return begin_short(peer, request);
  const wire::PutBody body{.target_address = request.target_address,
                           .target_counter = request.target_counter,
                           .completion_counter = request.completion_counter};
  RecordBytes fixed(RecordKind::put, body);
  if (request.length <= peer.max_record - fixed.length()) [[likely]] {
    fixed.payload_length(request.length);
    const ConstBuffer pieces[] = {fixed.piece(), {request.data, static_cast<std::size_t>(request.length)}};
    const auto length = static_cast<std::uint32_t>(fixed.length() + request.length);
    return MessageSubmission::owe(peer, request.completion_counter,
                                  means_.submission.send_whole(peer, pieces, length, request.length,
                                                               {request.origin_counter, request.send_handler}));
  }
  OutgoingMessage message;
  message.kind = RecordKind::put;
  std::memcpy(message.body.data(), &body, sizeof(body));
  message.data = static_cast<const std::byte*>(request.data);
  message.total = request.length;
  message.free_counter = request.origin_counter;
  message.free_handler = request.send_handler;
  return MessageSubmission::owe(peer, request.completion_counter,
                                means_.submission.send_long(peer, std::move(message), request.bulk));
}

// Header and body are pieces of their own: each is copied with the widths in which it was written.
inline Submit Puts::begin_short(Peer& peer, const PutRequest& request) {
  const auto data_bytes = static_cast<std::uint32_t>(request.length);
  std::uint32_t header = static_cast<std::uint32_t>(RecordKind::short_put) | data_bytes << 16;
  std::array<std::uint64_t, 3> body;
  std::uint32_t body_bytes = sizeof(body[0]);
  body[0] = request.target_address;
  if (request.target_counter != 0) {
    header |= wire::kFlagTargetCounter << 8;
    body[1] = request.target_counter;
    body_bytes = 2 * sizeof(body[0]);
  }
  if (request.completion_counter != 0) [[unlikely]] {
    header |= wire::kFlagCompletionCounter << 8;
    body[body_bytes / sizeof(body[0])] = request.completion_counter;
    body_bytes += sizeof(body[0]);
  }
  const ConstBuffer pieces[] = {{&header, sizeof(header)}, {body.data(), body_bytes}, {request.data, data_bytes}};
  const auto length = static_cast<std::uint32_t>(sizeof(header)) + body_bytes + data_bytes;
  return MessageSubmission::owe(
      peer, request.completion_counter,
      means_.submission.send_whole(peer, pieces, length, data_bytes, {request.origin_counter, request.send_handler}));
}

Submit Puts::begin(Peer& peer, const LayoutPutRequest& request) {
  if (means_.direct.put(peer, request)) [[unlikely]]
    return Submit::accepted;
  if (means_.admission.owes_too_much(peer, request.completion_counter)) return Submit::busy;
  const wire::PutBody body{
      .target_address = 0, .target_counter = request.target_counter, .completion_counter = request.completion_counter};
  const LayoutParts parts{.kind = RecordKind::put,
                          .body = reinterpret_cast<const std::byte*>(&body),
                          .source = request.source,
                          .destination = request.destination,
                          .total = std::min(request.source->total_bytes(), request.destination->total_bytes())};
  return MessageSubmission::owe(
      peer, request.completion_counter,
      means_.submission.send_layout(peer, parts, {request.origin_counter, request.send_handler}));
}

// The target places the data.

void Puts::on_put(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::PutBody>(record);
  const CompletionRun run = run_of(from, body);
  if (!record.is_long()) {
    const std::uint32_t length = record.header.payload_length;
    note_message(from, body.target_address, length, body.target_counter);
    copy_bytes(pointer_to(body.target_address), record.payload, length);
    return means_.completions.data_in_place(&from, ++from.messages_begun, run, CompletionStyle::thread, length);
  }
  begin_long(from, record, run, pointer_to(body.target_address));
}

void Puts::on_short_put(Peer& from, const wire::Record& record) {
  const wire::PutBody body = wire::put_body(record);
  const std::uint32_t length = record.header.payload_length;
  note_message(from, body.target_address, length, body.target_counter);
  copy_bytes(pointer_to(body.target_address), record.payload, length);
  means_.completions.data_in_place(&from, ++from.messages_begun, run_of(from, body), CompletionStyle::thread, length);
}

void Puts::begin_long(Peer& from, const wire::Record& record, const CompletionRun& run, std::byte* target) {
  IncomingMessage message{.kind = IncomingPut{{.run = run, .vector = record.has_layout()}},
                          .total = record.extension.total_length};
  if (target != nullptr || !record.has_layout()) message.go_to(target);
  means_.incoming.begin(from, record, std::move(message));
}

void Puts::on_put_pieces(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::PutPiecesBody>(record);
  wire::PiecesAndData payload;
  if (!wire::split_pieces(record, body, payload)) return means_.statistics.ghost();
  ListCursor layout(PieceList::of_pieces(payload.pieces, payload.count));
  place(from, fragment_of(body), layout, {payload.data, payload.length});
}

void Puts::on_put_strided(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::PutStridedBody>(record);
  if (body.block == 0) return means_.statistics.ghost();
  const std::uint64_t blocks = body.total_length / body.block + (body.total_length % body.block != 0 ? 1 : 0);
  StridedCursor layout({body.base, body.block, body.stride, blocks});
  const std::uint64_t length = record.header.payload_length;
  if (layout.total_bytes() < body.total_length) return means_.statistics.ghost();
  if (body.offset > body.total_length || length > body.total_length - body.offset) return means_.statistics.ghost();
  layout.seek(body.offset);
  place(from, fragment_of(body), layout, {record.payload, record.header.payload_length});
}

void Puts::place(Peer& from, const PutFragment& put, LayoutCursor& layout, std::span<const std::byte> data) {
  const CompletionRun run = run_of(from, put);
  if (put.message_id == 0) {
    if (data.size() != put.total) return means_.statistics.ghost();
    note_message(from, layout, put.total, put.target_counter);
    if (!means_.guard.scatter(layout, layout.position(), data)) {
      means_.host.report_fault(Fault::target_vector, from.index);
    }
    return means_.completions.data_in_place(&from, ++from.messages_begun, run, CompletionStyle::thread, put.total);
  }
  if (data.size() > put.total) return means_.statistics.ghost();
  IncomingMessage* part_of = IncomingMessages::find(from, put.message_id);
  if (part_of == nullptr) {
    part_of = means_.incoming.add(from, put.message_id,
                                  {.kind = IncomingPut{{.run = run, .vector = true}}, .total = put.total});
    if (part_of == nullptr) return;
    part_of->operation()->number = ++from.messages_begun;
  }
  IncomingMessage& message = *part_of;
  auto* const known = std::get_if<IncomingPut>(&message.kind);
  if (known == nullptr || message.total != put.total || message.elsewhere) return means_.statistics.ghost();
  if (data.size() > message.total - message.received) return means_.statistics.ghost();
  if (!known->cut_off && !means_.guard.scatter(layout, layout.position(), data)) {
    known->cut_off = true;
    means_.host.report_fault(Fault::target_vector, from.index);
  }
  means_.incoming.arrived(from, put.message_id, message, data.size());
}

// To oneself: a local copy. Target and origin are the same task, so all counters are here.

Submit Puts::begin_at_self(const PutRequest& request) {
  if (request.length != 0) {
    std::memmove(reinterpret_cast<void*>(request.target_address), request.data, request.length);
  }
  end_at_self(request.length, {request.origin_counter, request.send_handler}, request.target_counter,
              request.completion_counter);
  return Submit::accepted;
}

Submit Puts::begin_at_self(const LayoutPutRequest& request) {
  if (!means_.guard.copy(*request.source, *request.destination)) {
    const bool readable = is_readable(*request.source, request.source->total_bytes());
    return readable ? Submit::target_memory : Submit::origin_memory;
  }
  end_at_self(request.source->position(), {request.origin_counter, request.send_handler}, request.target_counter,
              request.completion_counter);
  return Submit::accepted;
}

void Puts::end_at_self(std::uint64_t data_bytes, const OriginNotice& notice, std::uint64_t target_counter,
                       std::uint64_t completion_counter) {
  means_.statistics.message_copied(data_bytes);
  means_.statistics.send_completed();
  means_.statistics.receive_completed();
  means_.origins.origin_is_free(means_.self, notice);
  means_.counters.move(target_counter, means_.self);
  means_.counters.move(completion_counter, means_.self);
}

}  // namespace openlapi
