#include "api/lock/context_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace openlapi {
namespace {

TEST(ContextLockTest, KnowsItsOwner) {
  ContextLock lock;
  EXPECT_FALSE(lock.owned_by_caller());
  lock.lock();
  EXPECT_TRUE(lock.owned_by_caller());
  EXPECT_TRUE(pthread_equal(lock.owner(), pthread_self()));
  bool other = true;
  std::thread([&] { other = lock.owned_by_caller(); }).join();
  EXPECT_FALSE(other);
  lock.unlock();
  EXPECT_EQ(lock.owner(), ContextLock::kNobody);
}

TEST(ContextLockTest, TryLockFailsWhileHeld) {
  ContextLock lock;
  lock.lock();
  bool taken = true;
  std::thread([&] { taken = lock.try_lock(); }).join();
  EXPECT_FALSE(taken);
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(ContextLockTest, ExcludesManyThreads) {
  ContextLock lock;
  long count = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20000; ++round) {
        lock.lock();
        ++count;
        lock.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 160000);
  EXPECT_FALSE(lock.wanted());
}

// However long it takes to wake who waits: it has had the lock once when hand_over() returns.
TEST(ContextLockTest, HandsOverToWhoeverWaits) {
  ContextLock lock;
  for (int round = 0; round < 500; ++round) {
    bool had = false;
    lock.lock();
    std::thread other([&] {
      lock.lock();
      had = true;
      lock.unlock();
    });
    while (!lock.wanted()) std::this_thread::yield();
    lock.hand_over();
    EXPECT_TRUE(had) << round;
    EXPECT_TRUE(lock.owned_by_caller());
    lock.unlock();
    other.join();
  }
}

TEST(ContextLockTest, HandsOverToNobodyWhereNobodyWaits) {
  ContextLock lock;
  lock.lock();
  lock.hand_over();
  EXPECT_TRUE(lock.owned_by_caller());
  lock.unlock();
}

// Held for longer than anybody spins: all but the owner sleep, and no wake-up may be missed.
TEST(ContextLockTest, SleepersTakeTurns) {
  ContextLock lock;
  long count = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        lock.lock();
        for (int look = 0; look < 20; ++look) std::this_thread::yield();
        ++count;
        lock.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 2000);
  EXPECT_FALSE(lock.wanted());
}

TEST(ContextLockTest, SleepingThreadIsWokenAndWantedIsSeen) {
  ContextLock lock;
  lock.lock();
  std::atomic<bool> through{false};
  std::thread waiter([&] {
    lock.lock();
    through = true;
    lock.unlock();
  });
  while (!lock.wanted()) std::this_thread::yield();
  for (int look = 0; look < 1000; ++look) std::this_thread::yield();  // it goes to sleep meanwhile, or still spins
  EXPECT_FALSE(through.load());
  lock.unlock();
  waiter.join();
  EXPECT_TRUE(through.load());
}

}  // namespace
}  // namespace openlapi
