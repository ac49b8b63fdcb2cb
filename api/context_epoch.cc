#include "api/context_epoch.h"

#include <atomic>
#include <ctime>

#include "dataplane/base/random_number.h"

namespace openlapi {

namespace {

// The present in the high 32 bits orders lives; the low ones are random, so that nobody can name a life whose beginning
// he has seen.
constexpr std::int64_t kStart = 1704067200;  // 2024
constexpr std::int64_t kPerSecond = 16;      // lives are told apart for 4 years, and a new one may begin 63 ms later
constexpr unsigned kRandomBits = 16;

std::atomic<std::uint32_t> last_time{0};

}  // namespace

std::uint64_t next_epoch() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const auto present =
      static_cast<std::uint32_t>((now.tv_sec - kStart) * kPerSecond + now.tv_nsec / (1'000'000'000 / kPerSecond));
  std::uint32_t last = last_time.load();
  std::uint32_t next = 0;
  do {
    // Times wrap round, and 0 is none.
    next = last == 0 || static_cast<std::int32_t>(present - last) > 0 ? present : last + 1;
    if (next == 0) next = 1;
  } while (!last_time.compare_exchange_weak(last, next));
  return std::uint64_t{next} << kRandomBits | random_number<std::uint16_t>();
}

}  // namespace openlapi
