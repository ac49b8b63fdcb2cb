#include "tests/simulation/recovery.h"

#include <algorithm>

#include "tests/simulation/simulation.h"

namespace openlapi::simulation {

namespace {

constexpr std::uint64_t kRecoveryStream = 0x7265636f;
constexpr Nanoseconds kLongestPause = 50 * kMillisecond;
constexpr unsigned kTries = 20;
constexpr std::uint64_t kMostFavours = 8;

}  // namespace

Recovery::Recovery(Simulation& simulation)
    : simulation_(simulation), random_(simulation.scenario().options.seed, kRecoveryStream) {}

// Mostly short enough that the job is still busy afterwards.
Nanoseconds Recovery::some_time() {
  const Nanoseconds busy = 20 * simulation_.scenario().issue_gap;
  return random_.between(10 * kMicrosecond, random_.chance(0.7) ? busy : kLongestPause);
}

Recovery::Side Recovery::side(PeerIndex task, std::uint32_t context, PeerIndex peer) const {
  const Checker& checker = simulation_.checker();
  return {task, context, peer, checker.incarnation(task), checker.incarnation(peer)};
}

bool Recovery::still_lives(const Side& side) const {
  const Checker& checker = simulation_.checker();
  return checker.incarnation(side.task) == side.incarnation && checker.incarnation(side.peer) == side.peer_incarnation;
}

// The run is not over before it has happened.
void Recovery::after(Nanoseconds delay, std::function<void()> event) {
  ++under_way_;
  simulation_.time().after(delay, [this, event = std::move(event)] {
    --under_way_;
    event();
  });
}

void Recovery::after(Nanoseconds delay, const Side& side, std::function<void()> event) {
  after(delay, [this, side, event = std::move(event)] {
    const Nanoseconds now = simulation_.time().now();
    const Nanoseconds wakes = still_lives(side) ? simulation_.engine(side.task, side.context)->stopped_until() : 0;
    if (wakes <= now) return event();
    after(std::min<Nanoseconds>(wakes - now, kSecond), side, event);
  });
}

void Recovery::task_died(PeerIndex task) {
  const Scenario& scenario = simulation_.scenario();
  auto mourning = std::make_shared<Mourning>();
  mourning->task = task;
  const bool patient = random_.chance(0.15);  // until the time-out
  for (PeerIndex other = 0; other < scenario.options.tasks; ++other) {
    if (other == task || !simulation_.checker().alive(other)) continue;
    for (std::uint32_t context = 0; context < scenario.options.contexts; ++context) {
      mourning->to_purge.emplace(other, context);
      const Nanoseconds pause = patient ? random_.below(2 * scenario.timeout) : some_time();
      const Side one = side(other, context, task);
      after(pause, one, [this, mourning, one] { purge_dead(mourning, one); });
    }
  }
  // The last one that lived: those who died before it come back to nothing of it.
  if (mourning->to_purge.empty()) return all_have_purged(*mourning);
  mournings_.push_back(mourning);
}

void Recovery::fault_reported(PeerIndex task, std::uint32_t context, PeerIndex peer) {
  for (const auto& mourning : mournings_) {
    if (mourning->task != peer || !mourning->to_purge.contains({task, context})) continue;
    const Side one = side(task, context, peer);
    after(random_.below(kMillisecond), one, [this, mourning, one] { purge_dead(mourning, one); });
  }
}

void Recovery::purge_dead(const std::shared_ptr<Mourning>& mourning, const Side& side) {
  if (mourning->to_purge.erase({side.task, side.context}) == 0) return;  // it was done when the time-out was told
  if (still_lives(side)) {
    simulation_.engine(side.task, side.context)->purge(side.peer);
    mourning->purged.push_back(side);
  }
  if (!mourning->to_purge.empty()) return;
  std::erase(mournings_, mourning);
  all_have_purged(*mourning);
}

// The dead come back when nobody is left who still has to do with the incarnation that is over.
void Recovery::all_have_purged(const Mourning& mourning) {
  if (!simulation_.scenario().can_come_back(mourning.task)) return;
  after(some_time(), [this, task = mourning.task] { simulation_.bring_back(task); });
  for (const Side& side : mourning.purged) resume_later(side, nullptr);
}

void Recovery::resume_later(const Side& side, const std::shared_ptr<Separation>& separation) {
  after(some_time(), side, [this, side, separation] {
    if (!still_lives(side)) return end_by_death(separation);
    SimulatedEngine& engine = *simulation_.engine(side.task, side.context);
    engine.resume(side.peer);
    engine.favour(side.peer, static_cast<std::uint32_t>(random_.below(kMostFavours)));
  });
}

void Recovery::end_by_death(const std::shared_ptr<Separation>& separation) {
  if (separation == nullptr || std::exchange(separation->ended_by_death, true)) return;
  ++simulation_.tally().separations_ended_by_death;
}

bool Recovery::is_separating(PeerIndex one, std::uint32_t context, PeerIndex other) const {
  return std::any_of(separations_.begin(), separations_.end(), [&](const auto& separation) {
    const Side& first = separation->sides[0];
    return first.task == one && first.context == context && first.peer == other;
  });
}

bool Recovery::may_separate(PeerIndex one, std::uint32_t context, PeerIndex other) const {
  const Checker& checker = simulation_.checker();
  if (one == other || !checker.alive(one) || !checker.alive(other)) return false;
  if (checker.purged(one, context, other) || checker.purged(other, context, one)) return false;
  return !is_separating(one, context, other) && !is_separating(other, context, one);
}

void Recovery::separate_somebody() {
  const Scenario& scenario = simulation_.scenario();
  const auto context = static_cast<std::uint32_t>(random_.below(scenario.options.contexts));
  for (unsigned n = 0; n < kTries; ++n) {
    const auto one = static_cast<PeerIndex>(random_.below(scenario.options.tasks));
    const auto other = static_cast<PeerIndex>(random_.below(scenario.options.tasks));
    if (!may_separate(one, context, other)) continue;
    if (!scenario.share_node(one, other) && random_.chance(0.5)) simulation_.isolate(one, some_time());
    separate(one, context, other);
    return;
  }
}

std::shared_ptr<Recovery::Separation> Recovery::separate(PeerIndex one, std::uint32_t context, PeerIndex other) {
  auto separation = std::make_shared<Separation>();
  separations_.push_back(separation);
  ++simulation_.tally().separations;
  separation->sides[0] = side(one, context, other);
  separation->sides[1] = side(other, context, one);
  for (const Side& each : separation->sides) {
    simulation_.engine(each.task, context)->favour(each.peer, static_cast<std::uint32_t>(random_.below(kMostFavours)));
    after(some_time(), each, [this, separation, each] { purge_side(separation, each); });
  }
  return separation;
}

void Recovery::task_went_on(PeerIndex task) {
  for (PeerIndex other = 0; other < simulation_.scenario().options.tasks; ++other) {
    if (other == task || !simulation_.checker().alive(other)) continue;
    for (std::uint32_t context = 0; context < simulation_.scenario().options.contexts; ++context) {
      mend(side(task, context, other));
    }
  }
}

// When they have done with each other what they are about to do.
void Recovery::mend(const Side& side) {
  if (!still_lives(side)) return;
  if (!may_separate(side.task, side.context, side.peer)) return after(some_time(), [this, side] { mend(side); });
  separate(side.task, side.context, side.peer)->mends = true;
}

void Recovery::purge_side(const std::shared_ptr<Separation>& separation, const Side& side) {
  // One of them died: all purge that one.
  if (!still_lives(side)) {
    std::erase(separations_, separation);
    return end_by_death(separation);
  }
  simulation_.engine(side.task, side.context)->purge(side.peer);
  if (++separation->purged != 2) return;
  std::erase(separations_, separation);
  if (separation->mends) simulation_.checker().begun_anew(side.task, side.context, side.peer);
  for (const Side& each : separation->sides) resume_later(each, separation);
}

}  // namespace openlapi::simulation
