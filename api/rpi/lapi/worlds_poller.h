// Makes Worlds move, and sleeps until any of them has something to do; with a lock also by a thread of its own, while
// the program is in no call.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "api/lock/context_lock.h"
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
    if (is_raised() && raised_.exchange(false)) bell_.silence();
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
  // What the Worlds and their listener share with the thread. Null lock: there is none.
  struct Shared {
    ContextLock* lock = nullptr;
    WorldListener* listener = nullptr;
  };

  // At least one World; all outlive it. With a lock everything is called by who has it.
  WorldsPoller(std::vector<PolledWorld*> worlds, Interruption& interruption, Shared shared);
  // Ends the thread.
  ~WorldsPoller();
  WorldsPoller(const WorldsPoller&) = delete;
  WorldsPoller& operator=(const WorldsPoller&) = delete;

  // False: descriptors are exhausted.
  bool valid() const { return poller_.valid(); }
  // As of World.
  bool progress(bool block);
  // The end of a call of the program in which Worlds were used.
  void end_call() { poller_.after_call(); }

  // Once. False: `reason` says why.
  bool start_thread(std::string& reason);
  // Releases the lock meanwhile.
  void stop_thread();

 private:
  void lock() override;
  void unlock() override;
  void hand_over_lock() override;
  StepOutcome progress(Step which) override;
  ArrivalWord arrival_word() override;
  void flush() override;
  bool has_work() override;
  Nanoseconds deadline() override;
  Nanoseconds now() override { return clock_.now(); }
  void thread_begins() override { thread_ = this_thread(); }
  void thread_ends() override {}
  void waits_long() override;
  bool holds() override { return moved_ || is_over_ || interruption_.is_raised(); }

  bool step(Step which);
  void look();

  const std::vector<PolledWorld*> worlds_;
  Interruption& interruption_;
  const Shared shared_;
  bool has_thread_ = false;
  pthread_t thread_ = ContextLock::kNobody;  // once it has begun
  MonotonicClock clock_;
  bool moved_ = false;           // something has, since progress() began
  bool is_over_ = false;         // it has waited for long enough
  Nanoseconds waits_since_ = 0;  // 0: not for long
  Poller poller_;
};

}  // namespace openlapi::rpi
