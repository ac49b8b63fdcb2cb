// Adapters that have little for many tasks.
#include <sys/resource.h>

#include <cstdint>

#include "tests/beds/verbs_adapters.h"

namespace openlapi::test {
namespace {

class VerbsScale : public VerbsAdapters {
 protected:
  VerbsScale() {
    bed_connects_after = 1;
    bed_has_bulk = true;
  }
};

// The first task of a node used to take hundreds of them, if it could.
TEST_F(VerbsScale, TheTasksOfANodeShareAnAdaptersQueuePairs) {
  adapter_shim.most_queue_pairs = 4092;
  bed_changes = [](VerbsConfig& config) { config.local_tasks = 64; };
  VerbsPair pair;
  ASSERT_NE(pair.left->connections(), nullptr);
  EXPECT_EQ(pair.left->connections()->most_connections(), 2u);
  expect_exchange(pair);
  EXPECT_NE(pair.left->connections()->counters().packets_sent, 0u);
}

TEST_F(VerbsScale, WithoutQueuePairsForConnectionsThereAreDatagrams) {
  adapter_shim.most_queue_pairs = 100;
  bed_changes = [](VerbsConfig& config) { config.local_tasks = 64; };
  VerbsPair pair;
  EXPECT_EQ(pair.left->connections(), nullptr);
  EXPECT_EQ(pair.left->bulk(), nullptr);
  expect_exchange(pair);
}

// One that may lock 8 MiB worked in a small job: it does in a large one.
TEST_F(VerbsScale, WhereLittleMemoryMayBeLockedThereAreFewerSlots) {
  adapter_shim.most_registered = 3 << 20;
  bed_changes = [](VerbsConfig& config) { config.receive_slots = 4096; };
  VerbsPair pair;
  EXPECT_EQ(pair.left->receive_slots(), 512u);
  expect_exchange(pair);
  EXPECT_NE(pair.left->connections()->counters().packets_sent, 0u) << "the shared queue has fewer, too";
}

// The first of a task's adapters used to take half of it.
TEST_F(VerbsScale, SlotsLeaveMostOfTheMemoryThatMayBeLockedToOthers) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit limit{.rlim_cur = 256 << 20, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
  bed_changes = [](VerbsConfig& config) { config.receive_slots = 4096; };
  const VerbsPointer one = open_well("rxe0");
  EXPECT_EQ(one->receive_slots(), (4u << 20) / (64 + 4096));
  EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

TEST_F(VerbsScale, ALargeJobsPacketsAllFindRoom) {
  bed_connects_after = 0;
  bed_changes = [](VerbsConfig& config) { config.receive_slots = 2048; };
  VerbsPair pair;
  ASSERT_EQ(pair.right->receive_slots(), 2048u);
  expect_exchange(pair);
  empty(*pair.right);
  constexpr std::uint64_t kPackets = 2000;  // more than the 512 slots that there used to be
  for (std::uint64_t number = 1; number <= kPackets; ++number) {
    ASSERT_TRUE(wait_for([&] {
      if (send_number(*pair.left, 1, number) == 1) return true;
      pair.left->receive_burst({});
      return false;
    }));
  }
  std::uint64_t arrived = 0;
  EXPECT_TRUE(wait_for([&] { return (arrived += empty(*pair.right)) == kPackets; })) << arrived;
}

}  // namespace
}  // namespace openlapi::test
