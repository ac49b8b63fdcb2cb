// The engine's clock: CLOCK_MONOTONIC, or the processor's time-stamp counter if the kernel uses that for its own time.
// The time is read twice per message, and reading the counter costs half as much as the kernel's clock.
#pragma once

#include <cstdint>

#include "dataplane/base/clock.h"

namespace openlapi {

Nanoseconds system_monotonic_time();

// The length of a tick of the time-stamp counter.
struct TickScale {
  std::uint64_t first_tick = 0;
  Nanoseconds first = 0;         // the system's time at that tick
  std::uint64_t multiplier = 0;  // nanoseconds of a tick, times 2^32; 0: the counter does not tell the time
};

// Measured by the first call in a process, which takes 200 us. Accurate to some parts in 10,000: time-outs and
// estimates need no more, and nothing is compared with the clock of another process.
const TickScale& tick_scale();

class MonotonicClock final : public Clock {
 public:
  explicit MonotonicClock(const TickScale& scale = tick_scale()) : scale_(scale) {}

  bool counts_ticks() const { return scale_.multiplier != 0; }

  [[gnu::always_inline]] Nanoseconds now() const override {
#if defined(__x86_64__)
    if (scale_.multiplier != 0) [[likely]] {
      // Not before earlier reads: another thread's time must not lie in the future.
      __builtin_ia32_lfence();
      const std::uint64_t ticks = __builtin_ia32_rdtsc() - scale_.first_tick;
      return scale_.first + static_cast<Nanoseconds>(static_cast<Product>(ticks) * scale_.multiplier >> 32);
    }
#endif
    return system_monotonic_time();
  }

 private:
#if defined(__x86_64__)
  __extension__ using Product = unsigned __int128;
#endif
  const TickScale scale_;
};

}  // namespace openlapi
