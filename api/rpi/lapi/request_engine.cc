#include "api/rpi/lapi/request_engine.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>
#include <utility>

#include "api/rpi/lapi/arrival.h"

namespace openlapi::rpi {
namespace {

constexpr int kMostSteps = 64;  // of the World in a call, while requests end

bool sends(const _req& request) { return request.rq_type != LAM_RQIRECV && request.rq_type != LAM_RQIPROBE; }

// LAM marks communicators that have lost a node.
bool is_dead(const _comm& communicator) { return (communicator.c_flags & (LAM_CLDEAD | LAM_CRDEAD)) != 0; }

int fail(int error) {
  errno = error;
  return LAMERROR;
}

}  // namespace

void RequestEngine::add_process(_proc& process) {
  auto& peer = *peers_.emplace_back(std::make_unique<PeerState>());
  peer.process = &process;
  peer.number = static_cast<Peer>(peers_.size() - 1);
  process.p_rpi = reinterpret_cast<lam_ssi_rpi_proc*>(&peer);
  losses_.reserve(peers_.size());  // each is lost once
}

void RequestEngine::remove_process(_proc& process) {
  PeerState* peer = peer_state_of(&process);
  if (peer == nullptr) return;
  settle();
  receives_.forget(*peer);
  sends_.lost(*peer);
  peer->process = nullptr;
  process.p_rpi = nullptr;
}

void RequestEngine::leave() {
  settle();
  for (const auto& peer : peers_) leave(*peer);
}

void RequestEngine::leave(_proc& process) {
  settle();
  if (PeerState* peer = peer_state_of(&process)) leave(*peer);
}

void RequestEngine::leave(PeerState& peer) {
  if (peer.process == nullptr || peer.is_gone() || peer.number == around_.world().self()) return;
  std::array<std::byte, kMostEnvelope> room;
  const Envelope last{.kind = EnvelopeKind::leaves, .sequence = peer.next_out++};
  around_.world().send_message(peer.number, encode(last, room), {}, {});
  around_.world().expect_no_more(peer.number);
  peer.told_last = true;
}

int RequestEngine::build(MPI_Request request) {
  std::unique_ptr<RequestState> state = stock_.take();
  if (state == nullptr) return fail(ENOMEM);
  state->request = request;
  request->rq_rpi = reinterpret_cast<lam_ssi_rpi_req*>(state.release());
  return 0;
}

int RequestEngine::start(MPI_Request request) {
  RequestState& state = *request_state_of(request);
  some_handled_ = some_handled_ || request->rq_hdlr != nullptr;
  if (request->rq_rank != MPI_ANY_SOURCE && peer_state_of(request->rq_proc) == nullptr) return fail(ESRCH);
  if (request->rq_comm->c_group->g_myrank > kMostRank) return fail(EOVERFLOW);
  try {
    receives_.withdraw(state);  // was cancelled before: what has come since meets it from now on only
    settle();
    if (is_dead(*request->rq_comm)) {
      around_.fail_dead(request);
    } else {
      sends(*request) ? sends_.start(state) : receives_.start(state);
    }
    return 0;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

namespace {

// It may still end by itself.
bool has_hope(const _req& request) { return request.rq_state == LAM_RQSSTART || request.rq_state == LAM_RQSACTIVE; }

// Somebody blocks on it, or its handler has not been called yet: the layer has to see that it is done.
bool is_waited_for(const _req& request) {
  const bool has_to_be_handled = request.rq_hdlr != nullptr && (request.rq_flags & LAM_RQFHDLDONE) == 0;
  return (request.rq_flags & LAM_RQFBLOCK) != 0 || has_to_be_handled;
}

}  // namespace

// LAM says that a node is dead, and not which one: those on this node live, and a request that nobody else has data
// of ends at once. False: it goes on.
bool RequestEngine::end_on_dead_communicator(MPI_Request request) {
  if (!is_dead(*request->rq_comm)) return false;
  RequestState& state = *request_state_of(request);
  if (request->rq_state == LAM_RQSSTART) {
    receives_.withdraw(state);
    around_.fail_dead(request);
    return true;
  }
  const PeerState* peer = state.arrival != nullptr ? state.arrival->from : state.to;
  if (request->rq_state != LAM_RQSACTIVE || peer == nullptr || peer->process == nullptr) return false;
  const _proc* self = peers_[around_.world().self()]->process;
  if (peer->process->p_gps.gps_node == self->p_gps.gps_node) return false;
  around_.world().give_up(peer->number, "LAM says that a node is dead");
  return true;
}

void RequestEngine::fail_hopeless(MPI_Request request) {
  receives_.withdraw(*request_state_of(request));
  around_.fail_dead(request);
}

// This process blocks, and what it blocks on is of MPI_ANY_SOURCE, with nobody there but itself. While another request
// that it blocks on has hope, it may go on when that one ends, and send to itself. False: there are none.
bool RequestEngine::fail_last_hopeless(MPI_Request first) {
  const auto blocks = [](const _req& request) { return (request.rq_flags & LAM_RQFBLOCK) != 0; };
  for (MPI_Request request = first; request != nullptr; request = request->rq_next) {
    if (blocks(*request) && has_hope(*request) && !receives_.is_hopeless(*request)) return false;
  }
  bool some = false;
  for (MPI_Request request = first; request != nullptr; request = request->rq_next) {
    if (!blocks(*request) || !receives_.is_hopeless(*request)) continue;
    fail_hopeless(request);
    some = true;
  }
  return some;
}

namespace {

// Whether it is in LAM's list as long as it is not destroyed: it has not ended, or it serves once and is destroyed when
// it leaves the list. Those of MPI_PROC_NULL are in the list, too, and LAM frees them without saying so.
bool stays(const _req& request) {
  const bool serves_once = (request.rq_marks & (LAM_RQFDYNREQ | LAM_RQFPERSIST)) == LAM_RQFDYNREQ;
  const bool is_told = serves_once && request.rq_rank != MPI_PROC_NULL;
  return has_hope(request) || (request.rq_state == LAM_RQSDONE && is_told);
}

}  // namespace

// LAM adds requests at the end of its list. What else it may have changed, the death of a node and requests that it
// ends itself, is looked for now and then, and before this process sleeps.
MPI_Request RequestEngine::first_new(MPI_Request first) {
  const bool is_known = last_seen_ != nullptr && stays(*last_seen_) && !some_handled_ && !receives_.some_have_left();
  if (first == nullptr || !is_known || ++short_walks_ == kShortWalks) {
    short_walks_ = 0;
    return first;
  }
  return last_seen_->rq_next;
}

// The list in one walk: it may be long. Whether sleeping is allowed as far as it goes, unless something has changed;
// nothing: a request could not be started.
std::optional<bool> RequestEngine::prepare(MPI_Request first, bool block) {
  bool may_sleep = true, some_hopeless = false;
  for (MPI_Request request = block ? first : first_new(first); request != nullptr; request = request->rq_next) {
    ++looked_at_;
    if (request->rq_state == LAM_RQSINIT && !around_.layer().start_request(request)) return std::nullopt;
    if (stays(*request)) last_seen_ = request;
    if (request->rq_state == LAM_RQSDONE) {
      if (is_waited_for(*request)) may_sleep = false;
      continue;
    }
    if (end_on_dead_communicator(request)) may_sleep = false;
    if (!receives_.is_hopeless(*request)) continue;
    some_hopeless = true;
    if (request->rq_rank == MPI_ANY_SOURCE) continue;
    fail_hopeless(request);
    may_sleep = false;
  }
  if (some_hopeless && fail_last_hopeless(first)) may_sleep = false;
  return may_sleep;
}

// While receives ask, all that is here is taken: LAM walks through all requests after each call.
void RequestEngine::move(bool block) {
  bool moved = around_.world().progress(block);
  settle();
  receives_.do_postponed();
  if (block && !moved) receives_.look_for_debugger();
  for (int more = 0; moved && more < kMostSteps && around_.has_changed() && receives_.some_ask(); ++more) {
    moved = around_.world().progress(false);
    settle();
    receives_.do_postponed();
  }
}

void RequestEngine::settle_all() {
  around_.tell_news();
  receives_.match_noted();
  while (!losses_.empty()) {
    const Loss loss = losses_.front();
    lose(*peers_[loss.peer], loss.reason);
    losses_.erase(losses_.begin());
  }
}

void RequestEngine::outside(bool is) {
  if (!is) receives_.do_postponed();
  around_.set_outside(is);
  if (is) receives_.match_noted_outside();
}

int RequestEngine::advance(MPI_Request first, bool block) {
  around_.take_changed();
  settle();
  move(false);
  if (around_.take_changed()) return 1;
  const std::optional<bool> may_sleep = prepare(first, block);
  if (!may_sleep) return LAMERROR;
  if (block && *may_sleep && !around_.has_changed()) move(true);  // what was started may have ended, or ended another
  return around_.take_changed() ? 1 : 0;
}

int RequestEngine::destroy(MPI_Request request) {
  std::unique_ptr<RequestState> state(request_state_of(request));
  around_.tell_news();
  if (last_seen_ == request) last_seen_ = nullptr;
  if (state == nullptr) return 0;
  request->rq_rpi = nullptr;
  receives_.forget(*state);
  if (sends_.forget(*state)) {
    stock_.give_back(std::move(state));
  } else {
    state.release();
  }
  return 0;
}

int RequestEngine::iprobe(MPI_Request request) {
  RequestState& state = *request_state_of(request);
  try {
    if (request->rq_state == LAM_RQSSTART) move(false);
  } catch (...) {
    receives_.withdraw(state);  // it is the caller's, and gone soon
    if (request->rq_state != LAM_RQSDONE) end_in_vain(request);
    throw;
  }
  receives_.withdraw(state);
  if (request->rq_state == LAM_RQSDONE) {
    // For an error of ours LAM has a class of its own. What is found is no message then: to receive it says why.
    if (request->rq_status.MPI_ERROR != MPI_SUCCESS) {
      lam_ssi_rpi_fill_mpi_status(request, request->rq_rank, request->rq_tag, 0);
    }
    return 1;
  }
  end_in_vain(request);
  return 0;
}

void RequestEngine::end_in_vain(MPI_Request probe) {
  probe->rq_state = LAM_RQSINIT;
  around_.layer().request_ended();
}

bool RequestEngine::drain() {
  settle();
  const bool moved = around_.world().progress(false);
  settle();
  receives_.do_postponed();
  return moved;
}

const PeerState* RequestEngine::gone() const {
  const auto is_gone = [](const auto& peer) { return peer->process != nullptr && peer->is_gone(); };
  const auto found = std::ranges::find_if(peers_, is_gone);
  return found == peers_.end() ? nullptr : found->get();
}

Landing RequestEngine::arriving(const IncomingMessage& message) {
  if (message.from >= peers_.size() || peers_[message.from]->process == nullptr) {
    ++refused_;
    return {};
  }
  PeerState& from = *peers_[message.from];
  const auto envelope = decode_envelope(message.header);
  if (!envelope) return refuse(from, "is no envelope of this version of the rpi module 'lapi'");
  if (envelope->is_answer() || envelope->kind == EnvelopeKind::leaves) {
    const bool is_last = envelope->kind == EnvelopeKind::leaves;
    const bool is_due = is_last ? receives_.leaving(from, *envelope) : sends_.answered(from, *envelope);
    return message.length == 0 && is_due ? Landing{} : refuse(from, "answers nothing that waits, or comes twice");
  }
  const Landing landing = receives_.arriving(from, *envelope, message.length);
  if (landing.again) {
    tell_once(
        from.told_of_memory, from,
        "has sent a message for which there is no memory now: it is tried again if a copy can be kept until then, "
        "and else the process is lost");
  } else if (landing.when_done.function == nullptr) {
    return refuse(from, "is too long, comes twice or is far ahead of others");
  }
  return landing;
}

// Whoever waits for it waits for ever: that is said, once for a peer.
Landing RequestEngine::refuse(PeerState& from, const char* why) {
  ++refused_;
  std::array<char, 160> text;
  std::snprintf(text.data(), text.size(), "has sent something that is thrown away, because it %s", why);
  tell_once(from.told_of_refusal, from, text.data());
  return {};
}

void RequestEngine::tell_once(bool& told, const PeerState& peer, const char* what) {
  if (!std::exchange(told, true)) around_.layer().tell(*peer.process, what);
}

void RequestEngine::lost(Peer peer, const char* reason) {
  if (peer >= peers_.size()) return;
  if (around_.is_outside() || is_unsettled()) return losses_.push_back({peer, reason});
  try {
    lose(*peers_[peer], reason);
  } catch (const std::bad_alloc&) {
    losses_.push_back({peer, reason});  // there is room for it
  }
}

// Throws std::bad_alloc, and goes on when it is called again.
void RequestEngine::lose(PeerState& peer, const char* reason) {
  if (peer.process == nullptr) return;
  const bool is_told = std::exchange(peer.lost, !peer.left);
  if (peer.lost && !is_told && !peer.told_last) {
    std::array<char, 160> text;
    std::snprintf(text.data(), text.size(), "is lost: %s", reason);
    around_.layer().tell(*peer.process, text.data());
  }
  sends_.lost(peer);
  receives_.lost(peer);
}

}  // namespace openlapi::rpi
