#include "api/context/guest_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "api/lock/context_lock.h"
#include "tests/support/allocation_count.h"

namespace openlapi {
namespace {

struct NumberedCall final : GuestCall {
  NumberedCall(int thread_number, int call_number) : GuestCall(1), thread(thread_number), number(call_number) {}
  bool run(Context&) override { return true; }
  const int thread, number;
};

std::unique_ptr<NumberedCall> call_number(int number) { return std::make_unique<NumberedCall>(0, number); }

TEST(GuestCallsTest, GivesThemInTheirOrderOnce) {
  GuestCalls calls;
  EXPECT_EQ(calls.take_all(), nullptr);
  for (int number = 0; number < 3; ++number) EXPECT_TRUE(calls.push(call_number(number)));
  std::unique_ptr<GuestCall> call = calls.take_all();
  for (int number = 0; number < 3; ++number, call = std::move(call->next)) {
    EXPECT_EQ(static_cast<NumberedCall&>(*call).number, number);
  }
  EXPECT_EQ(call, nullptr);
  EXPECT_EQ(calls.take_all(), nullptr);
}

TEST(GuestCallsTest, KeepsSoManyAndHasRoomAgain) {
  GuestCalls calls;
  for (std::size_t count = 0; count < GuestCalls::kMostCalls; ++count) ASSERT_TRUE(calls.push(call_number(0)));
  EXPECT_FALSE(calls.push(call_number(1)));
  for (auto call = calls.take_all(); call != nullptr; call = std::move(call->next)) {
    EXPECT_EQ(static_cast<NumberedCall&>(*call).number, 0);
  }
  EXPECT_TRUE(calls.push(call_number(2)));
}

struct CallTo final : GuestCall {
  CallTo(PeerIndex peer, int call_number) : GuestCall(1, peer), number(call_number) {}
  bool run(Context&) override { return true; }
  const int number;
};

// Neither lost nor out of order, however often their target is asked for; others pass.
TEST(UnbegunCallsTest, WaitForTheirTargetInTheirOrder) {
  constexpr PeerIndex kLookedFor = 1, kOther = 2;
  bool found = false;
  std::vector<int> begun;
  const auto run = [&](GuestCall& call) {
    if (call.target == kLookedFor && !found) return false;
    begun.push_back(static_cast<CallTo&>(call).number);
    return true;
  };
  UnbegunCalls calls;
  calls.begin(std::make_unique<CallTo>(kLookedFor, 0), run);
  calls.begin(std::make_unique<CallTo>(kOther, 1), run);
  calls.go_on(run);
  EXPECT_EQ(begun, std::vector{1});
  found = true;
  calls.begin(std::make_unique<CallTo>(kLookedFor, 2), run);
  EXPECT_EQ(calls.size(), 2u) << "the first one has not begun";
  calls.go_on(run);
  EXPECT_EQ(begun, (std::vector{1, 0, 2}));
  EXPECT_EQ(calls.size(), 0u);
}

// Nobody could be told that there was no memory for a call that was taken.
TEST(UnbegunCallsTest, AreKeptWithoutMemory) {
  const auto run = [](GuestCall&) { return false; };
  UnbegunCalls calls;
  std::vector<std::unique_ptr<GuestCall>> made;
  for (int number = 0; number != 100; ++number) made.push_back(std::make_unique<CallTo>(PeerIndex{1}, number));
  test::refuse_allocations(1);
  for (std::unique_ptr<GuestCall>& call : made) calls.begin(std::move(call), run);
  calls.go_on(run);
  test::allow_allocations();
  EXPECT_EQ(calls.size(), 100u);
}

// As a context does it: what is taken is in order for each thread that has left something.
class Host final : public LockGuests {
 public:
  explicit Host(int threads) : last_(static_cast<std::size_t>(threads), -1) { lock.set_guests(this); }
  void admit_guests() override {
    lock.guests_admitted();
    for (auto call = calls.take_all(); call != nullptr; call = std::move(call->next)) {
      const auto& numbered = static_cast<NumberedCall&>(*call);
      int& last = last_[static_cast<std::size_t>(numbered.thread)];
      if (numbered.number != last + 1) ++wrong;
      last = numbered.number;
      ++admitted;
    }
  }

  ContextLock lock;
  GuestCalls calls;
  int admitted = 0, wrong = 0;

 private:
  std::vector<int> last_;
};

TEST(LockGuestsTest, AreAdmittedAtOnceWhenTheLockIsFree) {
  Host host(1);
  EXPECT_TRUE(host.calls.push(call_number(0)));
  host.lock.announce_guest();
  EXPECT_EQ(host.admitted, 1);
  EXPECT_FALSE(host.lock.has_guest());
  EXPECT_EQ(host.lock.owner(), ContextLock::kNobody);
}

TEST(LockGuestsTest, AreAdmittedByTheOwnerWhenItFreesTheLock) {
  Host host(1);
  host.lock.lock();
  std::thread([&] {
    EXPECT_TRUE(host.calls.push(call_number(0)));
    host.lock.announce_guest();
  }).join();
  EXPECT_EQ(host.admitted, 0);
  EXPECT_TRUE(host.lock.has_guest());
  EXPECT_TRUE(host.lock.wanted());  // so that a thread that polls for long frees it
  host.lock.unlock();
  EXPECT_EQ(host.admitted, 1);
  EXPECT_FALSE(host.lock.wanted());
  EXPECT_TRUE(host.lock.try_lock());
  host.lock.unlock();
}

// Nobody comes later to find what was left: every one is admitted by somebody who was there.
TEST(LockGuestsTest, NoneIsForgottenAmongManyThreads) {
  constexpr int kGuests = 3, kOwners = 3, kRounds = 20'000;
  Host host(kGuests);
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int guest = 0; guest < kGuests; ++guest) {
    threads.emplace_back([&, guest] {
      for (int number = 0; number < kRounds; ++number) {
        while (!host.calls.push(std::make_unique<NumberedCall>(guest, number))) {
          ++refused;
          host.lock.announce_guest();
          std::this_thread::yield();
        }
        host.lock.announce_guest();
      }
    });
  }
  for (int owner = 0; owner < kOwners; ++owner) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        host.lock.lock();
        host.lock.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(host.admitted, kGuests * kRounds);
  EXPECT_EQ(host.wrong, 0);
  EXPECT_FALSE(host.lock.has_guest());
  EXPECT_FALSE(host.lock.wanted());
}

}  // namespace
}  // namespace openlapi
