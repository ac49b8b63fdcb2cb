#include "dataplane/sync/fence_answers.h"

namespace openlapi {

using wire::RecordKind;

void FenceAnswers::on_request(Peer& from, const wire::Record& record) {
  const auto body = wire::body_of<wire::FenceBody>(record);
  const std::uint64_t unfinished = from.messages_begun - from.messages_finished;
  if (unfinished == 0) return outbox_.answer(from, RecordKind::fence_reply, body);
  if (!dropped_.may_keep(from, 0)) return;
  from.fence_requests.push_back({body.count, body.ticket, from.messages_begun, unfinished, {from.kept, 0}});
}

void FenceAnswers::answer_waiting(Peer& from, std::uint64_t number) {
  std::erase_if(from.fence_requests, [&](FenceRequest& request) {
    if (request.newest < number || --request.unfinished != 0) return false;
    outbox_.answer(from, RecordKind::fence_reply, wire::FenceBody{request.count, request.ticket});
    return true;
  });
}

}  // namespace openlapi
