// Makes Worlds move, and sleeps until any of them has something to do.
#pragma once

#include <atomic>
#include <vector>

#include "api/rpi/lapi/polled_world.h"
#include "dataplane/base/monotonic_clock.h"
#include "dataplane/poller/poller.h"
#include "dataplane/poller/wake_descriptors.h"
#include "dataplane/transport/wake_source.h"

namespace openlapi::rpi {

// Ends a sleep, or the next one.
class Interruption final : public WakeSource {
 public:
  bool valid() const { return bell_.valid(); }
  // From any thread, and from signal handlers.
  void raise() {
    raised_.store(true);
    bell_.ring();
  }
  bool is_raised() const { return raised_.load(std::memory_order_relaxed); }
  void clear() {
    if (raised_.exchange(false)) bell_.silence();
  }

  int descriptor() const override { return bell_.descriptor(); }
  bool immediate() const override { return true; }
  bool arm() override { return !raised_.load(); }
  void disarm() override {}

 private:
  std::atomic<bool> raised_{false};
  Bell bell_;
};

class WorldsPoller final : private PolledEngine, private WaitCondition {
 public:
  // At least one; all outlive it.
  WorldsPoller(std::vector<PolledWorld*> worlds, Interruption& interruption);

  // False: descriptors are exhausted.
  bool valid() const { return poller_.valid(); }
  // As of World.
  bool progress(bool block);

 private:
  // One thread at a time uses Worlds, and there is no other.
  void lock() override {}
  void unlock() override {}
  void hand_over_lock() override {}
  StepOutcome progress(Step which) override { return {step(which) ? 1u : 0u, false}; }
  ArrivalWord arrival_word() override;
  void flush() override;
  bool has_work() override;
  Nanoseconds deadline() override;
  Nanoseconds now() override { return clock_.now(); }
  void thread_begins() override {}
  void thread_ends() override {}
  void waits_long() override;
  bool holds() override { return moved_ || is_over_ || interruption_.is_raised(); }

  bool step(Step which);

  const std::vector<PolledWorld*> worlds_;
  Interruption& interruption_;
  MonotonicClock clock_;
  bool moved_ = false;    // something has, since progress() began
  bool is_over_ = false;  // it has waited for long enough
  Nanoseconds began_ = 0;
  Poller poller_;
};

}  // namespace openlapi::rpi
