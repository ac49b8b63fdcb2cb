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
  return {task, context, peer, checker.life(task), checker.life(peer)};
}

bool Recovery::still_lives(const Side& side) const {
  const Checker& checker = simulation_.checker();
  return checker.life(side.task) == side.life && checker.life(side.peer) == side.peer_life;
}

// The run is not over before it has happened.
void Recovery::after(Nanoseconds delay, std::function<void()> event) {
  ++under_way_;
  simulation_.time().after(delay, [this, event = std::move(event)] {
    --under_way_;
    event();
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
      after(pause, [this, mourning, one = side(other, context, task)] { purge_dead(mourning, one); });
    }
  }
  mournings_.push_back(mourning);
}

void Recovery::fault_reported(PeerIndex task, std::uint32_t context, PeerIndex peer) {
  for (const auto& mourning : mournings_) {
    if (mourning->task != peer || !mourning->to_purge.contains({task, context})) continue;
    after(random_.below(kMillisecond),
          [this, mourning, one = side(task, context, peer)] { purge_dead(mourning, one); });
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

// The dead come back when nobody is left who still has to do with the life that is over.
void Recovery::all_have_purged(const Mourning& mourning) {
  if (!simulation_.scenario().can_come_back(mourning.task)) return;
  after(some_time(), [this, task = mourning.task] { simulation_.bring_back(task); });
  for (const Side& side : mourning.purged) resume_later(side, nullptr);
}

void Recovery::resume_later(const Side& side, const std::shared_ptr<Separation>& separation) {
  after(some_time(), [this, side, separation] {
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

void Recovery::separate_somebody() {
  const Scenario& scenario = simulation_.scenario();
  const Checker& checker = simulation_.checker();
  const auto context = static_cast<std::uint32_t>(random_.below(scenario.options.contexts));
  for (unsigned n = 0; n < kTries; ++n) {
    const auto one = static_cast<PeerIndex>(random_.below(scenario.options.tasks));
    const auto other = static_cast<PeerIndex>(random_.below(scenario.options.tasks));
    const bool two = one != other && checker.alive(one) && checker.alive(other);
    if (!two || checker.purged(one, context, other) || checker.purged(other, context, one)) continue;
    if (is_separating(one, context, other) || is_separating(other, context, one)) continue;
    if (!scenario.share_node(one, other) && random_.chance(0.5)) simulation_.isolate(one, some_time());
    auto separation = std::make_shared<Separation>();
    separations_.push_back(separation);
    ++simulation_.tally().separations;
    separation->sides[0] = side(one, context, other);
    separation->sides[1] = side(other, context, one);
    for (const Side& each : separation->sides) {
      simulation_.engine(each.task, context)
          ->favour(each.peer, static_cast<std::uint32_t>(random_.below(kMostFavours)));
      after(some_time(), [this, separation, each] { purge_side(separation, each); });
    }
    return;
  }
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
  for (const Side& each : separation->sides) resume_later(each, separation);
}

}  // namespace openlapi::simulation
