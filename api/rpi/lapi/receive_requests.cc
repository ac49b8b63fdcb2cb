#include "api/rpi/lapi/receive_requests.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace openlapi::rpi {
namespace {

// A message further ahead of its predecessors is none of ours.
constexpr std::uint32_t kMostAhead = 1U << 30;

std::uint64_t room_of(const _req& request) { return static_cast<std::uint64_t>(std::max(request.rq_packsize, 0)); }

bool waits(const _req& request) { return request.rq_state == LAM_RQSSTART && (request.rq_flags & LAM_RQFCANCEL) == 0; }

MetMessage told_of(const Arrival& arrival, std::uint64_t length) {
  return {.from = arrival.from->process,
          .rank = arrival.envelope.rank,
          .tag = arrival.envelope.tag,
          .number = arrival.envelope.number,
          .length = static_cast<int>(length)};
}

bool is_probe(const RequestState& state) { return state.request->rq_type == LAM_RQIPROBE; }

// LAM may end such a receive itself.
bool is_one_sided(const RequestState& state) {
  return (state.request->rq_marks & (LAM_RQFOSORIG | LAM_RQFOSTARG)) != 0;
}

std::span<_proc* const> possible_senders(const _comm& communicator) {
  const bool remote = (communicator.c_flags & LAM_CINTER) != 0;
  const _group* group = remote ? communicator.c_rgroup : communicator.c_group;
  return {group->g_procs, static_cast<std::size_t>(group->g_nprocs)};
}

}  // namespace

// ---- Requests ----

void ReceiveRequests::start(RequestState& receive) {
  _req& request = *receive.request;
  withdraw(receive);
  receive.arrival = nullptr;
  receive.wanted = {request.rq_cid, request.rq_rank, request.rq_tag};
  if (auto* arrival = static_cast<Arrival*>(unasked_.find(receive.wanted))) {
    if (request.rq_type == LAM_RQIPROBE) {
      around_.tell_message(&request, told_of(*arrival, arrival->length));
      return around_.finish(&request);
    }
    remove_unasked(*arrival);
    meet(*arrival, receive);
    if (arrival->complete) deliver(*arrival);
    return;
  }
  if (can_come_from_the_dead(request)) return around_.fail_dead(&request);
  posted_.post(receive);
  asking_.push_back(receive);
}

void ReceiveRequests::withdraw(RequestState& receive) {
  if (receive.order == 0) return;
  posted_.take_back(receive);
  asking_.remove(receive);
}

void ReceiveRequests::forget(RequestState& receive) {
  withdraw(receive);
  if (receive.arrival != nullptr) receive.arrival->receive = nullptr;
}

// MPI_ANY_SOURCE may be the dead one: waiting on would be for ever if it is.
bool ReceiveRequests::can_come_from_the_dead(const _req& request) const {
  if (!some_lost_) return false;
  const auto is_dead = [](const _proc* process) {
    const PeerState* state = peer_state_of(process);
    return state != nullptr && state->lost;
  };
  if (request.rq_rank != MPI_ANY_SOURCE) return is_dead(request.rq_proc);
  return std::ranges::any_of(possible_senders(*request.rq_comm), is_dead);
}

bool ReceiveRequests::is_hopeless(const _req& request) const {
  if (!some_left_ || !waits(request)) return false;
  if (request.rq_rank == MPI_ANY_SOURCE) return !has_others(request);
  const PeerState* state = peer_state_of(request.rq_proc);
  return state != nullptr && state->left;
}

// Whether a process other than this one could send it.
bool ReceiveRequests::has_others(const _req& request) const {
  return std::ranges::any_of(possible_senders(*request.rq_comm), [&](const _proc* process) {
    const PeerState* state = peer_state_of(process);
    return state != nullptr && !state->is_gone() && state->number != around_.world().self();
  });
}

// ---- Messages that come ----

Landing ReceiveRequests::arriving(PeerState& from, const Envelope& envelope, std::uint64_t length) {
  const std::uint32_t ahead = envelope.sequence - from.next_in;
  const bool is_long = envelope.kind == EnvelopeKind::long_message;
  if (ahead > kMostAhead || from.overtakers.contains(envelope.sequence)) return {};
  if (length > INT32_MAX || (is_long && length != 0)) return {};
  Arrival* made = nullptr;
  try {
    made = &make(from, envelope, length);
    const Landing landing = ahead > 0 ? keep_overtaker(*made) : accept(*made);
    ++moving_;
    if (ahead == 0) follow(from);
    look_whether_left(from);
    return landing;
  } catch (const std::bad_alloc&) {
    if (made != nullptr) remove(*made);
    return {.again = true};
  }
}

bool ReceiveRequests::leaving(PeerState& from, const Envelope& envelope) {
  if (envelope.sequence - from.next_in > kMostAhead || from.last_in) return false;
  from.last_in = envelope.sequence;
  look_whether_left(from);
  return true;
}

void ReceiveRequests::look_whether_left(PeerState& from) {
  if (from.last_in != from.next_in || from.left) return;
  from.left = some_left_ = true;
  around_.world().has_left(from.number);
}

Arrival& ReceiveRequests::make(PeerState& from, const Envelope& envelope, std::uint64_t length) {
  std::unique_ptr<Arrival> taken = stock_.take();
  if (taken == nullptr) throw std::bad_alloc();
  Arrival& made = *taken.release();
  all_.push_back(made);
  made.owner = this;
  made.from = &from;
  made.envelope = envelope;
  made.wanted = {envelope.context, envelope.rank, envelope.tag};
  made.length = made.is_long() ? envelope.length : length;
  return made;
}

void ReceiveRequests::remove(Arrival& arrival) {
  remove_unasked(arrival);
  if (arrival.noted) noted_.remove(arrival);
  all_.remove(arrival);
  stock_.give_back(std::unique_ptr<Arrival>(&arrival));
}

Landing ReceiveRequests::keep_overtaker(Arrival& arrival) {
  const Landing landing = keep(arrival);
  arrival.from->overtakers.emplace(arrival.envelope.sequence, &arrival);
  ++overtakers_;
  return landing;
}

// The next of its process: the receive that it meets says where its data go. Nothing has changed when there is no
// memory.
Landing ReceiveRequests::accept(Arrival& arrival) {
  if (has_to_wait(arrival)) {
    const Landing landing = keep(arrival);
    note(arrival);
    ++arrival.from->next_in;
    return landing;
  }
  RequestState* receive = find_asking(arrival);
  const bool fits = receive != nullptr && !arrival.is_long() && arrival.length <= room_of(*receive->request);
  const Landing landing =
      fits ? Landing{receive->request->rq_packbuf, {&ReceiveRequests::when_complete, &arrival}} : keep(arrival);
  receive == nullptr ? add_unasked(arrival) : meet(arrival, *receive);
  ++arrival.from->next_in;
  return landing;
}

// For the program's next call. Outside of calls probes are not answered, and whether a receive has been cancelled is
// not known unless no call can begin. What came first is matched first.
bool ReceiveRequests::has_to_wait(const Arrival& arrival) {
  if (!noted_.empty()) return true;
  if (!around_.is_outside()) return false;
  const auto* first = static_cast<const RequestState*>(posted_.find(arrival.wanted));
  if (first == nullptr) return false;
  const bool may_be_ended = !matches_outside_ || is_probe(*first) || is_one_sided(*first);
  return may_be_ended && !around_.hold_calls();
}

void ReceiveRequests::note(Arrival& arrival) {
  noted_.push_back(arrival);
  arrival.noted = true;
}

void ReceiveRequests::match_noted() {
  while (Arrival* arrival = noted_.first()) {
    RequestState* receive = find_asking(*arrival);
    receive == nullptr ? add_unasked(*arrival) : meet(*arrival, *receive);
    noted_.remove(*arrival);
    arrival->noted = false;
    if (receive != nullptr && arrival->complete) postponed_.push_back(*arrival);
  }
  do_postponed();
}

void ReceiveRequests::match_noted_outside() {
  if (noted_.empty() || !around_.hold_calls()) return;
  try {
    match_noted();
  } catch (const std::bad_alloc&) {
    return;  // the next call, or the next time
  }
}

Landing ReceiveRequests::keep(Arrival& arrival) {
  const bool has_data = !arrival.is_long() && arrival.length > 0;
  if (has_data) arrival.kept = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(arrival.length));
  return {arrival.kept.get(), {&ReceiveRequests::when_complete, &arrival}};
}

// Those that had overtaken what was missing until now. Without memory they stay, to be gone on with later.
void ReceiveRequests::follow(PeerState& peer) {
  while (!peer.stuck && !peer.overtakers.empty()) {
    const auto next = peer.overtakers.find(peer.next_in);
    if (next == peer.overtakers.end()) return;
    Arrival& arrival = *next->second;
    if (!follow(arrival)) {
      peer.stuck = true;
      stuck_.push_back(peer);
      return;
    }
    peer.overtakers.erase(next);
    --overtakers_;
    ++peer.next_in;
  }
}

// False: there is no memory.
bool ReceiveRequests::follow(Arrival& arrival) {
  if (has_to_wait(arrival)) {
    note(arrival);
    return true;
  }
  RequestState* receive = find_asking(arrival);
  try {
    receive == nullptr ? add_unasked(arrival) : meet(arrival, *receive);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (receive != nullptr && arrival.complete) postponed_.push_back(arrival);
  return true;
}

// Of what nobody will receive; the World may still be bringing its data.
void ReceiveRequests::ignore(Arrival& arrival) {
  remove_unasked(arrival);
  arrival.deliverable = true;
  if (arrival.complete) remove(arrival);
}

// The first receive that takes it, still posted. Probes before it are answered; what the MPI layer has cancelled is
// passed by. Outside of calls that are not held off has_to_wait() has looked at it.
RequestState* ReceiveRequests::find_asking(const Arrival& arrival) {
  while (Posted* first = posted_.find(arrival.wanted)) {
    RequestState& state = static_cast<RequestState&>(*first);
    if (around_.is_outside() && !around_.holds_calls()) return &state;
    const bool is_waiting = waits(*state.request);
    if (is_waiting && state.request->rq_type != LAM_RQIPROBE) return &state;
    withdraw(state);
    if (!is_waiting) continue;
    around_.tell_message(state.request, told_of(arrival, arrival.length));
    around_.finish(state.request);
  }
  return nullptr;
}

void ReceiveRequests::add_unasked(Arrival& arrival) {
  unasked_.add(arrival);
  all_unasked_.push_back(arrival);
  shown_.added(arrival);
}

void ReceiveRequests::remove_unasked(Arrival& arrival) {
  if (!arrival.listed) return;
  shown_.removed(arrival);
  unasked_.remove(arrival);
  all_unasked_.remove(arrival);
}

void ReceiveRequests::meet(Arrival& arrival, RequestState& receive) {
  _req& request = *receive.request;
  withdraw(receive);
  arrival.receive = &receive;
  arrival.deliverable = true;
  receive.arrival = &arrival;
  MetMessage told = told_of(arrival, std::min(arrival.length, room_of(request)));
  told.truncated = arrival.length > room_of(request);
  around_.meet(&request, told);
}

void ReceiveRequests::when_complete(void* argument, Outcome outcome) {
  Arrival& arrival = *static_cast<Arrival*>(argument);
  ReceiveRequests& owner = *arrival.owner;
  owner.complete(arrival, outcome);
  owner.do_postponed();
}

void ReceiveRequests::complete(Arrival& arrival, Outcome outcome) {
  --moving_;
  arrival.complete = true;
  if (outcome == Outcome::peer_lost) {
    if (!arrival.deliverable) return drop(arrival);
    return end(arrival, outcome);
  }
  if (arrival.deliverable) deliver(arrival);
}

// What no receive has met and none will.
void ReceiveRequests::drop(Arrival& arrival) {
  if (!arrival.listed && arrival.from->overtakers.erase(arrival.envelope.sequence) > 0) --overtakers_;
  remove(arrival);
}

// It has met a receive, and what came with the envelope is here.
void ReceiveRequests::deliver(Arrival& arrival) {
  if (arrival.delivered) return end(arrival, Outcome::done);
  const _req* request = arrival.receive == nullptr ? nullptr : arrival.receive->request;
  const std::uint64_t length = request == nullptr ? 0 : std::min(arrival.length, room_of(*request));
  if (arrival.is_long() && length > 0) return read(arrival, static_cast<std::size_t>(length));
  if (arrival.kept != nullptr && length > 0) std::memcpy(request->rq_packbuf, arrival.kept.get(), length);
  end(arrival, Outcome::done);
}

void ReceiveRequests::read(Arrival& arrival, std::size_t length) {
  auto* const room = reinterpret_cast<std::byte*>(arrival.receive->request->rq_packbuf);
  ++moving_;
  try {
    around_.world().get(arrival.from->number, arrival.envelope.address, {room, length},
                        {&ReceiveRequests::when_read, &arrival});
  } catch (const std::bad_alloc&) {
    --moving_;
    postpone_for_memory(arrival);
  }
}

void ReceiveRequests::postpone_for_memory(Arrival& arrival) {
  short_of_memory_ = true;
  postponed_.push_back(arrival);
}

void ReceiveRequests::when_read(void* argument, Outcome outcome) {
  Arrival& arrival = *static_cast<Arrival*>(argument);
  ReceiveRequests& owner = *arrival.owner;
  --owner.moving_;
  owner.end(arrival, outcome);
  owner.do_postponed();
}

void ReceiveRequests::end(Arrival& arrival, Outcome outcome) {
  arrival.delivered = outcome == Outcome::done;
  try {
    if (arrival.delivered && arrival.is_long()) answer(arrival, EnvelopeKind::fetched);
    if (arrival.delivered && arrival.envelope.kind == EnvelopeKind::synchronous) answer(arrival, EnvelopeKind::matched);
  } catch (const std::bad_alloc&) {
    return postpone_for_memory(arrival);
  }
  RequestState* receive = arrival.receive;
  remove(arrival);
  if (receive == nullptr) return;
  receive->arrival = nullptr;
  outcome == Outcome::done ? around_.finish(receive->request) : around_.fail_dead(receive->request);
}

void ReceiveRequests::answer(const Arrival& arrival, EnvelopeKind kind) {
  Envelope envelope;
  envelope.kind = kind;
  envelope.request = arrival.envelope.request;
  std::array<std::byte, kMostEnvelope> room;
  around_.world().send_message(arrival.from->number, encode(envelope, room), {}, {});
}

void ReceiveRequests::do_all_postponed() {
  short_of_memory_ = false;
  while (Arrival* arrival = short_of_memory_ ? nullptr : postponed_.first()) {
    postponed_.remove(*arrival);
    deliver(*arrival);
  }
  if (PeerState* peer = stuck_.first()) {
    stuck_.remove(*peer);
    peer->stuck = false;
    follow(*peer);
    look_whether_left(*peer);
  }
}

// ---- Ends ----

void ReceiveRequests::lost(PeerState& peer) {
  some_lost_ = some_lost_ || peer.lost;
  fail_asking([this](const _req& request) { return can_come_from_the_dead(request); });
  std::vector<Arrival*> unreachable;
  for (const auto& [sequence, arrival] : peer.overtakers) {
    if (arrival->complete) unreachable.push_back(arrival);
  }
  for (Arrival* each = all_unasked_.first(); each != nullptr; each = all_unasked_.next(*each)) {
    if (each->from == &peer && each->is_long() && each->complete) unreachable.push_back(each);
  }
  for (Arrival* arrival : unreachable) drop(*arrival);
}

template <class Condition>
void ReceiveRequests::fail_asking(Condition&& in_vain) {
  for (RequestState* next = asking_.first(); next != nullptr;) {
    RequestState& state = *std::exchange(next, asking_.next(*next));
    if (!in_vain(*state.request)) continue;
    withdraw(state);
    if (waits(*state.request)) around_.fail_dead(state.request);
  }
}

void ReceiveRequests::forget(PeerState& peer) {
  some_left_ = true;
  fail_asking([&](const _req& request) {
    return request.rq_rank != MPI_ANY_SOURCE && peer_state_of(request.rq_proc) == &peer;
  });
  if (std::exchange(peer.stuck, false)) stuck_.remove(peer);
  for (const auto& [sequence, arrival] : std::exchange(peer.overtakers, {})) {
    --overtakers_;
    ignore(*arrival);
  }
  for (Arrival* next = all_unasked_.first(); next != nullptr;) {
    Arrival& arrival = *std::exchange(next, all_unasked_.next(*next));
    if (arrival.from == &peer) ignore(arrival);
  }
}

ReceiveRequests::~ReceiveRequests() {
  shown_.end();
  while (Arrival* arrival = all_.first()) remove(*arrival);
}

}  // namespace openlapi::rpi
