// Who makes progress: the user's threads while they are inside calls that poll, and a dataplane thread when they are
// not (interrupt mode). The engine does not know threads; this is the one part of dataplane/ that does.
//
// The rules (everything here except where it says so happens with the engine's lock held):
//  - At any moment some thread is in charge of progress. A user thread inside a polling call is (enter() .. leave());
//    else the dataplane thread; in polling mode between two calls nobody is, and nothing moves.
//  - The doorbells (WakeSource) are armed only while whoever is in charge sleeps: a sender pays microseconds for an
//    armed doorbell, and arming costs a system call. So enter() disarms them if the dataplane thread slept, and
//    leave() does NOT arm them again: it leaves the dataplane thread in a nap of kShortNap, at whose end it looks
//    round. If a user thread polled meanwhile it naps again; if not it takes charge. A program that calls
//    LAPI_Waitcntr in a loop thus never pays for arming, and a program that stops calling is served after two naps.
//  - A user thread that found nothing for long sleeps too (doze()). If nobody else is awake it arms the doorbells first
//    and looks once more: nothing that arrives between its last look and its sleep is lost, because arm() says so.
//  - A sleeping user thread may wait for something that another thread brings about (a counter that moves during
//    another thread's poll). Whoever makes progress asks the sleepers' conditions, and rings if one holds. The bell
//    stays rung until the last sleeper is up, so no sleeper can miss it.
//  - Calls that do not poll (put) may leave work behind: unsent packets, an earlier timer. after_call() deals with
//    them when whoever is in charge sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/base/step.h"
#include "dataplane/poller/backoff.h"
#include "dataplane/poller/library_thread.h"
#include "dataplane/poller/thread_pacing.h"
#include "dataplane/poller/wake_descriptors.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

// What a step of the engine came to.
struct StepOutcome {
  unsigned moved;    // 0: it was fruitless
  bool lock_wanted;  // another thread waits for the lock
};

// What the poller drives. lock() and unlock() are the engine's own lock; all else is called with it held.
class PolledEngine {
 public:
  virtual ~PolledEngine() = default;
  virtual void lock() = 0;
  virtual void unlock() = 0;
  virtual void hand_over_lock() = 0;            // to a thread that waits for it; the caller has it again afterwards
  virtual StepOutcome progress(Step step) = 0;  // may release the lock meanwhile
  virtual ArrivalWord arrival_word() = 0;       // after a progress() that did nothing: where the next packet will show
  virtual void flush() = 0;                     // sends what waits to be sent, nothing else
  virtual bool has_work() = 0;                  // progress() would do something now
  virtual Nanoseconds deadline() = 0;           // when progress() has to be called at the latest
  virtual Nanoseconds now() = 0;
  virtual void thread_begins() = 0;  // the dataplane thread's first act
  virtual void thread_ends() = 0;  // the dataplane thread's last act, without the lock; the poller may be gone after it
};

struct PollerConfig {
  PacingLimits pacing{ThreadPolicy::adaptive, kSharedCoreSpin};
  BackoffLimits wait = kSharedCoreWait;
  Nanoseconds longest_sleep = 400 * kMillisecond;  // MP_POLLING_INTERVAL
};

// What asking a condition does: it only looks, or it brings about what the thread waits for, whichever thread asks.
enum class Asking : bool { looks, acts };

// A user thread's wait: whether what it waits for has happened. Lives on that thread's stack.
class WaitCondition {
 public:
  explicit WaitCondition(Asking asking = Asking::looks) : asking_(asking) {}
  virtual bool holds() = 0;
  // The thread is about to sleep, or has polled many times: now and then.
  virtual void waits_long() {}

 protected:
  ~WaitCondition() = default;

 private:
  friend class Poller;
  const Asking asking_;
  WaitCondition* next_dozing_ = nullptr;
};

class Poller {
 public:
  static constexpr Nanoseconds kShortNap = 250 * kMicrosecond;
  static constexpr std::uint32_t kLongYieldsBeforeSleep = 50;
  static constexpr Nanoseconds kAlarmSlack = 100 * kMicrosecond;  // timers may be this late
  static constexpr Nanoseconds kLongestWholeSleep = 10 * kMillisecond;

  // The sources and the engine outlive the poller. `blind`: some transport has no wake source; whoever sleeps looks
  // round by itself, the dataplane thread ever more seldom until something arrives (ThreadPacing).
  Poller(PolledEngine& engine, const PollerConfig& config, std::vector<WakeSource*> sources, bool blind);
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // False: descriptors are exhausted.
  bool valid() const { return thread_bell_->valid() && doze_bell_.valid() && timer_.valid(); }

  // A user thread begins and ends a call that polls. May be nested and concurrent.
  void enter() {
    ++inside_;
    ++entries_;
    if (armed_) [[unlikely]]
      disarm();
  }
  void leave() {
    if (--inside_ != 0 || thread_state_ == ThreadState::running) return;
    if (thread_state_ == ThreadState::napping || dozing_.load(std::memory_order_relaxed) != 0) hand_over();
  }

  // Between enter() and leave(): polls, at least once, until the condition holds. The lock may be released meanwhile;
  // the condition also has to hold when the caller shall stop for another reason. A thread that is cancelled leaves by
  // unwinding its stack, with the lock; not when the condition has acted.
  void wait(WaitCondition& condition) { wait(condition, config_.wait); }
  void wait(WaitCondition& condition, const BackoffLimits& limits);

  // Others run, without the lock meanwhile. A cancellation point.
  [[gnu::noinline]] void give_core_away();
  // The same, for one who polls without an end of its own: when others have run in as many turns it sleeps briefly.
  [[gnu::noinline]] void rest();

  const BackoffLimits& usual_wait() const { return config_.wait; }

  // The end of a call that did not poll, or of a completion handler. It may have moved counters of this task, which
  // those who sleep or doze beside a thread that polls wait for.
  void after_call() {
    if (dozing_.load() != 0) [[unlikely]]
      wake_ready();
    if (inside_ == 0 && (thread_state_ >= ThreadState::napping || dozing_.load() != 0)) [[unlikely]]
      settle();
  }

  // Conditions of sleeping threads may hold now although no progress was made.
  [[gnu::noinline]] void wake_ready();
  // Releases the lock for as long as another thread needs to get it, and takes it again.
  void relinquish();
  // Whether anybody sleeps in wait(). Any thread, without the lock.
  bool anybody_dozes() const { return dozing_.load(std::memory_order_seq_cst) != 0; }

  // Interrupt mode (true) or polling mode. From the return on, no dataplane thread makes progress in polling mode. The
  // caller rings the bell, if there is one, as soon as it has released the lock: woken earlier, on the caller's core,
  // the thread would only find the lock taken. The bell may outlive the poller.
  [[nodiscard]] std::shared_ptr<Bell> set_interrupt_mode(bool on);
  bool interrupt_mode() const { return interrupt_; }

  // Starts the dataplane thread. An errno value when it cannot be made.
  int start(const ThreadStart& how);
  // Asks it to end. join(): without the lock; see LibraryThread.
  void request_stop();
  void join(Nanoseconds at_most) { thread_.join(at_most); }

 private:
  class Dozing;
  class Asleep;
  // What the dataplane thread is doing; from the switch to polling mode on it counts as parked.
  enum class ThreadState : std::uint8_t {
    none,     // not started, or ended
    parked,   // polling mode: sleeps on its bell
    running,  // in charge, polling
    napping,  // others have or had charge: sleeps on bell and timer
    armed,    // in charge, asleep behind the doorbells
  };

  void serve();
  void serve_in_charge();
  void pause_unlocked();
  void park();
  void nap();
  bool sleep_armed(ThreadPacing& pacing);
  void hand_over();
  void settle();
  [[gnu::noinline]] bool doze(WaitCondition& condition);
  void doze_at_most(WaitCondition& condition, Nanoseconds longest);
  void sleep_dozing(bool in_charge, Nanoseconds limit);
  bool arm();
  void disarm();
  void let_cancel();
  Nanoseconds sleep_limit(Nanoseconds longest);

  PolledEngine& engine_;
  const PollerConfig config_;
  const std::vector<WakeSource*> sources_;
  const bool blind_;

  unsigned inside_ = 0;           // user threads that poll
  std::uint64_t entries_ = 0;     // enter() calls so far
  bool armed_ = false;            // the doorbells
  bool dozer_in_charge_ = false;  // armed for a dozing user thread
  ThreadState thread_state_ = ThreadState::none;
  bool long_nap_ = false;          // the nap's end is further away than kShortNap
  std::uint32_t long_yields_ = 0;  // since rest() slept
  bool interrupt_ = false;
  bool stop_ = false;
  bool doze_bell_rung_ = false;
  std::atomic<unsigned> dozing_{0};
  WaitCondition* first_dozing_ = nullptr;
  Nanoseconds alarm_ = 0;  // when the sleeping dataplane thread wakes by itself
  std::uint64_t entries_seen_ = 0;

  const std::shared_ptr<Bell> thread_bell_ = std::make_shared<Bell>();
  Bell doze_bell_;
  AlarmTimer timer_;
  LibraryThread thread_;
};

}  // namespace openlapi
