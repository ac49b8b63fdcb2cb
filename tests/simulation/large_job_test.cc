// A job of 8,192 tasks in one process: what an engine costs before it has talked to anybody, and that such a job works.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "dataplane/endpoint/endpoint.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/sync/collectives.h"
#include "tests/support/quiet_host.h"
#include "tests/support/simulated_network.h"

namespace {

// Bytes of the heap in use, counted by every operator new and delete of this program.
std::atomic<std::size_t> heap_bytes;

constexpr std::size_t kPrefix = 64;  // keeps alignment up to 64 bytes; the size stands in it

void* allocate(std::size_t bytes, std::size_t alignment) {
  void* block = std::aligned_alloc(kPrefix, (bytes + 2 * kPrefix - 1) / kPrefix * kPrefix);
  if (block == nullptr || alignment > kPrefix) std::abort();
  *static_cast<std::size_t*>(block) = bytes;
  heap_bytes += bytes;
  return static_cast<char*>(block) + kPrefix;
}

void give_back(void* memory) {
  if (memory == nullptr) return;
  void* block = static_cast<char*>(memory) - kPrefix;
  heap_bytes -= *static_cast<std::size_t*>(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 16); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }

namespace openlapi {
namespace {

constexpr std::uint32_t kTasks = 8192;
constexpr std::size_t kMostBytesPerEngine = 1024 * 1024;
constexpr std::size_t kMostBytesPerUnknownPeer = 64;

struct Member final : RouteResolver {
  Member(SimulatedNetwork& network, PeerIndex self) : transport(network, {.address = {self, 0, 0}}) {}
  Route resolve(PeerIndex) override {
    Route route;
    route.paths[0] = &transport;
    route.count = 1;
    return route;
  }

  SimulatedTransport transport;
  test::QuietHost host;
  std::unique_ptr<Endpoint> endpoint;
};

class JobOf : public testing::Test {
 protected:
  explicit JobOf(std::uint32_t tasks) : tasks_(tasks), network_(time_, 1) {
    NetworkFaults faults;
    faults.loss = 0.02;
    network_.set_faults(faults);
    for (PeerIndex task = 0; task < tasks_; ++task) members_.push_back(std::make_unique<Member>(network_, task));
    before_ = heap_bytes;
    for (PeerIndex task = 0; task < tasks_; ++task) open(task);
  }

  void open(PeerIndex task) {
    EndpointConfig config;
    config.self = task;
    config.tasks = tasks_;
    config.job_key = {0x1ac1, 0};
    Transport* transport = &members_[task]->transport;
    members_[task]->endpoint = std::make_unique<Endpoint>(config, std::span(&transport, 1), time_.clock(),
                                                          *members_[task], members_[task]->host);
  }

  // Steps of everybody until `done` or for a minute of virtual time.
  template <typename Done>
  bool run_until(Done done) {
    const Nanoseconds end = time_.now() + 60 * kSecond;
    while (time_.now() < end) {
      for (auto& member : members_) member->endpoint->progress();
      if (done()) return true;
      time_.run_until(time_.now() + 50 * kMicrosecond);
    }
    return false;
  }

  bool all_are_done_with_the_collective() {
    return run_until([&] {
      for (auto& member : members_) {
        if (member->endpoint->collectives().state() == CollectiveState::filled)
          member->endpoint->collectives().confirm_exchange();
      }
      return std::all_of(members_.begin(), members_.end(), [](const auto& member) {
        return member->endpoint->collectives().state() == CollectiveState::done;
      });
    });
  }

  const std::uint32_t tasks_;
  VirtualTime time_;
  SimulatedNetwork network_;
  std::vector<std::unique_ptr<Member>> members_;
  std::size_t before_ = 0;
};

class LargeJob : public JobOf {
 protected:
  LargeJob() : JobOf(kTasks) {}
};

class MiddlingJob : public JobOf {
 protected:
  MiddlingJob() : JobOf(600) {}
};

TEST_F(LargeJob, CostsLittleBeforeTraffic) {
  const std::size_t each = (heap_bytes - before_) / kTasks;
  RecordProperty("bytes_per_engine", std::to_string(each));
  std::printf("%zu bytes per engine, %.1f per peer that was never talked to\n", each,
              static_cast<double>(each) / kTasks);
  EXPECT_LE(each, kMostBytesPerEngine);
  EXPECT_LE(each, kMostBytesPerUnknownPeer * kTasks);
  EXPECT_EQ(members_[0]->endpoint->peers().contacted().size(), 0u);
}

TEST_F(LargeJob, PassesMessagesRoundARingAndMeetsInABarrier) {
  std::vector<std::uint64_t> words(kTasks);
  std::vector<int> completions(kTasks);
  for (std::uint64_t task = 0; task < kTasks; ++task) {
    const auto next = static_cast<PeerIndex>((task + 1) % kTasks);
    const std::uint64_t value = task + 1;
    const auto place = reinterpret_cast<std::uintptr_t>(&words[next]);
    const auto counter = reinterpret_cast<std::uintptr_t>(&completions[task]);
    ASSERT_EQ(members_[task]->endpoint->put({next, place, &value, sizeof(value), 0, 0, counter}), Submit::accepted);
  }
  ASSERT_TRUE(run_until([&] { return std::count(completions.begin(), completions.end(), 1) == kTasks; }));
  for (std::uint64_t task = 0; task < kTasks; ++task) ASSERT_EQ(words[(task + 1) % kTasks], task + 1);
  EXPECT_LE(members_[0]->endpoint->peers().contacted().size(), 2u);

  for (auto& member : members_) member->endpoint->collectives().begin_barrier();
  ASSERT_TRUE(all_are_done_with_the_collective());
  for (auto& member : members_) EXPECT_EQ(member->host.faults, 0u);
}

// The last rounds of the exchange carry more than a packet holds.
TEST_F(MiddlingJob, ExchangesAValuePerTask) {
  for (PeerIndex task = 0; task < tasks_; ++task)
    members_[task]->endpoint->collectives().begin_exchange(mix_bits(task));
  ASSERT_TRUE(all_are_done_with_the_collective());
  for (const auto& member : members_) {
    const std::span<const std::uint64_t> values = member->endpoint->collectives().exchanged();
    ASSERT_EQ(values.size(), tasks_);
    for (PeerIndex task = 0; task < tasks_; ++task) ASSERT_EQ(values[task], mix_bits(task));
  }
}

}  // namespace
}  // namespace openlapi
