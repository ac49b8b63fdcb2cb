// Over a device of the test's own: libibverbs's functions are taken over by name.
#include "nic/verbs/address_handles.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "nic/verbs/monotonic_time.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint8_t kMany = 40;            // more than are made at a time
constexpr std::uint64_t kAge = 60'000;        // ms: what nobody has asked for is too old then
constexpr std::uint64_t kPatience = 600'000;  // ms

// Makes handles when it is open.
struct Kernel {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  std::atomic<int> made = 0;    // or refused
  std::atomic<int> living = 0;  // handles
  std::atomic<int> error = 0;   // errno; 0: it makes them
};
Kernel kernel;

class AddressHandlesTest : public testing::Test {
 protected:
  AddressHandlesTest() { kernel.made = kernel.error = 0; }

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
    return {.route = route, .moves = 0, .anew = anew, .patience = 0, .now = now};
  }
  AddressHandles::Found ask(AddressHandles& handles, const AddressHandles::Wish& wish) {
    return handles.find_or_make(domain_, wish);
  }
  // Begins one that is not made before this has returned.
  int ask_closed(AddressHandles& handles, std::uint8_t host) {
    close();
    const int error = ask(handles, wish(host, now_)).error;
    open();
    return error;
  }
  // Until there is an answer.
  AddressHandles::Found insist(AddressHandles& handles, AddressHandles::Wish wish) {
    wish.patience = kPatience;
    AddressHandles::Found found{{}, EINPROGRESS};
    while (found.error == EINPROGRESS) found = ask(handles, wish);
    return found;
  }

  const std::uint64_t now_ = milliseconds();
  ibv_pd domain_{};
};

TEST_F(AddressHandlesTest, AreAllMadeThoughTheirPeersTakeTurns) {
  AddressHandles handles;
  std::map<std::uint8_t, std::shared_ptr<ibv_ah>> found;
  close();
  for (std::uint8_t host = 0; host != kMany; ++host) EXPECT_EQ(ask(handles, wish(host, now_)).error, EINPROGRESS);
  open();
  while (found.size() != kMany && kernel.made <= kMany) {
    for (std::uint8_t host = kMany; host-- != 0;) {  // first those for which there was no thread
      if (found.contains(host)) continue;
      if (auto handle = ask(handles, wish(host, now_)).handle) found[host] = std::move(handle);
    }
  }
  EXPECT_EQ(found.size(), std::size_t{kMany});
  EXPECT_EQ(kernel.made, int{kMany}) << "each once";
}

TEST_F(AddressHandlesTest, LiveAsLongAsSomebodyHasThem) {
  AddressHandles handles;
  auto one = insist(handles, wish(1, now_)).handle;
  ASSERT_TRUE(one);
  EXPECT_EQ(ask(handles, wish(1, now_ + kAge)).handle, one);
  EXPECT_EQ(kernel.living, 1);
  one.reset();
  EXPECT_EQ(kernel.living, 0);
}

TEST_F(AddressHandlesTest, ThatWaitedTooLongAreMadeAgain) {
  AddressHandles handles;
  EXPECT_EQ(ask_closed(handles, 1), EINPROGRESS);
  EXPECT_TRUE(insist(handles, wish(1, now_ + kAge)).handle);
  EXPECT_EQ(kernel.made, 2);
}

TEST_F(AddressHandlesTest, ThatNobodyHasAskedForEndSomeTime) {
  AddressHandles handles;
  EXPECT_EQ(ask_closed(handles, 0), EINPROGRESS);
  for (std::uint8_t host = 1; host != 200; ++host) insist(handles, wish(host, now_ + kAge));
  EXPECT_EQ(kernel.living, 0);
}

TEST_F(AddressHandlesTest, BegunBeforeTheyAreWantedAnewAreMadeAgain) {
  AddressHandles handles;
  close();
  EXPECT_EQ(ask(handles, wish(1, now_)).error, EINPROGRESS);
  EXPECT_EQ(ask(handles, wish(1, now_, true)).error, EINPROGRESS);
  open();
  EXPECT_TRUE(insist(handles, wish(1, now_)).handle);
  EXPECT_EQ(kernel.made, 2);
  EXPECT_EQ(ask_closed(handles, 2), EINPROGRESS);
  EXPECT_TRUE(insist(handles, wish(2, now_, true)).handle);
  EXPECT_EQ(kernel.made, 4);
}

TEST_F(AddressHandlesTest, WantedAnewWhileThereIsNoThreadAreMadeLater) {
  AddressHandles handles;
  const auto old = insist(handles, wish(kMany, now_)).handle;
  close();
  for (std::uint8_t host = 0; host != kMany; ++host) ask(handles, wish(host, now_));
  EXPECT_EQ(ask(handles, wish(kMany, now_, true)).error, EINPROGRESS);
  open();
  const auto present = insist(handles, wish(kMany, now_)).handle;
  EXPECT_TRUE(present);
  EXPECT_NE(present, old);
}

TEST_F(AddressHandlesTest, ThatCannotBeMadeAreNotTriedAgainForSomeSeconds) {
  AddressHandles handles;
  kernel.error = ETIMEDOUT;
  EXPECT_EQ(insist(handles, wish(1, now_)).error, ETIMEDOUT);
  EXPECT_EQ(ask(handles, wish(1, now_)).error, EHOSTUNREACH);
  EXPECT_EQ(kernel.made, 1);
  kernel.error = 0;
  EXPECT_TRUE(insist(handles, wish(1, now_ + kAge)).handle);
  EXPECT_EQ(kernel.made, 2);
}

// Or the peers' own pauses would come on top of that.
TEST_F(AddressHandlesTest, ThatCannotBeMadeSayWhenToAskAgain) {
  AddressHandles handles;
  kernel.error = ETIMEDOUT;
  const std::uint64_t not_before = insist(handles, wish(1, now_)).not_before;
  EXPECT_GT(not_before, now_);
  EXPECT_EQ(ask(handles, wish(1, not_before - 1)).not_before, not_before);
  EXPECT_EQ(kernel.made, 1);
  EXPECT_NE(insist(handles, wish(1, not_before)).error, EHOSTUNREACH);
  EXPECT_EQ(kernel.made, 2);
  kernel.error = ENOMEM;
  EXPECT_GT(insist(handles, wish(2, now_)).not_before, now_);
  EXPECT_EQ(insist(handles, wish(2, now_)).error, ENOMEM) << "which may be over";
  EXPECT_EQ(kernel.made, 4);
}

TEST_F(AddressHandlesTest, ThatCannotBeMadeAreToldOnce) {
  AddressHandles handles;
  kernel.error = ETIMEDOUT;
  AddressHandles::Wish telling = wish(1, now_);
  telling.tells = true;
  EXPECT_FALSE(insist(handles, wish(1, now_)).untold) << "who asks does not tell";
  EXPECT_TRUE(ask(handles, telling).untold);
  EXPECT_FALSE(ask(handles, telling).untold);
  telling.now += kAge;
  EXPECT_TRUE(insist(handles, telling).untold) << "a new look";
  EXPECT_EQ(kernel.made, 2);
}

}  // namespace
}  // namespace openlapi::verbs

using openlapi::verbs::kernel;

extern "C" {

ibv_ah* ibv_create_ah(ibv_pd*, ibv_ah_attr*) {
  std::unique_lock guard(kernel.mutex);
  kernel.changed.wait(guard, [] { return kernel.open; });
  ++kernel.made;
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
