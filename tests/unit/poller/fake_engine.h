// An engine that only counts, with a source that rings as the interface says, for tests of the poller.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "dataplane/poller/poller.h"

namespace openlapi {

// A source whose packets are a number that other threads raise; rings only while armed, as the interface says.
class FakeSource final : public WakeSource {
 public:
  FakeSource() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~FakeSource() { close(descriptor_); }
  int descriptor() const override { return descriptor_; }
  bool immediate() const override { return rings_at_once; }
  bool arm() override {
    ++arms;
    armed.store(true);
    if (waiting.load() == 0) return true;
    disarm();
    return false;
  }
  void disarm() override {
    ++disarms;
    armed.store(false);
    eventfd_t count;
    eventfd_read(descriptor_, &count);
  }
  void arrive() {
    waiting.fetch_add(1);
    if (armed.load()) {
      ++rings;
      eventfd_write(descriptor_, 1);
    }
  }

  std::atomic<int> waiting{0};
  std::atomic<bool> armed{false};
  std::atomic<int> arms{0};
  std::atomic<int> disarms{0};
  std::atomic<int> rings{0};
  bool rings_at_once = true;

 private:
  int descriptor_;
};

class FakeEngine final : public PolledEngine {
 public:
  void lock() override {
    mutex_.lock();
    holder_ = std::this_thread::get_id();
  }
  void unlock() override {
    EXPECT_TRUE(is_locked());
    holder_ = std::thread::id();
    if (std::this_thread::get_id() != creator_) ++unlocks_elsewhere;
    mutex_.unlock();
  }
  void hand_over_lock() override { ++hand_overs; }
  ArrivalWord arrival_word() override { return next_arrival; }
  StepOutcome progress(Step step) override {
    EXPECT_TRUE(is_locked());
    progress_thread = std::this_thread::get_id();
    ++steps;
    if (step == Step::again) ++steps_again;
    armed_in_a_step = armed_in_a_step || source.armed;
    if (meanwhile && std::this_thread::get_id() != creator_) {
      unlock();
      std::exchange(meanwhile, nullptr)();
      lock();
    }
    const int arrived = source.waiting.exchange(0);
    handled.fetch_add(arrived);
    return {static_cast<unsigned>(arrived), lock_wanted};
  }
  void flush() override { ++flushes; }
  bool has_work() override { return work; }
  Nanoseconds deadline() override {
    if (before_sleep) before_sleep();
    return next_deadline;
  }
  Nanoseconds now() override {
    if (tick != 0) return ticked_ += tick;
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
  }
  void thread_begins() override {
    begun_first = steps == 0;
    begun_by = std::this_thread::get_id();
  }
  void thread_ends() override { ended.store(true); }

  // By the caller.
  bool is_locked() const { return holder_.load() == std::this_thread::get_id(); }

  FakeSource source;
  ArrivalWord next_arrival;
  std::atomic<int> handled{0};
  std::atomic<std::uint64_t> steps{0};
  std::uint64_t steps_again = 0;
  std::atomic<bool> ended{false};
  std::atomic<int> unlocks_elsewhere{0};
  std::thread::id progress_thread;
  std::thread::id begun_by;
  bool armed_in_a_step = false;
  bool begun_first = false;            // before any progress
  std::function<void()> meanwhile;     // what the next step of another thread than the creator's does without the lock
  std::function<void()> before_sleep;  // who is about to sleep asks for the deadline
  std::atomic<int> hand_overs{0};
  bool lock_wanted = false;
  int flushes = 0;
  bool work = false;
  Nanoseconds next_deadline = UINT64_MAX;
  Nanoseconds tick = 0;  // between two looks at the clock; 0: real time

 private:
  Nanoseconds ticked_ = 0;
  const std::thread::id creator_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::atomic<std::thread::id> holder_{};
};

class Condition final : public WaitCondition {
 public:
  explicit Condition(std::function<bool()> test, Asking asking = Asking::looks)
      : WaitCondition(asking), test_(std::move(test)) {}
  bool holds() override { return test_(); }
  void waits_long() override { ++long_waits; }

  int long_waits = 0;

 private:
  std::function<bool()> test_;
};

// With the engine's lock held.
inline void set_mode(Poller& poller, bool interrupt) {
  if (const auto bell = poller.set_interrupt_mode(interrupt)) bell->ring();
}

// Whoever else can run has about as much of the processors as this thread takes: also where many wait for them.
inline void let_others_run() {
  const auto taken = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
  };
  for (const Nanoseconds end = taken() + kMillisecond; taken() < end;) std::this_thread::yield();
}

inline constexpr PacingLimits kBriefly{ThreadPolicy::adaptive, 20 * kMicrosecond};

}  // namespace openlapi
