// Messages that a 32-bit task cannot take: for addresses that it cannot have, or longer than its memory. The program of
// the other task is wrong; this one hears of it through its error handler, and nothing is written. Nobody waits for
// what was refused. And gets for which there is no memory.
#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/base/own_memory.h"
#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/endpoint/endpoint_delivery.h"
#include "dataplane/layout/vector_cursor.h"

namespace openlapi {

using wire::body_of;
using wire::RecordKind;

namespace {

bool is_own_counter(std::uint64_t address) { return is_own_memory(address, sizeof(int)); }

std::uint64_t whole_length(const wire::Record& record) {
  return record.is_long() ? record.extension.total_length : record.header.payload_length;
}

// What wraps is refused where it is decoded.
bool is_own_layout(const wire::StridedLayout& layout) {
  if (layout.count == 0 || layout.block == 0 || wire::total_of(layout) == UINT64_MAX) return true;
  return is_own_memory(layout.base, layout.stride * (layout.count - 1) + layout.block);
}

bool is_own_layout(const std::byte* pieces, std::uint64_t count) {
  wire::LayoutPiece piece;
  for (; count != 0; --count, pieces += sizeof(piece)) {
    std::memcpy(&piece, pieces, sizeof(piece));
    if (piece.length != 0 && !is_own_memory(piece.address, piece.length)) return false;
  }
  return true;
}

bool is_own_layout(const wire::Record& record, const wire::PutPiecesBody& body) {
  wire::PiecesAndData payload;
  return !wire::split_pieces(record, body, payload) || is_own_layout(payload.pieces, payload.count);
}

bool is_own_layout(LayoutCursor& cursor) {
  wire::StridedLayout layout;
  if (cursor.as_strided(layout)) return is_own_layout(layout);
  std::array<LayoutPiece, 16> pieces;
  bool own = true;
  cursor.seek(0);
  for (std::size_t count = 1; own && count != 0;) {
    count = cursor.next_pieces(pieces, UINT64_MAX);
    own = std::all_of(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(count),
                      [](const LayoutPiece& piece) { return is_own_memory(piece.address, piece.length); });
  }
  cursor.seek(0);
  return own;
}

bool is_own_layout(const wire::PutStridedBody& body) {
  if (body.block == 0) return true;
  const std::uint64_t blocks = body.total_length / body.block + (body.total_length % body.block != 0 ? 1 : 0);
  return is_own_layout(wire::StridedLayout{body.base, body.block, body.stride, blocks});
}

}  // namespace

bool EndpointCore::is_own_layout(const wire::LayoutDescription& layout) {
  if (layout.kind == wire::LayoutKind::strided) return openlapi::is_own_layout(layout.strided);
  return openlapi::is_own_layout(layout.pieces, layout.count);
}

bool EndpointCore::is_for_own_memory(const wire::Record& record) {
  switch (record.kind()) {
    case RecordKind::put: {
      const auto body = body_of<wire::PutBody>(record);
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
      return openlapi::is_own_layout(record, body) && is_own_counter(body.target_counter);
    }
    case RecordKind::put_strided: {
      const auto body = body_of<wire::PutStridedBody>(record);
      return openlapi::is_own_layout(body) && is_own_counter(body.target_counter);
    }
    case RecordKind::get_layout:
      return whole_length(record) <= PTRDIFF_MAX && is_own_counter(body_of<wire::GetLayoutBody>(record).target_counter);
    default:
      return true;
  }
}

// A put or active message is buried: fences and the origin's completion counter do not wait for it. A get or
// read-modify-write is answered so that its origin gives it up.
void EndpointCore::refuse(Peer& from, const wire::Record& record) {
  switch (record.kind()) {
    case RecordKind::get_request:
      return refuse_request(from, body_of<wire::GetRequestBody>(record).request_id);
    case RecordKind::get_layout:
      return refuse_request(from, body_of<wire::GetLayoutBody>(record).request_id);
    case RecordKind::rmw_request:
      return refuse_request(from, body_of<wire::RmwRequestBody>(record).request_id);
    case RecordKind::put_pieces: {
      const auto body = body_of<wire::PutPiecesBody>(record);
      wire::PiecesAndData payload;
      if (!wire::split_pieces(record, body, payload)) return ghost();
      return bury_part(from, {0, body.completion_counter, body.total_length, body.message_id},
                       {payload.data, payload.length});
    }
    case RecordKind::put_strided: {
      const auto body = body_of<wire::PutStridedBody>(record);
      return bury_part(from, {0, body.completion_counter, body.total_length, body.message_id},
                       {record.payload, record.header.payload_length});
    }
    case RecordKind::put:
    case RecordKind::active_message:
      break;
    default:
      return host_.report_fault(Fault::not_own_memory, from.index);
  }
  host_.report_fault(Fault::not_own_memory, from.index);
  CompletionRun run;
  run.source = from.index;
  run.source_life = from.life;
  run.completion_counter = body_of<wire::PutBody>(record).completion_counter;
  if (!record.is_long()) return data_in_place(&from, ++from.messages_begun, run, CompletionStyle::thread, 0);
  IncomingMessage message;
  message.kind = record.kind();
  message.total = record.extension.total_length;
  message.run = run;
  begin_incoming(from, record, std::move(message));
}

// The data of one record of a put. The other records' data is placed if there is memory for it; the target counter does
// not move, and one report is enough.
void EndpointCore::bury_part(Peer& from, PutFragment put, std::span<const std::byte> data) {
  const auto known = from.incoming.find(put.message_id);
  const bool told = known != from.incoming.end() && known->second.faulty;
  if (known != from.incoming.end()) {
    known->second.faulty = true;
    known->second.run.target_counter = 0;
  }
  if (!told) host_.report_fault(Fault::not_own_memory, from.index);
  StridedCursor nowhere(0, 0);
  place_put(from, put, nowhere, data);
  if (const auto begun = from.incoming.find(put.message_id); begun != from.incoming.end()) begun->second.faulty = true;
}

void EndpointCore::refuse_request(Peer& from, std::uint32_t request_id) {
  host_.report_fault(Fault::not_own_memory, from.index);
  answer(from, RecordKind::request_refused,
         wire::RequestRefusedBody{request_id, wire::RefusalReason::not_own_memory});
}

// Nothing of its answer has been sent. The record is short: there may be memory for it all the same.
void EndpointCore::no_memory_for(Peer& from, std::uint32_t request_id) {
  host_.report_fault(Fault::out_of_memory, from.index);
  answer(from, RecordKind::request_refused, wire::RequestRefusedBody{request_id, wire::RefusalReason::out_of_memory});
}

// The origin counter will not move: who waits for it is told. Fences do not wait any longer.
void EndpointCore::on_request_refused(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::RequestRefusedBody>(record);
  if (body.reason == wire::RefusalReason::begins_anew) {
    return from.is_direct() ? on_beginning(from, body.request_id) : ghost();
  }
  const PendingRequest* request = requests_.find(body.request_id);
  if (request == nullptr || request->peer != from.index) return ghost();
  if (request->pull != 0 || request->read) return ghost();  // it has been answered, and our memory is written to
  const bool no_memory = body.reason == wire::RefusalReason::out_of_memory;
  lost_counters_.add(request->origin_counter, no_memory ? CounterLoss::no_memory : CounterLoss::refused);
  request_done(from, body.request_id, request->list_bytes);
  host_.report_fault(no_memory ? Fault::target_out_of_memory : Fault::refused, from.index);
}

bool EndpointCore::refuse_own(const PutRequest& request) {
  if (is_own_memory(request.target_address, request.length) && is_own_counter(request.target_counter)) return false;
  end_own_message({request.origin_counter, request.send_handler}, request.completion_counter);
  return true;
}

bool EndpointCore::refuse_own(const GetRequest& request) {
  if (is_own_memory(request.target_address, request.length) && is_own_counter(request.target_counter)) return false;
  end_own_request(request.origin_counter);
  return true;
}

bool EndpointCore::refuse_own(const RmwRequest& request) {
  if (is_own_memory(request.target_address, request.width)) return false;
  end_own_request(request.origin_counter);
  return true;
}

bool EndpointCore::refuse_own(const ActiveMessageRequest& request) {
  if (is_own_memory(request.handler, 1) && is_own_counter(request.target_counter)) return false;
  end_own_message({request.origin_counter, request.send_handler}, request.completion_counter);
  return true;
}

bool EndpointCore::refuse_own(const LayoutPutRequest& request) {
  if (openlapi::is_own_layout(*request.destination) && is_own_counter(request.target_counter)) return false;
  end_own_message({request.origin_counter, request.send_handler}, request.completion_counter);
  return true;
}

bool EndpointCore::refuse_own(const LayoutGetRequest& request) {
  if (openlapi::is_own_layout(*request.source) && is_own_counter(request.target_counter)) return false;
  end_own_request(request.origin_counter);
  return true;
}

bool EndpointCore::refuse_own(const LayoutMessageRequest& request) {
  if (is_own_memory(request.handler, 1) && is_own_counter(request.target_counter)) return false;
  end_own_message({request.origin_counter, request.send_handler}, request.completion_counter);
  return true;
}

void EndpointCore::end_own_request(std::uint64_t origin_counter) {
  lost_counters_.add(origin_counter, CounterLoss::refused);
  host_.report_fault(Fault::not_own_memory, config_.self);
}

void EndpointCore::end_own_message(const OriginNotice& origin, std::uint64_t completion_counter) {
  host_.report_fault(Fault::not_own_memory, config_.self);
  ++sends_completed_;
  origin_is_free(config_.self, origin);
  move_counter(completion_counter, config_.self);
}

}  // namespace openlapi
