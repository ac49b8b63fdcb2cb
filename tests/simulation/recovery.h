// What the users of a job do that recovers by itself (guide, chapter 19): every context of every task purges a task
// that died, it is started again, and they resume; two tasks that lost each other purge each other, and then resume.
// Who purges when is random, as is the order of returns and resumes; that both sides have purged, or one is new, before
// either resumes is the users' part of the contract and kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/transport/packet.h"
#include "tests/support/seeded_random.h"

namespace openlapi::simulation {

class Simulation;

class Recovery {
 public:
  explicit Recovery(Simulation& simulation);

  // All others purge it; Simulation::bring_back() follows if it can, and they resume.
  void task_died(PeerIndex task);
  // It was stopped for longer than the time-out: all others and it begin anew with each other.
  void task_went_on(PeerIndex task);
  // The user hears of it through the error handler, and purges at once.
  void fault_reported(PeerIndex task, std::uint32_t context, PeerIndex peer);
  // Two tasks begin anew with each other, behind a partition or for no reason.
  void separate_somebody();

  bool under_way() const { return under_way_ != 0; }

 private:
  // One context of one task in one incarnation, and what it has to do with `peer` in one incarnation of that.
  struct Side {
    PeerIndex task;
    std::uint32_t context;
    PeerIndex peer;
    std::uint32_t incarnation, peer_incarnation;
  };
  // A task that is dead, until it may come back.
  struct Mourning {
    std::set<std::pair<PeerIndex, std::uint32_t>> to_purge;  // task, context
    std::vector<Side> purged;
    PeerIndex task;
  };
  struct Separation {
    Side sides[2];
    unsigned purged = 0;
    bool ended_by_death = false;
    bool mends = false;  // what a stop has disturbed
  };

  void purge_dead(const std::shared_ptr<Mourning>& mourning, const Side& side);
  void all_have_purged(const Mourning& mourning);
  void purge_side(const std::shared_ptr<Separation>& separation, const Side& side);
  void resume_later(const Side& side, const std::shared_ptr<Separation>& separation);
  void end_by_death(const std::shared_ptr<Separation>& separation);
  Nanoseconds some_time();
  void after(Nanoseconds delay, std::function<void()> event);
  // What one side does, who may be stopped then: it does it when it goes on.
  void after(Nanoseconds delay, const Side& side, std::function<void()> event);
  std::shared_ptr<Separation> separate(PeerIndex one, std::uint32_t context, PeerIndex other);
  bool may_separate(PeerIndex one, std::uint32_t context, PeerIndex other) const;
  void mend(const Side& side);
  bool is_separating(PeerIndex one, std::uint32_t context, PeerIndex other) const;
  bool still_lives(const Side& side) const;
  Side side(PeerIndex task, std::uint32_t context, PeerIndex peer) const;

  Simulation& simulation_;
  SeededRandom random_;
  std::vector<std::shared_ptr<Mourning>> mournings_;
  std::vector<std::shared_ptr<Separation>> separations_;  // until both sides have purged
  std::uint32_t under_way_ = 0;
};

}  // namespace openlapi::simulation
