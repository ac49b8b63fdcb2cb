#include "api/rpi/lapi/send_requests.h"

#include <array>
#include <memory>
#include <vector>

namespace openlapi::rpi {

SendRequests::~SendRequests() {
  while (RequestState* send = destroyed_.first()) {
    destroyed_.remove(*send);
    const std::unique_ptr<RequestState> last(send);
  }
}

// A message to oneself is short however long it is: it is kept until it is received, and a process that sends to itself
// before it receives goes on. Only a synchronous one waits anyhow.
Envelope SendRequests::envelope_for(RequestState& send) {
  const _req& request = *send.request;
  const bool synchronous = request.rq_type == LAM_RQISSEND;
  const auto length = static_cast<std::size_t>(request.rq_packsize);
  const bool is_long = length > most_short_ && (synchronous || send.to->number != around_.world().self());
  Envelope envelope;
  envelope.sequence = send.to->next_out;
  envelope.context = request.rq_cid;
  envelope.tag = request.rq_tag;
  envelope.rank = request.rq_comm->c_group->g_myrank;
  envelope.number = request.rq_seq;
  if (is_long) {
    envelope.kind = EnvelopeKind::long_message;
    envelope.address = reinterpret_cast<std::uintptr_t>(request.rq_packbuf);
    envelope.length = length;
    send.answer = EnvelopeKind::fetched;
  } else if (synchronous) {
    envelope.kind = EnvelopeKind::synchronous;
    send.answer = EnvelopeKind::matched;
  } else {
    return envelope;
  }
  send.name = envelope.request = ++last_name_;
  waiting_.emplace(send.name, &send);
  return envelope;
}

void SendRequests::start(RequestState& send) {
  MPI_Request request = send.request;
  send.owner = this;
  send.to = peer_state_of(request->rq_proc);
  send.name = 0;
  send.with_world = send.failed = false;
  if (send.to->is_gone()) return around_.fail_dead(request);
  const Envelope envelope = envelope_for(send);
  around_.activate(request);
  try {
    send_off(send, envelope);
  } catch (...) {
    waiting_.erase(std::exchange(send.name, 0));
    send.with_world = false;
    request->rq_state = LAM_RQSSTART;
    throw;
  }
}

// What was not sent has no number: its successors would wait for it.
void SendRequests::send_off(RequestState& send, const Envelope& envelope) {
  const _req& request = *send.request;
  PeerState& to = *send.to;
  std::array<std::byte, kMostEnvelope> room;
  const auto header = encode(envelope, room);
  if (envelope.kind == EnvelopeKind::long_message) {
    around_.world().send_message(to.number, header, {}, {});
  } else {
    send.with_world = true;
    const std::span data(reinterpret_cast<const std::byte*>(request.rq_packbuf),
                         static_cast<std::size_t>(request.rq_packsize));
    around_.world().send_message(to.number, header, data, {&SendRequests::when_sent, &send});
  }
  ++to.next_out;
}

void SendRequests::when_sent(void* argument, Outcome outcome) {
  RequestState& send = *static_cast<RequestState*>(argument);
  send.owner->sent(send, outcome);
}

void SendRequests::sent(RequestState& send, Outcome outcome) {
  send.with_world = false;
  if (send.destroyed) {
    destroyed_.remove(send);
    const std::unique_ptr<RequestState> last(&send);
    return;
  }
  if (outcome == Outcome::peer_lost) {
    send.failed = true;
    waiting_.erase(std::exchange(send.name, 0));
  }
  end_if_done(send);
}

void SendRequests::end_if_done(RequestState& send) {
  if (send.with_world || send.name != 0) return;
  send.failed ? around_.fail_dead(send.request) : around_.finish(send.request);
}

bool SendRequests::forget(RequestState& send) {
  waiting_.erase(std::exchange(send.name, 0));
  send.destroyed = send.with_world;
  if (send.destroyed) destroyed_.push_back(send);
  return !send.with_world;
}

bool SendRequests::answered(const PeerState& from, const Envelope& answer) {
  const auto found = waiting_.find(answer.request);
  if (found == waiting_.end() || found->second->to != &from || found->second->answer != answer.kind) return false;
  RequestState& send = *found->second;
  waiting_.erase(found);
  send.name = 0;
  end_if_done(send);
  return true;
}

void SendRequests::lost(const PeerState& peer) {
  std::vector<RequestState*> ended;
  for (const auto& [name, send] : waiting_) {
    if (send->to == &peer) ended.push_back(send);
  }
  for (RequestState* send : ended) {
    waiting_.erase(std::exchange(send->name, 0));
    send->failed = true;
    end_if_done(*send);
  }
}

}  // namespace openlapi::rpi
