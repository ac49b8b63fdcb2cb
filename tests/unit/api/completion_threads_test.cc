#include "api/context/completion_threads.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace openlapi {
namespace {

class FakeOwner final : public CompletionOwner {
 public:
  void lock() override { mutex.lock(); }
  void unlock() override { mutex.unlock(); }
  void run_handler(const CompletionRun& run) override {
    const std::scoped_lock hold(mutex);  // the context's lock is free while a handler runs
    ran.push_back(run.source);
  }
  void handler_returned(const CompletionRun& run) override { returned.insert(run.source); }
  void thread_begins() override { ++begun; }
  void thread_ends() override {
    const std::scoped_lock hold(mutex);
    ++ended;
  }

  std::mutex mutex;
  std::vector<PeerIndex> ran;
  std::set<PeerIndex> returned;
  unsigned begun = 0;
  unsigned ended = 0;
};

CompletionRun run_of(PeerIndex source) {
  CompletionRun run;
  run.source = source;
  return run;
}

void stop(FakeOwner& owner, CompletionThreads& threads) {
  owner.lock();
  threads.request_stop();
  owner.unlock();
  threads.join(10 * kSecond);
}

TEST(CompletionQueueTest, GrowsAndKeepsOrder) {
  CompletionQueue queue;
  PeerIndex next_in = 0;
  PeerIndex next_out = 0;
  for (int round = 0; round < 2000; ++round) {
    queue.push(run_of(next_in++));
    queue.push(run_of(next_in++));
    EXPECT_EQ(queue.pop().source, next_out++);
  }
  while (!queue.empty()) EXPECT_EQ(queue.pop().source, next_out++);
  EXPECT_EQ(next_out, next_in);
}

TEST(CompletionThreadsTest, OneThreadRunsHandlersInOrderAndFinishesBeforeItEnds) {
  FakeOwner owner;
  CompletionThreads threads(owner);
  ASSERT_EQ(threads.start_one({}), 0);
  constexpr PeerIndex kRuns = 1000;
  for (PeerIndex run = 0; run < kRuns; ++run) {
    owner.lock();
    threads.push(run_of(run));
    owner.unlock();
  }
  stop(owner, threads);
  ASSERT_EQ(owner.ran.size(), kRuns);
  for (PeerIndex run = 0; run < kRuns; ++run) EXPECT_EQ(owner.ran[run], run);
  EXPECT_EQ(owner.returned.size(), kRuns);
  EXPECT_TRUE(threads.idle());
  EXPECT_EQ(owner.ended, 1U);
}

TEST(CompletionThreadsTest, SeveralThreadsRunEachHandlerOnce) {
  FakeOwner owner;
  CompletionThreads threads(owner);
  for (int thread = 0; thread < 4; ++thread) ASSERT_EQ(threads.start_one({}), 0);
  for (PeerIndex run = 0; run < 1000; ++run) {
    owner.lock();
    threads.push(run_of(run));
    owner.unlock();
  }
  stop(owner, threads);
  EXPECT_EQ(owner.ran.size(), 1000U);
  EXPECT_EQ(owner.returned.size(), 1000U);
  EXPECT_EQ(owner.begun, 4U);
  EXPECT_EQ(owner.ended, 4U);
}

}  // namespace
}  // namespace openlapi
