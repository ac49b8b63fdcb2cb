#include "nic/verbs/job_size.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "nic/verbs/verbs_transport.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint32_t kPlenty = 262'144;    // queue pairs of a ConnectX-6
constexpr std::uint64_t kMebibyte = 1 << 20;  // bytes

TEST(ReceiveSlots, GrowWithTheSenders) {
  EXPECT_EQ(receive_slots_for({.tasks = 2, .local_tasks = 1}), 512u);
  EXPECT_EQ(receive_slots_for({.tasks = 9, .local_tasks = 1}), 512u);
  EXPECT_EQ(receive_slots_for({.tasks = 33, .local_tasks = 1}), 32 * kPacketsOfSender);
  EXPECT_EQ(receive_slots_for({.tasks = 36, .local_tasks = 4}), 32 * kPacketsOfSender);
  EXPECT_EQ(receive_slots_for({.tasks = 64, .local_tasks = 64}), 512u) << "nobody sends";
}

TEST(ReceiveSlots, OfANodeAreBounded) {
  EXPECT_EQ(receive_slots_for({.tasks = 8192, .local_tasks = 1}), 4096u);
  EXPECT_EQ(receive_slots_for({.tasks = 8192, .local_tasks = 16}), 4096u);
  EXPECT_EQ(receive_slots_for({.tasks = 8192, .local_tasks = 64}), 1024u);
  EXPECT_EQ(receive_slots_for({.tasks = 8192, .local_tasks = 256}), 512u) << "with less it does not work well";
  EXPECT_EQ(receive_slots_for({.tasks = 8192, .local_tasks = 0}), 4096u);
  EXPECT_EQ(receive_slots_for({.tasks = UINT32_MAX, .local_tasks = 1}), 4096u);
}

TEST(ReceiveSlots, AreSharedBySoManySenders) {
  for (const std::uint32_t tasks : {2u, 3u, 17u, 65u, 129u, 8192u}) {
    for (const std::uint32_t local : {1u, 16u, 64u, 256u}) {
      const std::uint32_t slots = receive_slots_for({.tasks = tasks, .local_tasks = local});
      const std::uint32_t at_once = std::min(tasks - 1, kSendersAtOnce);
      const std::uint32_t each = packets_of_sender(slots, tasks - 1);
      EXPECT_LE((each + kAnswersOfSender) * at_once, slots);
      EXPECT_GE(each, 5u) << "or none would be on their way while one is waited for";
    }
  }
  EXPECT_EQ(packets_of_sender(512, 1), 509u);
  EXPECT_EQ(packets_of_sender(512, 0), 509u);
  EXPECT_EQ(packets_of_sender(16, 8191), 1u);
}

TEST(ConnectionBounds, LeaveRingsToFewWhereManyTasksShareTheNode) {
  EXPECT_EQ(connection_bounds({.tasks = 2, .local_tasks = 1}, kPlenty).rings, 16u);
  EXPECT_EQ(connection_bounds({.tasks = 8192, .local_tasks = 128}, kPlenty).rings, 8u);
  EXPECT_EQ(connection_bounds({.tasks = 8192, .local_tasks = 64}, 4092).rings, 4u)
      << "one for each that is received from";
  EXPECT_EQ(connection_bounds({.tasks = 8192, .local_tasks = 64}, 64).rings, 0u);
}

TEST(ConnectionBounds, AreTheUsualOnesWhereTheAdapterHasPlenty) {
  const ConnectionBounds alone = connection_bounds({.tasks = 2, .local_tasks = 1}, kPlenty);
  EXPECT_EQ(alone.packets, 64u);
  EXPECT_EQ(alone.bulk, 256u);
  EXPECT_EQ(connection_bounds({.tasks = 8192, .local_tasks = 128}, kPlenty).bulk, 256u);
}

// An E810 has some 4,000: the tasks of a large node could not even have one for datagrams each, if the first of them
// took what they can use.
TEST(ConnectionBounds, ShareTheQueuePairsOfAnAdapter) {
  for (const std::uint32_t queue_pairs : {100u, 4092u, 65'536u, kPlenty}) {
    for (const std::uint32_t local : {1u, 2u, 16u, 64u, 128u, 256u, 1024u}) {
      const ConnectionBounds bounds = connection_bounds({.tasks = 8192, .local_tasks = local}, queue_pairs);
      EXPECT_LE(bounds.packets, 64u);
      EXPECT_LE(bounds.bulk, 256u);
      const std::uint64_t others = std::uint64_t{local} * (bounds.queue_pairs() - 1);
      EXPECT_LE(others + local, std::max(queue_pairs / 2, local)) << queue_pairs << " for " << local;
    }
  }
  const ConnectionBounds few = connection_bounds({.tasks = 8192, .local_tasks = 64}, 4092);
  EXPECT_EQ(few.packets, 2u);
  EXPECT_EQ(few.bulk, 10u);
}

TEST(ConnectionBounds, GiveShortReadsAShareWhereThereAreSome) {
  EXPECT_EQ(connection_bounds({.tasks = 2, .local_tasks = 1}, kPlenty).one_sided, 0u);
  const ConnectionBounds plenty = connection_bounds({.tasks = 2, .local_tasks = 1}, kPlenty, true);
  EXPECT_EQ(plenty.one_sided, 64u);
  EXPECT_EQ(plenty.packets, 64u);
  const ConnectionBounds few = connection_bounds({.tasks = 8192, .local_tasks = 16}, 4092, true);
  EXPECT_EQ(few.one_sided, few.packets);
  EXPECT_LT(few.one_sided, 64u);
  EXPECT_LE(16 * few.queue_pairs(), 4092u / 2);
}

TEST(ConnectionBounds, AreZeroWhereThereAreTooFewQueuePairs) {
  for (const std::uint32_t queue_pairs : {0u, 1u, 64u, 128u}) {
    const ConnectionBounds bounds = connection_bounds({.tasks = 8192, .local_tasks = 64}, queue_pairs);
    EXPECT_EQ(bounds.packets, 0u);
    EXPECT_EQ(bounds.bulk, 0u);
  }
}

// What nic/README.md says of a job of 8,192 tasks, at the largest MTU.
struct Use {
  std::uint64_t receives;     // bytes of locked memory: packets that arrive, in the datagrams' queue and the shared one
  std::uint64_t connections;  // the same, of all connections to send through
  std::uint64_t peers;        // bytes of ordinary memory, when all peers have been added
  std::uint64_t queue_pairs;
};

Use use_of_task(std::uint32_t local_tasks) {
  const JobSize job{.tasks = 8192, .local_tasks = local_tasks};
  const ConnectionBounds bounds = connection_bounds(job, kPlenty);
  return {.receives = 2 * receive_slots_for(job) * ReceiveRing::bytes_of_slot(kLargestMtu),
          .connections = std::uint64_t{bounds.packets} * PacketConnections::kSlots * kLargestMtu,
          .peers = job.tasks * VerbsTransport::bytes_of_peer(),
          .queue_pairs = bounds.queue_pairs()};
}

TEST(AJobOf8192Tasks, TakesWhatIsDocumented) {
  const Use few = use_of_task(16);
  EXPECT_EQ(few.receives, 32 * kMebibyte + 512 * 1024);
  EXPECT_EQ(few.connections, 16 * kMebibyte);
  EXPECT_EQ(few.queue_pairs, 705u);
  const Use many = use_of_task(64);
  EXPECT_EQ(many.receives, 8 * kMebibyte + 128 * 1024);
  EXPECT_EQ(many.connections, 16 * kMebibyte);
  EXPECT_EQ(many.queue_pairs, 705u);
  const ConnectionBounds e810 = connection_bounds({.tasks = 8192, .local_tasks = 64}, 4092);
  EXPECT_EQ(e810.queue_pairs(), 27u);
  const Use full = use_of_task(128);
  EXPECT_EQ(full.receives, 4 * kMebibyte + 64 * 1024);
  EXPECT_EQ(full.connections, 8 * kMebibyte);
  EXPECT_EQ(full.queue_pairs, 609u);
  EXPECT_LE(full.peers, 8192u * 256);
}

// Whatever the node's size, as long as it is below the one at which every task has the fewest slots.
TEST(AJobOf8192Tasks, LocksABoundedAmountOfEachNodesMemory) {
  for (std::uint32_t local = 1; local <= 128; ++local) {
    const Use use = use_of_task(local);
    EXPECT_LE(local * use.receives, 520 * kMebibyte) << local;
    EXPECT_LE(local * use.connections, 1024 * kMebibyte) << local;
    EXPECT_LE(local * use.queue_pairs, kPlenty / 2) << local;
  }
}

}  // namespace
}  // namespace openlapi::verbs
