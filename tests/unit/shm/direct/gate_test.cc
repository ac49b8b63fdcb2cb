// The gate between two processes: while it is closed nobody is inside, whoever comes, dies or is interrupted.
#include "shm/direct/gate.h"

#include <sched.h>

#include "tests/support/no_descriptors.h"
#include "tests/support/sanitizers.h"
#include "tests/unit/shm/direct/opened_memory.h"

namespace openlapi::direct {
namespace {

struct Progress {
  std::atomic<std::uint64_t> added{0};
  std::atomic<bool> stop{false};
};

// Adds one to the word until it is told to stop.
int add_until_stopped(NeighbourMemory& memory, std::uint64_t word, Progress& progress) {
  while (!progress.stop) {
    if (add_directly(memory, word, 1)) progress.added.fetch_add(1);
  }
  return 0;
}

// The owner adds to the word as if it had it alone whenever the gate is closed: not one addition is lost.
void expect_exact_sum(OpenedMemory& owner) {
  const OpenRange range = owner.open(kRegion);
  auto& word = *reinterpret_cast<volatile std::uint64_t*>(range.begin);
  auto& progress = shared_contents<Progress>();
  owner.gate.open();
  NeighbourProcess neighbour([&] { return add_until_stopped(*owner.neighbour(0), range.begin, progress); });
  owner.gate.admit(0, neighbour.number());
  std::uint64_t own = 0;
  for (std::uint64_t rounds = repetitions(3000), seen = 0; rounds > 0; --rounds) {
    while (progress.added == seen) sched_yield();
    seen = progress.added;
    owner.gate.close();
    const std::uint64_t before = word;
    for (int look = 0; look < 50; ++look) ASSERT_EQ(word, before);
    word = before + 1;
    ++own;
    owner.gate.open();
  }
  progress.stop = true;
  EXPECT_EQ(neighbour.end(), 0);
  EXPECT_EQ(word, own + progress.added);
}

TEST(Gate, KeepsNeighboursOutWhileItIsClosed) {
  OpenedMemory owner;
  expect_exact_sum(owner);
}

TEST(Gate, NeedsNoBarrierOfTheKernel) {
  OpenedMemory owner;
  owner.control.header().barrier = 0;
  expect_exact_sum(owner);
}

TEST(Gate, OpensWithTheLastReasonAndInANewGeneration) {
  OpenedMemory owner;
  const OpenRange range = owner.open(kRegion);
  const auto neighbour = owner.neighbour(1);
  EXPECT_FALSE(add_directly(*neighbour, range.begin, 1)) << "a new gate is closed";
  owner.gate.open();
  EXPECT_TRUE(add_directly(*neighbour, range.begin, 1));
  const std::uint64_t generation = owner.control.header().generation;
  owner.gate.shut();
  owner.gate.close();
  owner.gate.open();
  EXPECT_FALSE(add_directly(*neighbour, range.begin, 1));
  owner.gate.open();
  EXPECT_GT(owner.control.header().generation, generation);
  EXPECT_TRUE(add_directly(*neighbour, range.begin, 1));
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(range.begin), 2u);
}

TEST(Gate, DoesNotWaitForWhoWasKilledInside) {
  OpenedMemory owner;
  owner.gate.open();
  NeighbourProcess neighbour([&] {
    const auto memory = owner.neighbour(0);
    const Entrance::Visit visit(memory->entrance());
    raise(SIGKILL);
    return 0;
  });
  owner.gate.admit(0, neighbour.number());
  while (owner.control.line(0).busy == 0) sched_yield();
  owner.gate.close();
  EXPECT_NE(owner.control.line(0).busy, 0u);
  EXPECT_EQ(neighbour.end(), -SIGKILL);
}

TEST(Gate, LooksForTheDeadAlsoIfThereWasNoDescriptorAtFirst) {
  OpenedMemory owner;
  auto& admitted = shared_contents<std::atomic<bool>>();
  owner.gate.open();
  NeighbourProcess neighbour([&] {
    while (!admitted) sched_yield();
    const auto memory = owner.neighbour(0);
    const Entrance::Visit visit(memory->entrance());
    raise(SIGKILL);
    return 0;
  });
  {
    const NoDescriptors limit;
    owner.gate.admit(0, neighbour.number());
  }
  admitted = true;
  while (owner.control.line(0).busy == 0) sched_yield();
  EXPECT_TRUE(owner.gate.try_close());
  EXPECT_EQ(neighbour.end(), -SIGKILL);
}

TEST(Gate, WaitsForWhoIsInside) {
  OpenedMemory owner;
  auto& left = shared_contents<std::atomic<bool>>();
  auto& inside = shared_contents<std::atomic<bool>>();
  owner.gate.open();
  NeighbourProcess neighbour([&] {
    const auto memory = owner.neighbour(0);
    const ControlMemory control = owner.attached();
    const Entrance::Visit visit(memory->entrance());
    inside = true;
    while (!is_closed(control.header().generation)) sched_yield();
    for (int turn = 0; turn < 1000; ++turn) sched_yield();
    left = true;
    return 0;
  });
  owner.gate.admit(0, neighbour.number());
  while (!inside) sched_yield();
  owner.gate.close();
  EXPECT_TRUE(left);
  EXPECT_EQ(neighbour.end(), 0);
}

TEST(Gate, DoesNotWaitForEverForWhoIsStopped) {
  OpenedMemory owner;
  auto& inside = shared_contents<std::atomic<bool>>();
  auto& left = shared_contents<std::atomic<bool>>();
  owner.gate.open();
  NeighbourProcess neighbour([&] {
    const auto memory = owner.neighbour(0);
    const ControlMemory control = owner.attached();
    {
      const Entrance::Visit visit(memory->entrance());
      raise(SIGSTOP);
    }
    const Entrance::Visit visit(memory->entrance());
    inside = true;
    while (!is_closed(control.header().generation)) sched_yield();
    for (int turn = 0; turn < 1000; ++turn) sched_yield();
    left = true;
    return 0;
  });
  owner.gate.admit(0, neighbour.number());
  neighbour.await_stop();
  EXPECT_FALSE(owner.gate.try_close());
  owner.gate.leave_behind(0);
  EXPECT_TRUE(owner.gate.try_close()) << "it is in the same operation";
  owner.gate.open();
  owner.gate.open();
  EXPECT_TRUE(owner.gate.close_to(1));
  EXPECT_TRUE(owner.gate.close_to(0));
  owner.gate.open();
  owner.gate.open();
  neighbour.go_on();
  while (!inside) sched_yield();
  owner.gate.close();
  EXPECT_TRUE(left) << "in the next operation it is waited for";
  EXPECT_EQ(neighbour.end(), 0);
}

NeighbourMemory* interrupted = nullptr;
std::uint64_t interrupted_word = 0;

TEST(Gate, StaysBusyAroundAVisitOfASignalHandler) {
  OpenedMemory owner;
  const OpenRange range = owner.open(kRegion);
  owner.gate.open();
  const auto neighbour = owner.neighbour(0);
  interrupted = neighbour.get();
  interrupted_word = range.begin;
  add_directly(*neighbour, range.begin, 1);
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { add_directly(*interrupted, interrupted_word, 1); };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  const std::atomic<std::uint64_t>& busy = owner.control.line(0).busy;
  {
    const Entrance::Visit visit(neighbour->entrance());
    raise(SIGUSR1);
    EXPECT_NE(busy, 0u);
  }
  EXPECT_EQ(busy, 0u);
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(range.begin), 2u);
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace openlapi::direct
