#include "dataplane/operation/narrow_task.h"

#include <cstdint>
#include <utility>

#include "dataplane/layout/vector_cursor.h"

namespace openlapi {

using wire::body_of;
using wire::RecordKind;

namespace {

std::uint64_t whole_length(const wire::Record& record) {
  return record.is_long() ? record.extension.total_length : record.header.payload_length;
}

bool is_own_layout(const wire::Record& record, const wire::PutPiecesBody& body) {
  wire::PiecesAndData payload;
  return !wire::split_pieces(record, body, payload) || openlapi::is_own_layout(payload.pieces, payload.count);
}

bool is_own_layout(const wire::PutStridedBody& body) {
  if (body.block == 0) return true;
  const std::uint64_t blocks = body.total_length / body.block + (body.total_length % body.block != 0 ? 1 : 0);
  return openlapi::is_own_layout(wire::StridedLayout{body.base, body.block, body.stride, blocks});
}

// The target counter of such a put does not move.
PutFragment without_counter(const auto& body) {
  return {.target_counter = 0,
          .completion_counter = body.completion_counter,
          .total = body.total_length,
          .message_id = body.message_id};
}

}  // namespace

bool is_for_own_memory(const wire::Record& record) {
  switch (record.kind()) {
    case RecordKind::put:
    case RecordKind::short_put: {
      const wire::PutBody body = wire::put_body(record);
      return is_own_memory(body.target_address, whole_length(record)) && is_own_counter(body.target_counter);
    }
    case RecordKind::active_message: {
      const auto body = body_of<wire::ActiveMessageBody>(record);
      return is_own_memory(body.handler, 1) && whole_length(record) <= PTRDIFF_MAX &&
             is_own_counter(body.target_counter);
    }
    case RecordKind::get_request: {
      const auto body = body_of<wire::GetRequestBody>(record);
      return is_own_memory(body.target_address, body.length) && is_own_counter(body.target_counter);
    }
    case RecordKind::rmw_request: {
      const auto body = body_of<wire::RmwRequestBody>(record);
      return is_own_memory(body.target_address, body.width);
    }
    case RecordKind::counter_update:
      return is_own_counter(body_of<wire::CounterUpdateBody>(record).counter);
    case RecordKind::memory_read:
      return is_own_counter(body_of<wire::MemoryReadBody>(record).counter);
    case RecordKind::put_pieces: {
      const auto body = body_of<wire::PutPiecesBody>(record);
      return is_own_layout(record, body) && is_own_counter(body.target_counter);
    }
    case RecordKind::put_strided: {
      const auto body = body_of<wire::PutStridedBody>(record);
      return is_own_layout(body) && is_own_counter(body.target_counter);
    }
    case RecordKind::get_layout:
      return whole_length(record) <= PTRDIFF_MAX && is_own_counter(body_of<wire::GetLayoutBody>(record).target_counter);
    default:
      return true;
  }
}

void NarrowTask::refuse(Peer& from, const wire::Record& record) {
  switch (record.kind()) {
    case RecordKind::get_request:
      return means_.refusals.not_own_memory(from, body_of<wire::GetRequestBody>(record).request_id);
    case RecordKind::get_layout:
      return means_.refusals.not_own_memory(from, body_of<wire::GetLayoutBody>(record).request_id);
    case RecordKind::rmw_request:
      return means_.refusals.not_own_memory(from, body_of<wire::RmwRequestBody>(record).request_id);
    case RecordKind::put_pieces: {
      const auto body = body_of<wire::PutPiecesBody>(record);
      wire::PiecesAndData payload;
      if (!wire::split_pieces(record, body, payload)) return means_.statistics.ghost();
      return bury_part(from, without_counter(body), {payload.data, payload.length});
    }
    case RecordKind::put_strided: {
      const auto body = body_of<wire::PutStridedBody>(record);
      return bury_part(from, without_counter(body), {record.payload, record.header.payload_length});
    }
    case RecordKind::put:
    case RecordKind::short_put:
    case RecordKind::active_message:
      return bury(from, record);
    default:
      return means_.host.report_fault(Fault::not_own_memory, from.index);
  }
}

void NarrowTask::bury(Peer& from, const wire::Record& record) {
  means_.host.report_fault(Fault::not_own_memory, from.index);
  CompletionRun run;
  run.source = from.index;
  run.source_incarnation = from.incarnation;
  run.completion_counter = wire::put_body(record).completion_counter;
  if (!record.is_long()) {
    return means_.completions.data_in_place(&from, ++from.messages_begun, run, CompletionStyle::thread, 0);
  }
  IncomingMessage message{.kind = IncomingPut{}, .total = record.extension.total_length};
  if (record.kind() == RecordKind::active_message) message.kind = IncomingActiveMessage{};
  message.operation()->run = run;
  means_.incoming.begin(from, record, std::move(message));
}

// The data of one record of a put. The other records' data is placed if there is memory for it; the target counter does
// not move, and one report is enough.
void NarrowTask::bury_part(Peer& from, PutFragment put, std::span<const std::byte> data) {
  IncomingMessage* const known = IncomingMessages::find(from, put.message_id);
  const bool told = known != nullptr && known->faulty;
  if (known != nullptr) {
    known->faulty = true;
    if (IncomingOperation* const operation = known->operation()) operation->run.target_counter = 0;
  }
  if (!told) means_.host.report_fault(Fault::not_own_memory, from.index);
  StridedCursor nowhere(0, 0);
  means_.puts.place(from, put, nowhere, data);
  if (IncomingMessage* const begun = IncomingMessages::find(from, put.message_id)) begun->faulty = true;
}

void NarrowTask::end_request_at_self(std::uint64_t origin_counter) {
  means_.counters.lose(origin_counter, CounterLoss::refused);
  means_.host.report_fault(Fault::not_own_memory, means_.self);
}

void NarrowTask::end_message_at_self(const OriginNotice& origin, std::uint64_t completion_counter) {
  means_.host.report_fault(Fault::not_own_memory, means_.self);
  means_.statistics.send_completed();
  means_.origins.origin_is_free(means_.self, origin);
  means_.counters.move(completion_counter, means_.self);
}

}  // namespace openlapi
