#include "api/rpi/lapi/arena_locks.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "api/rpi/lapi/function_words.h"

namespace openlapi::rpi {

namespace {

constexpr std::uintptr_t kHeapStep = 1 << 20;            // at which an arena's memory begins,
constexpr std::uintptr_t kHeapHead = 4 * sizeof(void*);  // with its place and other words; the lock is behind them

using MakeLock = int (*)(pthread_mutex_t* lock, const pthread_mutexattr_t* attributes);
std::atomic<MakeLock> make_lock_of_process{nullptr};

bool is_of_arena(const pthread_mutex_t* lock) {
  const auto place = reinterpret_cast<std::uintptr_t>(lock);
  if (place % kHeapStep != kHeapHead) return false;
  std::uintptr_t arena = 0;
  std::memcpy(&arena, reinterpret_cast<const void*>(place - kHeapHead), sizeof arena);
  return arena == place;
}

int led_pthread_mutex_init(pthread_mutex_t* lock, const pthread_mutexattr_t* attributes) {
  if (attributes == nullptr && is_of_arena(lock)) return 0;
  return make_lock_of_process.load()(lock, attributes);
}

struct LedLocks {
  std::uintptr_t freeing;  // the function free()
  Leading making;
};

int lead_where_arenas_are(dl_phdr_info* object, std::size_t, void* argument) {
  const auto& led = *static_cast<const LedLocks*>(argument);
  if (!has_place(*object, led.freeing, PF_X)) return 0;
  lead_calls(*object, {&led.making, 1});
  return 1;
}

}  // namespace

void keep_arena_locks() {
  void* const freeing = dlsym(RTLD_DEFAULT, "free");
  void* const making = dlsym(RTLD_DEFAULT, "pthread_mutex_init");
  if (freeing == nullptr || making == nullptr ||
      object_of(freeing) == object_of(dlsym(RTLD_DEFAULT, "posix_memalign"))) {
    return;
  }
  make_lock_of_process = reinterpret_cast<MakeLock>(making);
  LedLocks led{reinterpret_cast<std::uintptr_t>(freeing),
               {"pthread_mutex_init", making, reinterpret_cast<void*>(&led_pthread_mutex_init)}};
  dl_iterate_phdr(lead_where_arenas_are, &led);
}

}  // namespace openlapi::rpi
