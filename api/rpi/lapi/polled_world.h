// A World that is polled beside others: whoever waits does it for all of them (worlds_poller.h).
#pragma once

#include <cstdint>
#include <vector>

#include "api/rpi/lapi/world.h"
#include "dataplane/base/clock.h"
#include "dataplane/base/step.h"
#include "dataplane/poller/poller.h"

namespace openlapi::rpi {

// What a Peer is outside the World.
struct WorldProcess {
  std::uint32_t rank = 0;  // in the bootstrap
  int pid = 0;             // of this node; 0: it runs elsewhere
};

// How to wait for it.
struct Waking {
  std::vector<WakeSource*> sources{};
  bool blind = false;  // there are transports without one
  PollerConfig pace{};
};

class PolledWorld : public World {
 public:
  // Moves what can be moved. False: nothing has.
  virtual bool step(Step which) = 0;
  // Now and then, while nothing moves: looks who has ended.
  virtual void look() = 0;
  // Whether data of the peer are on their way here: of messages that have begun to come, and those that are read.
  virtual bool is_bringing(Peer peer) const = 0;

  virtual const Waking& waking() const = 0;
  // As of PolledEngine.
  virtual ArrivalWord arrival_word() = 0;
  virtual void flush() = 0;
  virtual bool has_work() = 0;
  virtual Nanoseconds deadline() = 0;

  bool progress(bool /*block*/) final { return step(Step::first); }
  void interrupt() final {}
};

}  // namespace openlapi::rpi
