// A thread of the library's own: what the program asks of it, and its end.
#include "dataplane/poller/library_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "dataplane/base/monotonic_clock.h"

namespace openlapi {
namespace {

struct Seen {
  std::atomic<bool> initialized{false};
  std::atomic<bool> before_main{false};
  std::atomic<int> cancel_state{-1};
  std::atomic<bool> may_end{false};
  std::atomic<bool> ended{false};
};

void note_beginning(void* seen) { static_cast<Seen*>(seen)->initialized = true; }
void run_until_told(void* argument) {
  Seen& seen = *static_cast<Seen*>(argument);
  seen.before_main = seen.initialized.load();
  int state = -1;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  seen.cancel_state = state;
  while (!seen.may_end) std::this_thread::yield();
  seen.ended = true;
}

TEST(LibraryThreadStart, TheProgramsFunctionComesFirst) {
  Seen seen;
  seen.may_end = true;
  LibraryThread thread;
  ASSERT_EQ(thread.start({.initialize = note_beginning, .argument = &seen}, run_until_told, &seen), 0);
  thread.join(10 * kSecond);
  EXPECT_TRUE(seen.before_main);
  EXPECT_EQ(seen.cancel_state, PTHREAD_CANCEL_DISABLE);
}

TEST(LibraryThreadStart, SaysWhyThereIsNone) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{3} << (sizeof(void*) * 8 - 2)), 0);
  Seen seen;
  seen.may_end = true;
  LibraryThread thread;
  EXPECT_EQ(thread.start({.attributes = &attributes}, run_until_told, &seen), EAGAIN);
  thread.join(10 * kSecond);  // nothing to wait for
  pthread_attr_destroy(&attributes);
}

// It waits for no longer than it may, and then no more.
TEST(LibraryThreadJoin, IsOverInTime) {
  Seen seen;
  LibraryThread thread;
  ASSERT_EQ(thread.start({}, run_until_told, &seen), 0);
  const Nanoseconds begin = system_monotonic_time();
  thread.join(20 * kMillisecond);
  EXPECT_GE(system_monotonic_time() - begin, 15 * kMillisecond);  // by another clock
  EXPECT_FALSE(seen.ended);
  seen.may_end = true;
  while (!seen.ended) std::this_thread::yield();
  thread.join(10 * kSecond);
}

TEST(LibraryThreadJoin, WaitsForTheEnd) {
  Seen seen;
  LibraryThread thread;
  ASSERT_EQ(thread.start({}, run_until_told, &seen), 0);
  std::thread later([&] {
    for (int turn = 0; turn < 1'000; ++turn) std::this_thread::yield();
    seen.may_end = true;
  });
  thread.join(100 * kSecond);
  EXPECT_TRUE(seen.ended);
  later.join();
}

TEST(LibraryThreadJoin, DoesNotWaitForOneThatStartsDetached) {
  Seen seen;
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED), 0);
  LibraryThread thread;
  ASSERT_EQ(thread.start({.attributes = &attributes}, run_until_told, &seen), 0);
  pthread_attr_destroy(&attributes);
  thread.join(1'000 * kSecond);
  EXPECT_FALSE(seen.ended);
  seen.may_end = true;
  while (!seen.ended) std::this_thread::yield();
}

}  // namespace
}  // namespace openlapi
