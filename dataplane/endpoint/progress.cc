#include "dataplane/endpoint/progress.h"

#include <algorithm>

#include "dataplane/tuning.h"

namespace openlapi {

namespace {

bool records_wait(const std::vector<Peer*>& peers) {
  return std::ranges::any_of(peers, [](const Peer* peer) { return !peer->backlog.empty(); });
}

}  // namespace

unsigned Progress::progress(Step step) {
  means_.losses.step_begins();
  unsigned moved = arrivals_held_ ? 0 : take_arrivals();
  arrivals_ = moved != 0;
  if (means_.signs.any(StepSigns::kMoves)) [[unlikely]]
    moved += move_what_waits(arrivals_);
  if (timers_due(step)) moved += move_what_time_moves();
  if (means_.signs.any(StepSigns::kEndsStep)) [[unlikely]]
    return moved + end_step();
  means_.losses.step_is_over();
  return moved;
}

unsigned Progress::end_step() {
  if (!means_.origins.empty()) means_.origins.run_handlers();
  if (!means_.dropped.empty()) means_.losses.part_from_dropped();
  means_.losses.step_is_over();
  means_.losses.bury();
  if (means_.reports.empty()) return 0;
  means_.reports.report();
  return 1;  // those who wait may be waiting for the lost one
}

unsigned Progress::move_what_time_moves() {
  const Nanoseconds now = means_.clock.now();
  unsigned moved = means_.channels != nullptr ? means_.channels->transmit(now) : 0;
  return moved + run_timers(now);
}

unsigned Progress::run_timers(Nanoseconds now) {
  means_.pacing.restart();
  const unsigned moved = means_.channels != nullptr ? means_.channels->run_timers(now) : 0;
  means_.watch.look(now, arrivals_ || arrivals_held_);
  return moved;
}

unsigned Progress::take_arrivals() {
  unsigned received = 0;
  for (const DirectTransport& direct : means_.transports.direct) received += means_.dispatch.receive(*direct.transport);
  if (means_.channels != nullptr) received += means_.channels->receive();
  return received;
}

unsigned Progress::move_what_waits(bool arrivals) {
  unsigned moved = means_.pulls.empty() ? 0 : means_.pulls.advance();
  moved += means_.reads.advance();
  if (!means_.refused.empty() && (arrivals || retry_is_due())) moved += means_.messages.retry_refused();
  return moved + means_.sender.serve_pending();
}

// None while something else waits to be moved.
ArrivalWord Progress::arrival_word() const {
  if (means_.transports.direct.size() != 1 || means_.signs.any(StepSigns::kMoves) || has_work()) return {};
  const ArrivalWatch* const watch = means_.transports.direct.front().has.arrival_watch;
  return watch != nullptr ? watch->arrival_word() : ArrivalWord{};
}

void Progress::flush() {
  if (means_.channels != nullptr) means_.channels->flush();
}

// What a step would surely move although nothing arrives.
bool Progress::has_work() const {
  return !means_.reads.empty() || (means_.refused.any_untried() && !means_.refused.empty()) ||
         !means_.origins.empty() || !means_.reports.empty() || !means_.dropped.empty() ||
         (means_.channels != nullptr && means_.channels->has_work());
}

bool Progress::retry_is_due() {
  const Nanoseconds now = means_.clock.now();
  if (!means_.refused.any_untried() && now < next_retry_) return false;
  next_retry_ = now + tuning::kRetryRefused;
  return true;
}

// The clock is looked at when a channel has something to send or to time, by steps that follow each other at once now
// and then, and otherwise once in many idle loops (timer_pacing.h).
bool Progress::timers_due(Step step) {
  if (means_.channels == nullptr || !means_.channels->needs_clock()) return means_.pacing.is_due();
  return step == Step::first || means_.channels->must_send() || means_.pacing.is_due(tuning::kStepsBetweenTimers);
}

Nanoseconds Progress::deadline() const {
  Nanoseconds earliest = UINT64_MAX;
  if (means_.channels != nullptr) earliest = means_.channels->deadline();
  const auto after = [&](Nanoseconds time) { earliest = std::min(earliest, means_.clock.now() + time); };
  if (!means_.refused.empty()) after(tuning::kRetryRefused);
  if (means_.outbox.any_pending()) {
    const bool awaited = records_wait(means_.peers.contacted()) || !means_.outgoing.empty();
    after(awaited ? tuning::kLookForRoom : tuning::kWatchPeers);
  }
  if (!means_.pulls.empty()) after(tuning::kLookForEndings);
  const bool watched = !means_.outgoing.empty() || means_.requests.size() != 0 || means_.fences.any_pending() ||
                       means_.collectives.active() || means_.watch.expects_any() ||
                       std::ranges::any_of(means_.peers.contacted(), [](Peer* peer) { return !peer->owed.empty(); });
  if (watched) {
    after(tuning::kWatchPeers);
    means_.pacing.look_soon();  // who sleeps until then makes a single step, and it must look
  }
  return earliest;
}

// The peers may be waiting for our acknowledgements as we wait for theirs, and we are about to be gone.
bool Progress::drained() {
  flush();
  if (means_.channels != nullptr) means_.channels->acknowledge_now();
  return (!means_.outbox.any_pending() || !records_wait(means_.peers.contacted())) && means_.outgoing.empty() &&
         means_.reads.empty() && means_.pulls.empty() && means_.origins.empty() &&
         (means_.channels == nullptr || means_.channels->settled());
}

std::size_t Progress::not_taken() const {
  std::size_t left = means_.outgoing.size() + means_.reads.size() + means_.pulls.size();
  for (const Peer* peer : means_.peers.contacted()) left += peer->backlog.size();
  return left + (means_.channels != nullptr ? means_.channels->not_acknowledged() : 0);
}

}  // namespace openlapi
