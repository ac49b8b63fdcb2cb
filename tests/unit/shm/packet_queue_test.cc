// The queue between senders and its owner, also with senders that die at the worst moments: they write through the
// layout themselves, up to that moment.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "dataplane/base/memory_fault_guard.h"
#include "shm/receive_queue.h"
#include "shm/send_queue.h"
#include "tests/support/sanitizers.h"

namespace openlapi::shm {
namespace {

constexpr PeerIndex kTasks[] = {10, 20, 30};

class PacketQueue : public testing::Test {
 protected:
  PacketQueue() : memory_(GroupMemory::create(layout_, 1, 10, error_)) {}

  bool send(std::uint32_t source, std::uint64_t value) {
    const ConstBuffer piece{&value, sizeof value};
    const OutgoingPacket packet{{&piece, 1}, sizeof value};
    return senders_[source].send({&packet, 1}) == 1;
  }

  // The value of the next packet; 0: none.
  std::uint64_t receive() {
    IncomingPacket packet{};
    if (queue_.receive({&packet, 1}) == 0) return 0;
    std::uint64_t value;
    std::memcpy(&value, packet.data, sizeof value);
    queue_.release(1);
    return value;
  }

  // Does what SendQueue::claim() does, and then no more.
  void claim_and_die(std::uint32_t source, std::uint64_t count, bool claimed = true) {
    const std::uint64_t ticket = segment_.header->tail.load();
    segment_.senders[source].claim.store(make_intent(ticket, count));
    if (claimed) segment_.header->tail.store(ticket + count);
    dead_.insert(source);
  }

  std::size_t skip() {
    return queue_.skip_orphans([this](std::uint32_t source) { return dead_.count(source) != 0; });
  }

  ShmSetupError error_;
  const GroupLayout layout_{3, 8, 64};
  GroupMemory memory_;
  SegmentView segment_ = memory_.segment(0);
  SendQueue senders_[3] = {{segment_, layout_, 0}, {segment_, layout_, 1}, {segment_, layout_, 2}};
  ReceiveQueue queue_{segment_, layout_, kTasks};
  std::set<std::uint32_t> dead_;
};

TEST_F(PacketQueue, SequencesSurviveTheirWrap) {
  for (std::uint64_t i = 1; i < 1000; ++i) {
    ASSERT_TRUE(send(i % 3, i));
    ASSERT_EQ(receive(), i);
  }
}

TEST_F(PacketQueue, HoldsExactlyItsSlots) {
  for (std::uint64_t i = 1; i <= 8; ++i) EXPECT_TRUE(send(1, i));
  EXPECT_FALSE(send(1, 9));
  EXPECT_FALSE(send(2, 9));
  EXPECT_EQ(segment_.senders[2].claim.load(), 0u) << "who claimed nothing announces nothing";
  for (std::uint64_t i = 1; i <= 8; ++i) EXPECT_EQ(receive(), i);
  EXPECT_EQ(receive(), 0u);
  EXPECT_TRUE(send(2, 9));
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

// A purges and resumes B, as B does with A: the sender begins anew with the era that the owner has published.
class Eras : public PacketQueue {
 protected:
  std::uint64_t era(std::uint32_t source) const { return segment_.eras[source].load(); }
  void begin_anew(std::uint32_t source) {
    senders_[source] = SendQueue(segment_, layout_, source, begin_era(segment_, source));
  }
  void end_era(std::uint32_t source) {
    queue_.close(source);
    queue_.open(source);
  }
};

TEST_F(Eras, WhatWasSentBeforeIsNotReceivedAndItsSlotsComeBack) {
  EXPECT_TRUE(send(0, 1));
  EXPECT_TRUE(send(1, 2));
  EXPECT_TRUE(send(0, 3));
  queue_.close(1);
  EXPECT_TRUE(is_closed(era(1)));
  EXPECT_TRUE(send(1, 4)) << "it does not know yet";
  queue_.open(1);
  EXPECT_FALSE(is_closed(era(1)));
  EXPECT_TRUE(send(1, 5)) << "nor now";
  EXPECT_EQ(receive(), 1u);
  EXPECT_EQ(receive(), 3u);
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(queue_.dropped(), 3u);
  begin_anew(1);
  for (std::uint64_t i = 10; i < 100; ++i) {
    EXPECT_TRUE(send(1, i));
    EXPECT_TRUE(send(2, 1000 + i));
    EXPECT_EQ(receive(), i);
    EXPECT_EQ(receive(), 1000 + i);
  }
  for (std::uint64_t i = 1; i <= 8; ++i) EXPECT_TRUE(send(1, i));
  EXPECT_FALSE(send(1, 9));
}

// The control words tell only so many eras apart; a queue that nobody empties in all that time must not.
TEST_F(Eras, NothingComesBackWhenTheTagsOfErasDo) {
  constexpr std::uint64_t kErasWithDifferentTags = 1u << (kSenderBits - kSourceBits);
  for (std::uint64_t ended = 1; ended <= 3 * kErasWithDifferentTags; ++ended) {
    const bool sent = send(1, ended);
    queue_.close(1);
    queue_.open(1);
    begin_anew(1);
    EXPECT_EQ(sent, ended <= 8);
  }
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(queue_.dropped(), 8u);
  EXPECT_TRUE(send(1, 77));
  EXPECT_EQ(receive(), 77u);
}

// Nor must a sender that knows nothing of all that.
TEST_F(Eras, ASenderIsNotBelievedHoweverManyItHasMissed) {
  for (const unsigned began : {0u, 1u, 31u}) {  // of the first era, and of later ones
    for (unsigned i = 0; i < began; ++i) end_era(1);
    begin_anew(1);
    for (std::uint64_t missed = 1; missed <= 200; ++missed) {
      end_era(1);
      ASSERT_TRUE(send(1, missed));
      ASSERT_EQ(receive(), 0u) << missed;
    }
    begin_anew(1);
    EXPECT_TRUE(send(1, 77));
    EXPECT_EQ(receive(), 77u);
  }
}

// It was stopped between its claim and the announcement, all that time.
TEST_F(Eras, AHalfWrittenPacketIsOfTheEraThatItWasBegunIn) {
  EXPECT_TRUE(send(0, 1));
  EXPECT_EQ(receive(), 1u);  // so that no ticket is 0, as the value of none is
  for (unsigned missed = 1; missed <= 200; ++missed) {
    const std::uint64_t ticket = segment_.header->tail.load();
    const std::uint32_t sender = make_sender(1, era(1));
    begin_anew(1);
    claim_and_die(1, 1);
    for (unsigned i = 0; i < missed; ++i) end_era(1);
    PacketLine& line = segment_.lines[ticket & 7];
    std::memcpy(line.data, &ticket, sizeof ticket);
    line.control.store(make_control(ticket, sender, 8));
    segment_.senders[1].claim.store(0);
    ASSERT_EQ(receive(), 0u) << missed;
  }
}

// A sender begins and sends while the owner ends era after era: whatever arrives is of the present one.
TEST_F(Eras, ASenderThatBeginsWhileOneEndsIsOfOneOfBoth) {
  std::atomic<bool> over = false;
  std::thread sender([&] {
    while (!over) {
      const std::uint64_t mine = begin_era(segment_, 1);
      senders_[1] = SendQueue(segment_, layout_, 1, mine);
      for (int i = 0; i < 3 && !is_closed(mine); ++i) send(1, mine + 1);
    }
  });
  std::uint64_t arrived = 0;
  for (int round = 0; round < repetitions(200'000) || arrived == 0; ++round) {
    for (unsigned ended = 0; ended < 32; ++ended) end_era(1);  // as many as there are tags
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t value = receive();
      arrived += value != 0;
      if (value != 0 && value != era(1) + 1) ADD_FAILURE() << "of era " << value - 1 << " in " << era(1);
    }
  }
  over = true;
  sender.join();
}

TEST_F(Eras, AreCountedOnWhereTheirNumbersWrap) {
  segment_.eras[1].store(UINT64_MAX - 5);
  ReceiveQueue late(segment_, layout_, kTasks);
  for (unsigned i = 0; i < 6; ++i) {
    begin_anew(1);
    ASSERT_TRUE(send(1, i + 1));
    IncomingPacket packet{};
    ASSERT_EQ(late.receive({&packet, 1}), 1u);
    EXPECT_EQ(packet.source, kTasks[1]);
    late.release(1);
    ASSERT_TRUE(send(1, 100));
    late.close(1);
    ASSERT_EQ(late.receive({&packet, 1}), 0u);
    late.open(1);
  }
}

TEST_F(Eras, AreOfOnePairEach) {
  queue_.close(1);
  for (std::uint64_t i = 1; i < 50; ++i) {
    EXPECT_TRUE(send(0, i));
    EXPECT_TRUE(send(2, i + 100));
    EXPECT_EQ(receive(), i);
    EXPECT_EQ(receive(), i + 100);
  }
  EXPECT_EQ(era(0), 0u);
  EXPECT_EQ(era(2), 0u);
}

}  // namespace
}  // namespace openlapi::shm
