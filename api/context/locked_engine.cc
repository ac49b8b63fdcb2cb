#include "api/context/locked_engine.h"

#include "api/context/context.h"
#include "api/context/memory_reserve.h"
#include "dataplane/base/own_memory.h"

namespace openlapi {

void LockedEngine::begin(Endpoint& endpoint, const MonotonicClock& clock) {
  endpoint_ = &endpoint;
  clock_ = &clock;
  attention_ = memory_short_ = false;
}

void LockedEngine::end() {
  endpoint_ = nullptr;
  clock_ = nullptr;
  attention_ = false;
}

StepOutcome LockedEngine::progress(Step step) {
  if (memory_short_ || memory_is_short()) [[unlikely]]
    watch_memory();
  steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const unsigned moved = endpoint_->progress(step);
  if (attention_) [[unlikely]]
    context().attend();
  return {moved, lock_.wanted()};
}

// What arrives needs memory, so that it waits where it is while the reserve runs low. Nothing is lost by that.
void LockedEngine::watch_memory() {
  memory_short_ = memory_is_short();
  endpoint_->hold_arrivals(memory_short_ && reserve_room() < kRoomForArrivals);
}

bool LockedEngine::has_work() { return context().handlers().has_faults() || endpoint_->has_work(); }

void LockedEngine::thread_begins() { context().thread_begins(); }

void LockedEngine::thread_ends() { context().thread_ends(); }

}  // namespace openlapi
