// Over a device of the test's own: libibverbs's functions are taken over by name.
#include "nic/verbs/address_handles.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "nic/verbs/monotonic_time.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint8_t kMany = 40;      // more than are made at a time
constexpr std::uint64_t kAge = 60'000;  // ms: what nobody has asked for is too old then

// Makes handles when it is open.
struct Kernel {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  std::atomic<int> made = 0;    // or refused
  std::atomic<int> living = 0;  // handles
  std::thread::id maker;        // of the latest one
  std::atomic<int> error = 0;   // errno; 0: it makes them
};
Kernel kernel;
// Those from this one on are made so much later, however busy the machine is.
std::atomic<int> made_at_that_age = INT_MAX;

class AddressHandlesTest : public testing::Test {
 protected:
  AddressHandlesTest() {
    kernel.made = kernel.error = 0;
    made_at_that_age = INT_MAX;
    handles_.open(domain_, true);
  }

  static void close() {
    const std::lock_guard guard(kernel.mutex);
    kernel.open = false;
  }
  static void open() {
    const std::lock_guard guard(kernel.mutex);
    kernel.open = true;
    kernel.changed.notify_all();
  }

  static AddressHandles::Wish wish(std::uint8_t host, std::uint64_t now, bool anew = false) {
    ibv_ah_attr route{};
    route.is_global = 1;
    route.grh.dgid.raw[15] = host;
    return {.route = route, .moves = 0, .anew = anew, .now = now};
  }
  AddressHandles::Found ask(const AddressHandles::Wish& wish) { return handles_.find_or_make(wish); }
  // Begins one that is not made before this has returned.
  int ask_closed(std::uint8_t host) {
    close();
    const int error = ask(wish(host, now_)).error;
    open();
    return error;
  }
  // Until there is an answer.
  AddressHandles::Found insist(AddressHandles::Wish wish) {
    AddressHandles::Found found = ask(wish);
    wish.anew = false;
    while (found.error == EINPROGRESS) found = ask(wish);
    return found;
  }

  const std::uint64_t now_ = milliseconds();
  ibv_pd domain_{};
  AddressHandles handles_;
};

TEST_F(AddressHandlesTest, AreAllMadeThoughTheirPeersTakeTurns) {
  std::map<std::uint8_t, std::shared_ptr<ibv_ah>> found;
  close();
  for (std::uint8_t host = 0; host != kMany; ++host) EXPECT_EQ(ask(wish(host, now_)).error, EINPROGRESS);
  open();
  while (found.size() != kMany && kernel.made <= kMany) {
    for (std::uint8_t host = kMany; host-- != 0;) {  // first those for which there was no thread
      if (found.contains(host)) continue;
      if (auto handle = ask(wish(host, now_)).handle) found[host] = std::move(handle);
    }
  }
  EXPECT_EQ(found.size(), std::size_t{kMany});
  EXPECT_EQ(kernel.made, int{kMany}) << "each once";
}

TEST_F(AddressHandlesTest, LiveAsLongAsSomebodyHasThem) {
  auto one = insist(wish(1, now_)).handle;
  ASSERT_TRUE(one);
  EXPECT_EQ(ask(wish(1, now_ + kAge)).handle, one);
  EXPECT_EQ(kernel.living, 1);
  one.reset();
  EXPECT_EQ(kernel.living, 0);
}

TEST_F(AddressHandlesTest, AreMadeByWhoAsksWhereNobodyIsLookedFor) {
  handles_.open(domain_, false);
  EXPECT_TRUE(ask(wish(1, now_)).handle);
  EXPECT_EQ(kernel.maker, std::this_thread::get_id());
  handles_.open(domain_, true);
  EXPECT_TRUE(insist(wish(2, now_)).handle);
  EXPECT_NE(kernel.maker, std::this_thread::get_id());
}

TEST_F(AddressHandlesTest, ThatWaitedTooLongAreMadeAgain) {
  made_at_that_age = 2;
  EXPECT_EQ(ask_closed(1), EINPROGRESS);
  EXPECT_TRUE(insist(wish(1, now_ + kAge)).handle);
  EXPECT_EQ(kernel.made, 2);
}

TEST_F(AddressHandlesTest, ThatNobodyHasAskedForEndSomeTime) {
  EXPECT_EQ(ask_closed(0), EINPROGRESS);
  for (std::uint8_t host = 1; host != 200; ++host) insist(wish(host, now_ + kAge));
  EXPECT_EQ(kernel.living, 0);
}

TEST_F(AddressHandlesTest, BegunBeforeTheyAreWantedAnewAreMadeAgain) {
  close();
  EXPECT_EQ(ask(wish(1, now_)).error, EINPROGRESS);
  EXPECT_EQ(ask(wish(1, now_, true)).error, EINPROGRESS);
  open();
  EXPECT_TRUE(insist(wish(1, now_)).handle);
  EXPECT_EQ(kernel.made, 2);
  EXPECT_EQ(ask_closed(2), EINPROGRESS);
  EXPECT_TRUE(insist(wish(2, now_, true)).handle);
  EXPECT_EQ(kernel.made, 4);
}

TEST_F(AddressHandlesTest, WantedAnewWhileThereIsNoThreadAreMadeLater) {
  const auto old = insist(wish(kMany, now_)).handle;
  close();
  for (std::uint8_t host = 0; host != kMany; ++host) ask(wish(host, now_));
  EXPECT_EQ(ask(wish(kMany, now_, true)).error, EINPROGRESS);
  open();
  const auto present = insist(wish(kMany, now_)).handle;
  EXPECT_TRUE(present);
  EXPECT_NE(present, old);
}

TEST_F(AddressHandlesTest, ThatCannotBeMadeAreNotTriedAgainForSomeSeconds) {
  made_at_that_age = 2;
  kernel.error = ETIMEDOUT;
  EXPECT_EQ(insist(wish(1, now_)).error, ETIMEDOUT);
  EXPECT_EQ(ask(wish(1, now_)).error, EHOSTUNREACH);
  EXPECT_EQ(kernel.made, 1);
  kernel.error = 0;
  EXPECT_TRUE(insist(wish(1, now_ + kAge)).handle);
  EXPECT_EQ(kernel.made, 2);
}

}  // namespace
}  // namespace openlapi::verbs

using openlapi::verbs::kernel;

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (kernel.made >= openlapi::verbs::made_at_that_age) time->tv_sec += openlapi::verbs::kAge / 1000;
  return static_cast<int>(result);
}

ibv_ah* ibv_create_ah(ibv_pd*, ibv_ah_attr*) {
  std::unique_lock guard(kernel.mutex);
  kernel.changed.wait(guard, [] { return kernel.open; });
  ++kernel.made;
  kernel.maker = std::this_thread::get_id();
  if (const int error = kernel.error; error != 0) return errno = error, nullptr;
  ++kernel.living;
  return new ibv_ah{};
}

int ibv_destroy_ah(ibv_ah* handle) {
  --kernel.living;
  delete handle;
  return 0;
}

}  // extern "C"
