#include "dataplane/operation/read_modify_writes.h"

#include <cstring>

#include "dataplane/operation/read_modify_write.h"

namespace openlapi {

using wire::body_of;
using wire::RecordKind;

Submit ReadModifyWrites::begin(Peer& peer, const RmwRequest& request) {
  if (means_.direct.read_modify_write(peer, request)) [[unlikely]]
    return Submit::accepted;
  if (means_.admission.requests_exhausted(peer)) return Submit::busy;
  const std::uint32_t id = means_.requests.add(peer, {.peer = request.target,
                                                      .buffer = request.previous,
                                                      .length = request.width,
                                                      .origin_counter = request.origin_counter});
  means_.outbox.post_record(peer, RecordKind::rmw_request,
                            wire::RmwRequestBody{.operation = static_cast<std::uint8_t>(request.operation),
                                                 .width = request.width,
                                                 .request_id = id,
                                                 .target_address = request.target_address,
                                                 .input = request.input,
                                                 .swap_value = request.swap_value});
  means_.origins.origin_is_free(request.target, {0, request.send_handler});
  return Submit::accepted;
}

void ReadModifyWrites::on_request(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::RmwRequestBody>(record);
  if (!rmw_is_valid(body.operation, body.width)) return means_.statistics.ghost();
  note_message(from, body.target_address, body.width);
  const std::uint64_t previous = apply_rmw(static_cast<wire::RmwOperation>(body.operation), body.width,
                                           body.target_address, body.input, body.swap_value);
  means_.outbox.answer(from, RecordKind::rmw_reply,
                       wire::RmwReplyBody{.request_id = body.request_id, .previous = previous});
}

void ReadModifyWrites::on_reply(Peer& from, const wire::Record& record) {
  const auto body = body_of<wire::RmwReplyBody>(record);
  PendingRequest* request = means_.requests.find(body.request_id);
  if (request == nullptr || request->is_get || request->peer != from.index) return means_.statistics.ghost();
  if (request->buffer != nullptr) std::memcpy(request->buffer, &body.previous, request->length);
  means_.requests.complete(body.request_id, from);
}

Submit ReadModifyWrites::begin_at_self(const RmwRequest& request) {
  const std::uint64_t previous =
      apply_rmw(request.operation, request.width, request.target_address, request.input, request.swap_value);
  if (request.previous != nullptr) std::memcpy(request.previous, &previous, request.width);
  means_.statistics.send_completed();
  means_.origins.origin_is_free(means_.self, {request.origin_counter, request.send_handler});
  return Submit::accepted;
}

}  // namespace openlapi
