// The loop. One step, in this order:
//   1. what arrived - it frees room, carries acknowledgements, and is what waiting threads wait for;
//   2. large transfers: those that adapters read go on where a read has ended, those that the processor reads advance
//      by a piece each, so that they share it;
//   3. messages that their header handler refused, now that others have arrived;
//   4. records and long messages that found no room before, peer by peer; arrivals may have made some;
//   5. half-filled packets leave: nothing more will join them in this step;
//   6. timers, when something is outstanding that a timer watches; both by the same look at the clock;
//   7. send completion handlers, when the state is consistent: they may begin operations;
//   8. faults are told last: the host may end the context.
#include <algorithm>

#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/tuning.h"

namespace openlapi {

namespace {

bool records_wait(const std::vector<Peer*>& peers) {
  return std::ranges::any_of(peers, [](const Peer* peer) { return !peer->backlog.empty(); });
}

}  // namespace

unsigned EndpointCore::progress(Step step) {
  stepping_ = true;
  unsigned moved = arrivals_held_ ? 0 : take_arrivals();
  arrivals_ = moved != 0;
  if (work_waits()) [[unlikely]]
    moved += move_what_waits(arrivals_);
  if (timers_due(step)) moved += move_what_time_moves();
  if (!send_completions_.empty()) [[unlikely]]
    run_send_handlers();
  if (!dropped_.empty()) [[unlikely]]
    part_from_dropped();
  stepping_ = false;
  if (!buried_.empty()) [[unlikely]]
    buried_.clear();
  if (!losses_.empty()) [[unlikely]] {
    ++moved;  // those who wait may be waiting for the lost one
    report_losses();
  }
  return moved;
}

unsigned EndpointCore::move_what_time_moves() {
  const Nanoseconds now = clock_.now();
  unsigned moved = channels_ != nullptr ? channels_->transmit(now) : 0;
  return moved + run_timers(now);
}

unsigned EndpointCore::take_arrivals() {
  unsigned received = 0;
  for (const DirectTransport& direct : direct_transports_) received += receive_direct(*direct.transport);
  if (channels_ != nullptr) received += channels_->receive();
  return received;
}

unsigned EndpointCore::move_what_waits(bool arrivals) {
  unsigned moved = pulls_.empty() ? 0 : advance_pulls();
  moved += advance_reads();
  if (!waiting_.empty() && (arrivals || retry_is_due())) moved += retry_waiting();
  return moved + serve_pending_peers();
}

// None while something else waits to be moved.
ArrivalWord EndpointCore::arrival_word() const {
  if (direct_transports_.size() != 1 || work_waits() || has_work()) return {};
  const ArrivalWatch* const watch = direct_transports_.front().has.arrival_watch;
  return watch != nullptr ? watch->arrival_word() : ArrivalWord{};
}

void EndpointCore::flush() {
  if (channels_ != nullptr) channels_->flush();
}

// What a step would surely move although nothing arrives.
bool EndpointCore::has_work() const {
  return !reads_.empty() || (untried_ != 0 && !waiting_.empty()) || !send_completions_.empty() || !losses_.empty() ||
         !dropped_.empty() || (channels_ != nullptr && channels_->has_work());
}

// Something for move_what_waits(), perhaps only when a peer has made room.
bool EndpointCore::work_waits() const {
  return !pending_peers_.empty() || !waiting_.empty() || !pulls_.empty() || !reads_.empty();
}

bool EndpointCore::retry_is_due() {
  const Nanoseconds now = clock_.now();
  if (untried_ == 0 && now < next_retry_) return false;
  next_retry_ = now + tuning::kRetryRefused;
  return true;
}

// The clock is looked at when a channel has something to send or to time, by steps that follow each other at once now
// and then, and otherwise once in many idle loops: reading it costs as much as a whole step.
bool EndpointCore::timers_due(Step step) {
  std::uint32_t loops = std::min(config_.idle_loops_between_timers, tuning::kIdleLoopsBetweenTimers);
  if (channels_ != nullptr && channels_->needs_clock()) {
    if (step == Step::first || channels_->must_send()) return true;
    loops = std::min(loops, tuning::kStepsBetweenTimers);
  }
  return ++idle_loops_ >= loops || turn_seen_.is_awaited;  // also who seldom comes here gives somebody's turn up
}

Nanoseconds EndpointCore::deadline() const {
  Nanoseconds earliest = UINT64_MAX;
  if (channels_ != nullptr) earliest = channels_->deadline();
  if (!waiting_.empty()) earliest = std::min(earliest, clock_.now() + tuning::kRetryRefused);
  if (!pending_peers_.empty()) {
    const bool awaited = records_wait(contacted_) || !outgoing_.empty();
    earliest = std::min(earliest, clock_.now() + (awaited ? tuning::kLookForRoom : tuning::kWatchPeers));
  }
  if (!pulls_.empty()) earliest = std::min(earliest, clock_.now() + tuning::kLookForEndings);
  const bool watched =
      !outgoing_.empty() || requests_.size() != 0 || !fences_.empty() || collective_.active() || !expected_.empty() ||
      std::any_of(contacted_.begin(), contacted_.end(), [](Peer* peer) { return !peer->owed.empty(); });
  if (watched) {
    earliest = std::min(earliest, clock_.now() + tuning::kWatchPeers);
    idle_loops_ = tuning::kIdleLoopsBetweenTimers;  // who sleeps until then makes a single step, and it must look
  }
  return earliest;
}

// The peers may be waiting for our acknowledgements as we wait for theirs, and we are about to be gone.
bool EndpointCore::drained() {
  flush();
  if (channels_ != nullptr) channels_->acknowledge_now();
  return (pending_peers_.empty() || !records_wait(contacted_)) && outgoing_.empty() && reads_.empty() &&
         pulls_.empty() && send_completions_.empty() && (channels_ == nullptr || channels_->settled());
}

std::size_t EndpointCore::not_taken() const {
  std::size_t left = outgoing_.size() + reads_.size() + pulls_.size();
  for (const Peer* peer : contacted_) left += peer->backlog.size();
  return left + (channels_ != nullptr ? channels_->not_acknowledged() : 0);
}

bool EndpointCore::handlers_exhausted() const {
  return requests_.size() >= tuning::kMostRequestsOfHandlers || own_waiting_ >= tuning::kMostCopiesOfHandlers;
}

}  // namespace openlapi
