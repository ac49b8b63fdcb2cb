// The engine of a context with the lock that protects it: what the poller drives.
#pragma once

#include <atomic>
#include <cstdint>

#include "api/context/context_part.h"
#include "api/lock/context_lock.h"
#include "dataplane/base/monotonic_clock.h"
#include "dataplane/endpoint/endpoint.h"
#include "dataplane/poller/poller.h"

namespace openlapi {

class LockedEngine final : public PolledEngine, public UpkeptEngine, private ContextPart {
 public:
  using ContextPart::ContextPart;

  // The context was opened.
  void begin(Endpoint& endpoint, const MonotonicClock& clock);
  // The context was closed: endpoint() is not there any more.
  void end();

  ContextLock& context_lock() { return lock_; }
  const ContextLock& context_lock() const { return lock_; }
  bool is_there() const { return endpoint_ != nullptr; }
  Endpoint& endpoint() const { return *endpoint_; }

  // There is work for Context::attend().
  bool wants_attention() const { return attention_; }
  void set_attention(bool wanted) { attention_ = wanted; }

  // PolledEngine.
  void lock() override { lock_.lock(); }
  void unlock() override { lock_.unlock(); }
  void hand_over_lock() override { lock_.hand_over(); }
  StepOutcome progress(Step step) override;
  ArrivalWord arrival_word() override { return endpoint_->arrival_word(); }
  void flush() override { endpoint_->flush(); }
  bool has_work() override;
  Nanoseconds deadline() override { return endpoint_->deadline(); }
  Nanoseconds now() override { return clock_->now(); }
  void thread_begins() override;
  void thread_ends() override;

  // UpkeptEngine.
  bool try_borrow() override { return lock_.try_borrow(); }
  std::uint32_t steps() const override { return steps_.load(std::memory_order_relaxed); }
  bool keep_up() override { return endpoint_->progress(Step::upkeep) != 0; }

 private:
  [[gnu::noinline]] void watch_memory();

  ContextLock lock_;
  Endpoint* endpoint_ = nullptr;
  const MonotonicClock* clock_ = nullptr;
  bool attention_ = false;
  bool memory_short_ = false;            // as the last step found it
  std::atomic<std::uint32_t> steps_{0};  // written with the lock
};

}  // namespace openlapi
