#include "api/wiring/next_epoch.h"

#include <atomic>
#include <ctime>

#include "dataplane/base/epoch.h"
#include "dataplane/base/random_number.h"

namespace openlapi {

namespace {

// The present in the high 30 bits orders incarnations; those in the middle are random, so that nobody can name an
// incarnation whose beginning he has seen; the low ones count the beginnings with one peer.
constexpr std::int64_t kStart = 1704067200;  // 2024
constexpr std::int64_t kPerSecond = 16;  // incarnations are told apart for a year, and a new one may begin 63 ms later
constexpr std::uint32_t kTimes = 1u << 30;
constexpr unsigned kRandomBits = 12;

constexpr bool is_later(std::uint32_t time, std::uint32_t than) { return (time - than) % kTimes - 1 < kTimes / 2; }

std::atomic<std::uint32_t> last_time{0};

}  // namespace

std::uint64_t next_epoch() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const auto present = static_cast<std::uint32_t>((now.tv_sec - kStart) * kPerSecond +
                                                  now.tv_nsec / (1'000'000'000 / kPerSecond)) % kTimes;
  std::uint32_t last = last_time.load();
  std::uint32_t next = 0;
  do {
    // Times wrap round, and 0 is none.
    next = last == 0 || is_later(present, last) ? present : (last + 1) % kTimes;
    if (next == 0) next = 1;
  } while (!last_time.compare_exchange_weak(last, next));
  const std::uint64_t random = random_number<std::uint16_t>() % (1u << kRandomBits);
  return (std::uint64_t{next} << kRandomBits | random) << kBeginningBits;
}

}  // namespace openlapi
