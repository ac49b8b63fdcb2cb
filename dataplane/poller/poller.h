// Who makes progress: the user's threads while they are inside calls that poll, and a dataplane thread the rest of the
// time (interrupt mode). The engine knows nothing of threads; this is the only part of dataplane/ that does.
//
// The rules (with the engine's lock held, unless stated otherwise):
//  - At any moment some thread is in charge of progress: a user thread inside a polling call (enter() .. leave()), or
//    else the dataplane thread. In polling mode nobody is in charge between two calls, and nothing moves but what
//    upkeep does: the thread looks now and then whether anybody makes steps, without the lock, and if nobody does, it
//    makes some of Step::upkeep. The doorbells stay as they are, and no handler runs.
//  - The doorbells (WakeSource) are armed only while the thread in charge sleeps: an armed doorbell costs a sender
//    microseconds, and arming costs a system call. So enter() disarms them if the dataplane thread slept, and leave()
//    does NOT arm them again: it leaves the dataplane thread in a nap of kShortNap, after which that thread looks
//    round. If a user thread has polled meanwhile it naps again; otherwise it takes charge. So a program that calls
//    LAPI_Waitcntr in a loop never pays for arming, and a program that stops calling is served after two naps.
//  - A user thread that has found nothing for a long time sleeps as well (doze()). If no other thread is awake it first
//    arms the doorbells and looks once more. What arrives between that look and the sleep is not lost: arm() reports
//    it.
//  - A sleeping user thread may wait for something that another thread brings about (a counter that moves during
//    another thread's poll). Whoever makes progress checks the sleepers' conditions and rings if one holds. The bell
//    stays rung until the last sleeper is up, so no sleeper can miss it.
//  - Calls that do not poll (put) may leave work behind: unsent packets, an earlier timer. after_call() takes care of
//    it if the thread in charge sleeps.
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
#include "dataplane/poller/upkeep_pacing.h"
#include "dataplane/poller/wake_descriptors.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

// The result of one step of the engine.
struct StepOutcome {
  unsigned moved;    // 0: nothing moved
  bool lock_wanted;  // another thread waits for the lock
};

// What the poller drives. lock() and unlock() are the engine's own lock; everything else is called with it held.
class PolledEngine {
 public:
  virtual ~PolledEngine() = default;
  virtual void lock() = 0;
  virtual void unlock() = 0;
  virtual void hand_over_lock() = 0;            // to a waiting thread; the caller has it again afterwards
  virtual StepOutcome progress(Step step) = 0;  // may release the lock meanwhile
  virtual ArrivalWord arrival_word() = 0;       // after a progress() without result: where the next packet shows
  virtual void flush() = 0;                     // sends what waits to be sent, nothing else
  virtual bool has_work() = 0;                  // progress() would do something now
  virtual Nanoseconds deadline() = 0;           // latest time at which progress() has to be called
  virtual Nanoseconds now() = 0;
  virtual void thread_begins() = 0;  // the dataplane thread's first act
  virtual void thread_ends() = 0;  // the dataplane thread's last act, without the lock; the poller may be gone after it
};

// What a polling task's peers may still need of its engine while it makes no calls.
class UpkeptEngine {
 public:
  virtual bool try_borrow() = 0;            // the lock, for one turn; never waits
  virtual std::uint32_t steps() const = 0;  // of PolledEngine::progress() so far; any thread, without the lock
  virtual bool keep_up() = 0;               // with the lock: a step of upkeep; false: nothing is outstanding

 protected:
  ~UpkeptEngine() = default;
};

struct PollerConfig {
  PacingLimits pacing{ThreadPolicy::adaptive, kSharedCoreSpin};
  BackoffLimits wait = kSharedCoreWait;
  Nanoseconds longest_sleep = 400 * kMillisecond;  // MP_POLLING_INTERVAL
};

// What checking a condition does: only look, or also bring about what the thread waits for, whichever thread checks.
enum class Asking : bool { looks, acts };

// A user thread's wait: whether what it waits for has happened. Lives on that thread's stack.
class WaitCondition {
 public:
  explicit WaitCondition(Asking asking = Asking::looks) : asking_(asking) {}
  virtual bool holds() = 0;
  // Called now and then: when the thread is about to sleep or has polled many times.
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

  // The sources and the engine outlive the poller. `blind`: some transport has no wake source, so sleepers look round
  // at intervals, the dataplane thread at ever longer ones until something arrives (ThreadPacing).
  Poller(PolledEngine& engine, const PollerConfig& config, std::vector<WakeSource*> sources, bool blind);
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // False: descriptors are exhausted.
  bool valid() const { return thread_bell_->valid() && doze_bell_.valid() && timer_.valid(); }

  // A user thread begins or ends a call that polls. May nest, and several threads may be inside.
  void enter() {
    ++inside_;
    ++entries_;
    note_attendance();
    if (armed_) [[unlikely]]
      disarm();
  }
  void leave() {
    if (--inside_ != 0 || thread_state_ == ThreadState::running) return;
    note_attendance();
    if (thread_state_ == ThreadState::napping || dozing_.load(std::memory_order_relaxed) != 0) hand_over();
  }

  // Between enter() and leave(): polls at least once, until the condition holds. The lock may be released meanwhile.
  // The condition must also hold when the caller has another reason to stop. A thread that is cancelled unwinds its
  // stack, holding the lock; this never happens after the condition has acted.
  void wait(WaitCondition& condition) { wait(condition, config_.wait); }
  void wait(WaitCondition& condition, const BackoffLimits& limits);

  // Lets other threads run, without the lock meanwhile. A cancellation point.
  [[gnu::noinline]] void give_core_away();
  // The same for a thread that polls without an end: if others have run in several turns it sleeps briefly.
  [[gnu::noinline]] void rest();

  // Peers reach memory and counters of this task by themselves. From now on the word is 1 while no thread polls: all
  // compute, or sleep. It is written when that changes, and outlives the poller.
  void report_absence(std::atomic<std::uint32_t>& unattended) {
    unattended_ = &unattended;
    note_attendance();
  }

  const BackoffLimits& usual_wait() const { return config_.wait; }

  // The end of a call that did not poll, or of a completion handler. It may have moved counters of this task that
  // sleeping threads wait for.
  void after_call() {
    if (dozing_.load() != 0) [[unlikely]]
      wake_ready();
    if (inside_ == 0 && (thread_state_ >= ThreadState::napping || dozing_.load() != 0)) [[unlikely]]
      settle();
  }

  // The conditions of sleeping threads may hold now although there was no progress.
  [[gnu::noinline]] void wake_ready();
  // Releases the lock long enough for another thread to get it, and takes it again.
  void relinquish();
  // Whether any thread sleeps in wait(). Any thread, without the lock.
  bool anybody_dozes() const { return dozing_.load(std::memory_order_seq_cst) != 0; }

  // Switches to interrupt mode (true) or polling mode. Once it has returned, no dataplane thread makes progress in
  // polling mode. The caller rings the returned bell, if any, right after it has released the lock: a thread woken
  // earlier, on the caller's core, would only find the lock taken. The bell may outlive the poller.
  [[nodiscard]] std::shared_ptr<Bell> set_interrupt_mode(bool on);

  // From its start on the dataplane thread looks after the engine in polling mode, too. It is the poller's own, and
  // outlives it.
  void look_after(UpkeptEngine& engine) { upkept_ = &engine; }

  // Starts the dataplane thread. Returns 0 or an errno value.
  int start(const ThreadStart& how);
  // Asks the thread to end. join(): without the lock; see LibraryThread.
  void request_stop();
  void join(Nanoseconds at_most) { thread_.join(at_most); }

 private:
  class Dozing;
  class Asleep;
  // What the dataplane thread is doing; once polling mode is set it counts as parked.
  enum class ThreadState : std::uint8_t {
    none,     // not started, or ended
    parked,   // polling mode: sleeps on its bell, or makes a step of upkeep
    running,  // in charge, polling
    napping,  // others are or were in charge: sleeps on bell and timer
    armed,    // in charge, asleep with armed doorbells
  };

  void note_attendance() {
    if (unattended_ == nullptr) [[likely]]
      return;
    const std::uint32_t now = inside_ == 0 && thread_state_ != ThreadState::running ? 1 : 0;
    if (unattended_->load(std::memory_order_relaxed) != now) unattended_->store(now, std::memory_order_relaxed);
  }
  void serve();
  void serve_in_charge();
  void pause_unlocked();
  void park();
  Nanoseconds keep_up();
  void nap();
  bool sleep_armed(ThreadPacing& pacing);
  void hand_over();
  void settle();
  bool pause(WaitCondition& condition);
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
  bool long_nap_ = false;          // the nap ends later than kShortNap from its start
  std::uint32_t long_yields_ = 0;  // since rest() slept
  bool interrupt_ = false;
  bool stop_ = false;
  bool doze_bell_rung_ = false;
  std::atomic<std::uint32_t>* unattended_ = nullptr;  // null: peers reach nothing by themselves
  std::atomic<unsigned> dozing_{0};
  WaitCondition* first_dozing_ = nullptr;
  Nanoseconds alarm_ = 0;  // when the sleeping dataplane thread wakes by itself
  std::uint64_t entries_seen_ = 0;
  UpkeptEngine* upkept_ = nullptr;  // null: no peer needs anything
  UpkeepPacing upkeep_;             // of the thread

  const std::shared_ptr<Bell> thread_bell_ = std::make_shared<Bell>();
  Bell doze_bell_;
  AlarmTimer timer_;
  LibraryThread thread_;
};

}  // namespace openlapi
