#include "nic/verbs/slow_destruction.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "nic/verbs/reliable_queue_pair.h"

namespace {

// An adapter that destroys nothing before it may, but by the thread that must not wait.
struct FakeKernel {
  std::promise<void> may_end;
  std::shared_future<void> ends = may_end.get_future().share();
  const std::thread::id engine = std::this_thread::get_id();
  std::atomic<int> destroyed = 0, by_engine = 0, running = 0;  // running: destroyed without having been stopped
};

FakeKernel* fake_kernel = nullptr;

}  // namespace

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd*, ibv_qp_init_attr*) { return new ibv_qp{}; }

int ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int) {
  queue_pair->state = attributes->qp_state;
  return 0;
}

int ibv_destroy_qp(ibv_qp* queue_pair) {
  if (std::this_thread::get_id() == fake_kernel->engine) {
    ++fake_kernel->by_engine;
  } else {
    fake_kernel->ends.wait();
  }
  fake_kernel->running += queue_pair->state != IBV_QPS_ERR;
  ++fake_kernel->destroyed;
  delete queue_pair;
  return 0;
}

}  // extern "C"

namespace openlapi::verbs {
namespace {

class SlowDestructionTest : public testing::Test {
 protected:
  SlowDestructionTest() { fake_kernel = &kernel_; }

  FakeKernel kernel_;
  ibv_pd domain_{};
};

TEST_F(SlowDestructionTest, NobodyWaitsForQueuePairsThatEnd) {
  SlowDestruction destruction;
  ReliableSetting setting{.domain = &domain_, .destruction = &destruction};
  for (std::size_t ended = 1; ended <= 3; ++ended) {
    ASSERT_NE(ReliableQueuePair::make(setting), nullptr);  // and is over
    EXPECT_EQ(destruction.count(), ended);
  }
  EXPECT_EQ(kernel_.destroyed, 0);
  kernel_.may_end.set_value();
  while (destruction.count() != 0) std::this_thread::yield();
  EXPECT_EQ(kernel_.destroyed, 3);
  EXPECT_EQ(kernel_.by_engine, 0);
  EXPECT_EQ(kernel_.running, 0);
}

TEST_F(SlowDestructionTest, WhoNeedsItsRoomWaitsForAll) {
  SlowDestruction destruction;
  ReliableSetting setting{.domain = &domain_, .destruction = &destruction};
  for (int ended = 0; ended != 3; ++ended) ASSERT_NE(ReliableQueuePair::make(setting), nullptr);
  std::thread kernel([&] { kernel_.may_end.set_value(); });
  destruction.finish();
  kernel.join();
  EXPECT_EQ(destruction.count(), 0u);
  EXPECT_EQ(kernel_.destroyed, 3);
  destruction.finish();
}

TEST_F(SlowDestructionTest, NothingIsLeftAtItsEnd) {
  {
    SlowDestruction destruction;
    ReliableSetting setting{.domain = &domain_, .destruction = &destruction};
    for (int ended = 0; ended != 3; ++ended) ASSERT_NE(ReliableQueuePair::make(setting), nullptr);
    kernel_.may_end.set_value();
  }
  EXPECT_EQ(kernel_.destroyed, 3);
}

TEST_F(SlowDestructionTest, WhatMustBeGoneIsDestroyedAtOnce) {
  SlowDestruction destruction;
  ReliableSetting setting{.domain = &domain_, .destruction = &destruction};
  auto made = ReliableQueuePair::make(setting);
  ASSERT_NE(made, nullptr);
  made->destroy_at_once();
  made.reset();
  EXPECT_EQ(kernel_.by_engine, 1);
  setting.destruction = nullptr;  // the adapter's queues have no locks
  ASSERT_NE(ReliableQueuePair::make(setting), nullptr);
  EXPECT_EQ(kernel_.by_engine, 2);
  EXPECT_EQ(destruction.count(), 0u);
}

}  // namespace
}  // namespace openlapi::verbs
