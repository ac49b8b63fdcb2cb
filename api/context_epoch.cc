#include "api/context_epoch.h"

#include <atomic>
#include <ctime>

namespace openlapi {

namespace {

constexpr std::int64_t kStart = 1704067200;  // 2024
constexpr std::int64_t kPerSecond = 16;      // lives are told apart for 4 years, and a new one may begin 63 ms later

std::atomic<std::uint32_t> last_epoch{0};

}  // namespace

std::uint32_t next_epoch() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const auto present =
      static_cast<std::uint32_t>((now.tv_sec - kStart) * kPerSecond + now.tv_nsec / (1'000'000'000 / kPerSecond));
  std::uint32_t last = last_epoch.load();
  std::uint32_t next = 0;
  do {
    // Epochs wrap round and 0 is none.
    next = last == 0 || static_cast<std::int32_t>(present - last) > 0 ? present : last + 1;
    if (next == 0) next = 1;
  } while (!last_epoch.compare_exchange_weak(last, next));
  return next;
}

}  // namespace openlapi
