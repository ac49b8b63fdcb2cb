#include "api/lock/context_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
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

// The favourite: the first thread that had the lock so often in a row.
class FavouredLock : public testing::Test {
 protected:
  void take_turns(std::uint32_t turns = ContextLock::kTurnsUntilFavoured) {
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      lock_.lock();
      EXPECT_TRUE(lock_.owned_by_caller());
      lock_.unlock();
    }
  }
  void take_elsewhere() {
    std::thread([&] {
      lock_.lock();
      EXPECT_TRUE(lock_.owned_by_caller());
      lock_.unlock();
    }).join();
  }

  ContextLock lock_;
};

TEST_F(FavouredLock, IsForTheFirstThatTakesItOftenInARow) {
  take_turns(ContextLock::kTurnsUntilFavoured - 1);
  EXPECT_FALSE(lock_.is_favoured());
  take_turns(1);
  EXPECT_EQ(lock_.is_favoured(), kHasProcessBarrier);
  lock_.lock();
  EXPECT_TRUE(lock_.owned_by_caller());
  lock_.unlock();
  EXPECT_FALSE(lock_.owned_by_caller());
}

TEST_F(FavouredLock, IsRevokedByOthersAndComesBackLater) {
  take_turns();
  take_elsewhere();
  EXPECT_FALSE(lock_.is_favoured());
  take_turns(2 * ContextLock::kTurnsUntilFavoured - 2);
  EXPECT_FALSE(lock_.is_favoured());
  take_turns(2);
  EXPECT_EQ(lock_.is_favoured(), kHasProcessBarrier);
}

TEST_F(FavouredLock, HasOneFavouriteOnly) {
  take_turns();
  std::thread([&] {
    take_turns(3 * ContextLock::kTurnsUntilFavoured);
    EXPECT_FALSE(lock_.is_favoured());
  }).join();
}

TEST_F(FavouredLock, IsHeldWhileTheFavouriteIsInside) {
  take_turns();
  lock_.lock();
  std::thread([&] { EXPECT_FALSE(lock_.try_lock()); }).join();
  EXPECT_EQ(lock_.is_favoured(), kHasProcessBarrier);  // as it was
  std::atomic<bool> through{false};
  std::thread waiter([&] {
    lock_.lock();
    through = true;
    lock_.unlock();
  });
  while (!lock_.wanted()) std::this_thread::yield();
  for (int look = 0; look < 1000; ++look) std::this_thread::yield();  // it goes to sleep meanwhile, or still spins
  EXPECT_FALSE(through.load());
  EXPECT_TRUE(lock_.owned_by_caller());
  lock_.unlock();
  waiter.join();
  EXPECT_TRUE(through.load());
  EXPECT_TRUE(lock_.try_lock());
  lock_.unlock();
}

TEST_F(FavouredLock, IsNotTakenTwice) {
  take_turns();
  lock_.lock();
  EXPECT_FALSE(lock_.try_lock());
  EXPECT_TRUE(lock_.owned_by_caller());
  lock_.unlock();
  EXPECT_TRUE(lock_.try_lock());
  EXPECT_FALSE(lock_.try_lock());
  lock_.unlock();
}

TEST_F(FavouredLock, IsTakenByOneThatDoesNotWait) {
  take_turns();
  std::thread([&] {
    ASSERT_TRUE(lock_.try_lock());
    EXPECT_TRUE(lock_.owned_by_caller());
    lock_.unlock();
  }).join();
  EXPECT_FALSE(lock_.is_favoured());
}

TEST_F(FavouredLock, ComesBackFromOneThatBorrowsIt) {
  take_turns();
  const auto borrow = [&](auto meanwhile) {
    std::thread([&] {
      ASSERT_TRUE(lock_.try_borrow());
      EXPECT_TRUE(lock_.owned_by_caller());
      EXPECT_FALSE(lock_.is_favoured());
      meanwhile();
      lock_.unlock();
    }).join();
  };
  for (int times = 0; times < 3; ++times) {
    borrow([] {});
    EXPECT_EQ(lock_.is_favoured(), kHasProcessBarrier);
    take_turns(1);
    EXPECT_EQ(lock_.is_favoured(), kHasProcessBarrier);
  }
  lock_.lock();
  std::thread([&] { EXPECT_FALSE(lock_.try_borrow()); }).join();
  lock_.unlock();
  std::thread waiter;
  borrow([&] {
    waiter = std::thread([&] {
      lock_.lock();
      lock_.unlock();
    });
    while (!lock_.wanted()) std::this_thread::yield();
  });
  waiter.join();
  EXPECT_FALSE(lock_.is_favoured());
  take_turns(2 * ContextLock::kTurnsUntilFavoured);
  EXPECT_EQ(lock_.is_favoured(), kHasProcessBarrier);
}

// Who never was the favourite does not become it.
TEST_F(FavouredLock, IsBorrowedWithoutAFavouriteToo) {
  for (int times = 0; times < 3; ++times) {
    std::thread([&] {
      ASSERT_TRUE(lock_.try_borrow());
      lock_.unlock();
    }).join();
    EXPECT_FALSE(lock_.is_favoured());
  }
  take_elsewhere();
  EXPECT_FALSE(lock_.is_favoured());
}

TEST_F(FavouredLock, IsHandedOver) {
  take_turns();
  lock_.lock();
  bool had = false;
  std::thread other([&] {
    lock_.lock();
    had = true;
    lock_.unlock();
  });
  while (!lock_.wanted()) std::this_thread::yield();
  lock_.hand_over();
  EXPECT_TRUE(had);
  EXPECT_TRUE(lock_.owned_by_caller());
  lock_.unlock();
  other.join();
}

TEST_F(FavouredLock, AdmitsGuestsThatCameWhileTheFavouriteWasInside) {
  class Guests final : public LockGuests {
   public:
    explicit Guests(ContextLock& lock) : lock_(lock) {}
    void admit_guests() override {
      EXPECT_TRUE(lock_.owned_by_caller());
      lock_.guests_admitted();
      ++admitted;
    }
    int admitted = 0;

   private:
    ContextLock& lock_;
  } guests(lock_);
  lock_.set_guests(&guests);
  take_turns();
  lock_.lock();
  std::thread([&] { lock_.announce_guest(); }).join();
  EXPECT_EQ(guests.admitted, 0);
  EXPECT_TRUE(lock_.has_guest());
  lock_.unlock();
  EXPECT_EQ(guests.admitted, 1);
  std::thread([&] { lock_.announce_guest(); }).join();
  EXPECT_EQ(guests.admitted, 2);
  EXPECT_FALSE(lock_.wanted());
  lock_.set_guests(nullptr);
}

// Most turns are the favourite's, and others come at any moment, some that wait and some that do not.
TEST_F(FavouredLock, ExcludesAllOthers) {
  constexpr int kTurnsOfOthers = 200;
  long count = 0, own = 0;
  std::atomic<int> others{3};
  std::vector<std::thread> threads;
  take_turns();
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int turn = 0; turn < kTurnsOfOthers;) {
        if (thread == 0 && !(turn % 2 != 0 ? lock_.try_lock() : lock_.try_borrow())) {
          std::this_thread::yield();
          continue;
        }
        if (thread != 0) lock_.lock();
        ++count;
        ++turn;
        lock_.unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(50 * thread));
      }
      --others;
    });
  }
  for (; others != 0 || own < 100'000; ++own) {
    lock_.lock();
    ++count;
    lock_.unlock();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, own + 3 * kTurnsOfOthers);
  EXPECT_FALSE(lock_.wanted());
}

}  // namespace
}  // namespace openlapi
