// Beside aligned_calls_test.cc, whose program has malloc() and free() of its own.
#include "api/rpi/lapi/arena_locks.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace openlapi::rpi {
namespace {

constexpr std::size_t kHeap = 1 << 20;

// The lock of an arena that another thread has found before it was made.
class ArenaLocksTest : public testing::Test {
 protected:
  ArenaLocksTest() {
    std::memset(heap_.get(), 0, kHeap);
    const void* const arena = lock_;
    std::memcpy(heap_.get(), &arena, sizeof arena);
    pthread_mutex_lock(lock_);
    keep_arena_locks();
  }

  struct Free {
    void operator()(void* place) const { std::free(place); }
  };
  std::unique_ptr<std::byte, Free> heap_{static_cast<std::byte*>(std::aligned_alloc(kHeap, kHeap))};
  pthread_mutex_t* const lock_ = reinterpret_cast<pthread_mutex_t*>(heap_.get() + 4 * sizeof(void*));
};

TEST_F(ArenaLocksTest, StayTakenWhenTheyAreMade) {
  EXPECT_EQ(pthread_mutex_init(lock_, nullptr), 0);
  EXPECT_EQ(pthread_mutex_trylock(lock_), EBUSY);
}

TEST_F(ArenaLocksTest, AreNoOtherLocks) {
  heap_.get()[0] = std::byte{1};
  EXPECT_EQ(pthread_mutex_init(lock_, nullptr), 0);
  EXPECT_EQ(pthread_mutex_trylock(lock_), 0) << "nothing says that an arena begins here";
  auto* const other = lock_ + 1;
  pthread_mutex_lock(other);
  EXPECT_EQ(pthread_mutex_init(other, nullptr), 0);
  EXPECT_EQ(pthread_mutex_trylock(other), 0);
}

}  // namespace
}  // namespace openlapi::rpi
