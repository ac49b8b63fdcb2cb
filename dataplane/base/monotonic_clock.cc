#include "dataplane/base/monotonic_clock.h"

#include <sys/prctl.h>
#include <time.h>

#include <fstream>
#include <string>

namespace openlapi {

Nanoseconds system_monotonic_time() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

#if defined(__x86_64__)
namespace {

// The kernel has checked that the counter runs evenly and is the same on all processors, and watches it.
bool kernel_counts_ticks() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return file >> name && name == "tsc";
}

// A process may have forbidden itself to read it.
bool may_read_ticks() {
  int mode = PR_TSC_SIGSEGV;
  return prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_ENABLE;
}

struct Moment {
  std::uint64_t tick;
  Nanoseconds time;
};

// Both clocks at once: of several looks the one that was disturbed least.
Moment look_at_both() {
  constexpr int kLooks = 16;
  Moment best{};
  std::uint64_t shortest = UINT64_MAX;
  for (int look = 0; look < kLooks; ++look) {
    const std::uint64_t before = __builtin_ia32_rdtsc();
    const Nanoseconds time = system_monotonic_time();
    const std::uint64_t length = __builtin_ia32_rdtsc() - before;
    if (length >= shortest) continue;
    shortest = length;
    best = {before + length / 2, time};
  }
  return best;
}

TickScale measure() {
  constexpr Nanoseconds kMeasured = 200 * kMicrosecond;
  if (!kernel_counts_ticks() || !may_read_ticks()) return {};
  const Moment first = look_at_both();
  while (system_monotonic_time() - first.time < kMeasured) {
  }
  const Moment last = look_at_both();
  if (last.tick <= first.tick || last.time <= first.time) return {};
  const double length = static_cast<double>(last.time - first.time) / static_cast<double>(last.tick - first.tick);
  return {first.tick, first.time, static_cast<std::uint64_t>(length * 0x1p32)};
}

}  // namespace

const TickScale& tick_scale() {
  static const TickScale scale = measure();
  return scale;
}
#else
const TickScale& tick_scale() {
  static const TickScale none;
  return none;
}
#endif

}  // namespace openlapi
