// The queue between senders and its owner, also with senders that die at the worst moments: they write through the
// layout themselves, up to that moment.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "dataplane/base/memory_fault_guard.h"
#include "tests/unit/shm/packet_queue.h"

namespace openlapi::shm {
namespace {

TEST_F(PacketQueue, SequencesSurviveTheirWrap) {
  for (std::uint64_t i = 1; i < 1000; ++i) {
    ASSERT_TRUE(send(i % 3, i));
    ASSERT_EQ(receive(), i);
  }
}

TEST_F(PacketQueue, HoldsExactlyItsSlots) {
  for (std::uint64_t i = 1; i <= 8; ++i) {
    EXPECT_TRUE(send(1, i));
    EXPECT_EQ(segment_.senders[1].claim.load(), 0u) << "what it has announced it does not claim";
  }
  EXPECT_FALSE(send(1, 9));
  EXPECT_FALSE(send(2, 9));
  EXPECT_EQ(segment_.senders[2].claim.load(), 0u) << "who claimed nothing announces nothing";
  for (std::uint64_t i = 1; i <= 8; ++i) EXPECT_EQ(receive(), i);
  EXPECT_EQ(receive(), 0u);
  EXPECT_TRUE(send(2, 9));
}

TEST_F(PacketQueue, TheNextPacketChangesTheWordThatIsWatched) {
  for (std::uint64_t i = 1; i < 20; ++i) {
    ASSERT_EQ(receive(), 0u);
    const ArrivalWord next = queue_.arrival_word();
    EXPECT_EQ(next.word->load(), next.empty) << i;
    ASSERT_TRUE(send(i % 3, i));
    EXPECT_NE(next.word->load(), next.empty) << i;
    ASSERT_EQ(receive(), i);
  }
}

TEST_F(PacketQueue, AfterAnEmptyLookSendersKnowWhatIsFree) {
  for (std::uint64_t free = 1; free < 20; ++free) {
    ASSERT_TRUE(send(0, 1));
    ASSERT_EQ(receive(), 1u);
    ASSERT_EQ(receive(), 0u);
    ASSERT_EQ(segment_.header->head.load(), free);
  }
}

TEST_F(PacketQueue, ASlotWhoseOwnerDiedIsPassedOver) {
  EXPECT_TRUE(send(0, 1));
  claim_and_die(1, 2);
  EXPECT_TRUE(send(2, 2));
  EXPECT_EQ(receive(), 1u);
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(skip(), 2u);
  EXPECT_EQ(receive(), 2u);
  EXPECT_EQ(queue_.dropped(), 2u);
  for (std::uint64_t i = 10; i < 100; ++i) {
    EXPECT_TRUE(send(2, i));
    EXPECT_EQ(receive(), i);
  }
}

TEST_F(PacketQueue, ItMayBeAnyTaskThatDied) {
  for (std::uint32_t source = 0; source < 3; ++source) {
    claim_and_die(source, 1);
    EXPECT_TRUE(send((source + 1) % 3, source + 1));
    EXPECT_EQ(skip(), 1u) << source;
    EXPECT_EQ(receive(), source + 1);
    dead_.clear();
  }
}

TEST_F(PacketQueue, WhatTheDeadOneHadNotClaimedIsNotPassedOver) {
  claim_and_die(1, 1, false);
  EXPECT_EQ(skip(), 0u);
  EXPECT_TRUE(send(2, 5));
  EXPECT_EQ(receive(), 5u);
}

// It was found dead, and nothing had been announced before that.
TEST_F(PacketQueue, WhatADeadSenderAnnouncedAtTheLastMomentIsReceived) {
  claim_and_die(1, 1);
  const auto gone = [this](std::uint32_t) {
    const std::uint64_t value = 6;
    std::memcpy(segment_.lines[0].data, &value, sizeof value);
    segment_.lines[0].control.store(make_control(0, 1, sizeof value));
    return true;
  };
  EXPECT_EQ(queue_.skip_orphans(gone), 0u);
  EXPECT_EQ(receive(), 6u);
  EXPECT_EQ(queue_.dropped(), 0u);
}

TEST_F(PacketQueue, AnAbandonedPacketArrivesEmpty) {
  catch_memory_faults();
  void* const nowhere = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(nowhere, MAP_FAILED);
  for (std::uint64_t i = 1; i < 100; ++i) {
    ASSERT_TRUE(send(0, i));
    const ConstBuffer pieces[] = {{&i, sizeof i}, {nowhere, 40}};
    const OutgoingPacket packet{pieces, 48};
    ASSERT_FALSE(survives([&] { senders_[1].send({&packet, 1}); }));
    senders_[1].abandon();
    EXPECT_EQ(segment_.senders[1].claim.load(), 0u);
    ASSERT_TRUE(send(1, i + 1000));
    EXPECT_EQ(receive(), i);
    IncomingPacket empty{};
    ASSERT_EQ(queue_.receive({&empty, 1}), 1u);
    EXPECT_EQ(empty.length, 0u);
    EXPECT_EQ(empty.source, kTasks[1]);
    queue_.release(1);
    EXPECT_EQ(receive(), i + 1000);
  }
  EXPECT_EQ(queue_.dropped(), 0u);
  munmap(nowhere, 4096);
}

TEST_F(PacketQueue, WhatABurstAnnouncedBeforeItWasAbandonedArrivesWhole) {
  catch_memory_faults();
  void* const nowhere = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(nowhere, MAP_FAILED);
  for (std::uint64_t i = 1; i < 100; ++i) {
    const ConstBuffer good{&i, sizeof i}, bad{nowhere, 40};
    const OutgoingPacket burst[] = {
        {{&good, 1}, sizeof i}, {{&good, 1}, sizeof i}, {{&bad, 1}, 40}, {{&good, 1}, sizeof i}};
    ASSERT_FALSE(survives([&] { senders_[1].send(burst); }));
    senders_[1].abandon();
    IncomingPacket arrived[5];
    ASSERT_EQ(queue_.receive(arrived), 4u);
    for (int packet = 0; packet < 4; ++packet) {
      ASSERT_EQ(arrived[packet].length, packet < 2 ? sizeof i : 0u);
      ASSERT_EQ(std::memcmp(arrived[packet].data, &i, arrived[packet].length), 0);
    }
    queue_.release(4);
    ASSERT_EQ(receive(), 0u);
  }
  munmap(nowhere, 4096);
}

TEST_F(PacketQueue, ASlotWhoseOwnerLivesIsWaitedFor) {
  claim_and_die(1, 1);
  dead_.clear();
  EXPECT_TRUE(send(2, 5));
  EXPECT_EQ(skip(), 0u);
  EXPECT_EQ(receive(), 0u);
  dead_.insert(1);
  EXPECT_EQ(skip(), 1u);
  EXPECT_EQ(receive(), 5u);
}

TEST_F(PacketQueue, ADeadSendersUnkeptIntentDoesNotTakeALivingOnesSlot) {
  claim_and_die(1, 1, false);  // died before its claim succeeded
  claim_and_die(2, 1);         // owns the same ticket, and lives
  dead_.erase(2);
  EXPECT_EQ(skip(), 0u);
  // The living one publishes.
  segment_.lines[0].control.store(make_control(0, 2, 8));
  segment_.senders[2].claim.store(0);
  EXPECT_EQ(skip(), 0u);
  IncomingPacket packet;
  ASSERT_EQ(queue_.receive({&packet, 1}), 1u);
  EXPECT_EQ(packet.source, 30u);
}

// Its claim was too late, and then there was no room: what it said before must not keep the owner from passing over.
TEST_F(PacketQueue, WhoFindsNoRoomDoesNotAnswerForADeadSendersSlots) {
  segment_.senders[2].claim.store(make_intent(0, 1));
  claim_and_die(1, 8);
  EXPECT_FALSE(send(2, 5));
  EXPECT_EQ(skip(), 8u);
  EXPECT_EQ(receive(), 0u);  // gives the slots back
  EXPECT_TRUE(send(2, 5));
  EXPECT_EQ(receive(), 5u);
}

TEST_F(PacketQueue, OrphansBehindHeldPacketsAreGivenBackInTheirOrder) {
  EXPECT_TRUE(send(0, 1));
  claim_and_die(1, 3);
  EXPECT_TRUE(send(2, 2));
  IncomingPacket first, second;
  ASSERT_EQ(queue_.receive({&first, 1}), 1u);
  EXPECT_EQ(skip(), 3u);
  ASSERT_EQ(queue_.receive({&second, 1}), 1u);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(send(0, 7 + i));
  EXPECT_FALSE(send(0, 10)) << "the first packet is still held";
  queue_.release(1);
  queue_.release(1);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(receive(), 7 + i);
  EXPECT_EQ(receive(), 0u);
  for (std::uint64_t i = 1; i <= 8; ++i) EXPECT_TRUE(send(0, i));
  EXPECT_FALSE(send(0, 9));
}

// A slot that was passed over once is an ordinary one in the next round: a packet that is held there keeps it.
TEST_F(PacketQueue, WhereSomebodyDiedAHeldPacketKeepsItsSlotLater) {
  EXPECT_TRUE(send(0, 1));
  claim_and_die(1, 1);
  EXPECT_TRUE(send(0, 2));
  IncomingPacket held[2];
  ASSERT_EQ(queue_.receive({held, 1}), 1u);
  EXPECT_EQ(skip(), 1u) << "behind one that is held";
  ASSERT_EQ(queue_.receive({held, 1}), 1u);
  queue_.release(2);
  for (std::uint64_t i = 3; i < 8; ++i) {
    EXPECT_TRUE(send(0, i));
    EXPECT_EQ(receive(), i);
  }
  EXPECT_TRUE(send(0, 8));
  EXPECT_TRUE(send(0, 9));  // where the dead one's packet would have been
  ASSERT_EQ(queue_.receive(held), 2u);
  claim_and_die(1, 1);
  EXPECT_EQ(skip(), 1u);
  queue_.release(1);
  EXPECT_EQ(receive(), 0u);  // now the senders know
  for (std::uint64_t i = 11; i < 17; ++i) EXPECT_TRUE(send(2, i)) << i;
  EXPECT_FALSE(send(2, 17)) << "the slot is held";
  queue_.release(1);
  for (std::uint64_t i = 11; i < 17; ++i) EXPECT_EQ(receive(), i);
  EXPECT_TRUE(send(2, 17));
}

TEST_F(PacketQueue, ItIsTimeToLookForTheDeadOnceInManyEmptyLooks) {
  for (std::uint32_t look = 1; look <= 2 * ReceiveQueue::kLookAfter; ++look) {
    EXPECT_EQ(receive(), 0u);
    ASSERT_EQ(queue_.look_due(), look % ReceiveQueue::kLookAfter == 0) << look;
  }
}

TEST_F(PacketQueue, LiesInTheControlWordAreCountedAndPassedOver) {
  segment_.header->tail.store(2);
  segment_.lines[0].control.store(make_control(0, 99, 8));     // no such source
  segment_.lines[1].control.store(make_control(1, 1, 65000));  // longer than a slot
  EXPECT_TRUE(send(1, 3));
  EXPECT_EQ(receive(), 3u);
  EXPECT_EQ(queue_.dropped(), 2u);
}

// The segment has a place for it, but it is not among the tasks.
TEST_F(PacketQueue, NobodyBehindTheLastTaskIsBelieved) {
  ReceiveQueue of_two(segment_, layout_, std::span(kTasks).first(2));
  EXPECT_TRUE(send(2, 5));
  EXPECT_TRUE(send(1, 6));
  IncomingPacket packet{};
  ASSERT_EQ(of_two.receive({&packet, 1}), 1u);
  EXPECT_EQ(packet.source, kTasks[1]);
  EXPECT_EQ(of_two.dropped(), 1u);
}

TEST_F(PacketQueue, AKilledProcessMidClaimDoesNotStopTheQueue) {
  const pid_t child = fork();
  if (child == 0) {
    std::string reason;
    memory_.hold_life_lock(1, reason);
    claim_and_die(1, 1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(send(2, 4));
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(queue_.skip_orphans([this](std::uint32_t source) { return !memory_.life_lock_held(source); }), 1u);
  EXPECT_EQ(receive(), 4u);
}

// The real sender, killed by a fault while it copies: after its claim, before its publication.
TEST_F(PacketQueue, ASenderThatFaultsWhileItCopiesDoesNotStopTheQueue) {
  void* closed = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(closed, MAP_FAILED);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    std::string reason;
    memory_.hold_life_lock(1, reason);
    const ConstBuffer piece{closed, 48};
    const OutgoingPacket packets[] = {{{&piece, 1}, 48}, {{&piece, 1}, 48}};
    senders_[1].send(packets);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  munmap(closed, kPage);
  EXPECT_TRUE(send(2, 4));
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(queue_.skip_orphans([this](std::uint32_t source) { return !memory_.life_lock_held(source); }), 2u);
  EXPECT_EQ(receive(), 4u);
}

}  // namespace
}  // namespace openlapi::shm
