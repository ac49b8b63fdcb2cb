// A sender that stops between its claim and its announcement, is given up, and may go on one day: nobody waits for it,
// and nobody uses what it may still write to.
#include "tests/unit/shm/packet_queue.h"

namespace openlapi::shm {
namespace {

class WithheldSlots : public PacketQueue {
 protected:
  // As claim_and_die(), and lives.
  std::uint64_t claim_and_stop(std::uint32_t source, std::uint64_t count) {
    const std::uint64_t ticket = segment_.header->tail.load();
    claim_and_die(source, count);
    dead_.erase(source);
    return ticket;
  }

  // What send() does last.
  void go_on(std::uint32_t source, std::uint64_t ticket, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      segment_.lines[(ticket + i) & (layout_.slots - 1)].control.store(make_control(ticket + i, source, 8));
    }
    segment_.senders[source].claim.store(0);
  }

  ReceiveQueue::Holder holder() {
    return queue_.holder([this](std::uint32_t source) { return dead_.count(source) != 0; });
  }

  std::size_t look() {
    return queue_.look_at_turn([this](std::uint32_t source) { return dead_.count(source) != 0; });
  }

  std::size_t look_twice() {
    const std::size_t first = look();
    return first + look();
  }

  void exchange(std::uint32_t source, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t value = first; value < first + count; ++value) {
      ASSERT_TRUE(send(source, value)) << value;
      ASSERT_EQ(receive(), value);
    }
  }
};

TEST_F(WithheldSlots, OthersGoOnBehindOneThatIsGivenUp) {
  claim_and_stop(0, 2);
  EXPECT_TRUE(send(1, 5));
  EXPECT_EQ(look_twice(), 0u) << "it is not given up";
  queue_.give_up(0);
  EXPECT_EQ(look(), 0u) << "it may only be slow";
  for (int polls = 0; polls < 1000; ++polls)
    ASSERT_EQ(skip(), 0u) << "which is no matter of how often it is looked for";
  EXPECT_EQ(look(), 2u);
  EXPECT_EQ(receive(), 5u);
  exchange(1, 100, 100);
  exchange(2, 300, 100);
  EXPECT_EQ(segment_.header->withheld.load(), 2u);
}

TEST_F(WithheldSlots, WhatItStillAnnouncesIsNothingToAnybody) {
  const std::uint64_t ticket = claim_and_stop(0, 2);
  queue_.give_up(0);
  EXPECT_EQ(look_twice(), 2u);
  exchange(1, 100, 20);
  for (std::uint64_t value = 500; value < 500 + layout_.slots / 2; ++value) EXPECT_TRUE(send(1, value));
  go_on(0, ticket, 2);
  for (std::uint64_t value = 500; value < 500 + layout_.slots / 2; ++value) EXPECT_EQ(receive(), value);
  EXPECT_EQ(receive(), 0u);
  senders_[0] = SendQueue(segment_, layout_, 0, begin_era(segment_, 0));
  exchange(0, 700, 50);
  exchange(1, 800, 50);
}

// Its old announcement would be that of the packet 2^32 later.
TEST_F(WithheldSlots, AnOldAnnouncementIsNoLaterPackets) {
  const std::uint64_t ticket = claim_and_stop(0, 1);
  queue_.give_up(0);
  EXPECT_EQ(look_twice(), 1u);
  exchange(1, 100, layout_.slots - 1);
  ASSERT_EQ((segment_.header->tail.load() - ticket) % layout_.slots, 0u);
  segment_.lines[ticket & (layout_.slots - 1)].control.store(make_control(segment_.header->tail.load(), 1, 8));
  EXPECT_EQ(receive(), 0u);
  exchange(1, 200, 20);
}

TEST_F(WithheldSlots, WhoGoesOnInTimeLosesNoSlot) {
  const std::uint64_t ticket = claim_and_stop(0, 2);
  EXPECT_TRUE(send(1, 5));
  queue_.give_up(0);
  look();
  go_on(0, ticket, 2);
  EXPECT_EQ(look_twice(), 0u);
  EXPECT_EQ(receive(), 5u);
  EXPECT_EQ(segment_.header->withheld.load(), 0u);
}

// What it claims is of the era that it has begun.
TEST_F(WithheldSlots, OnlyAClaimOfTheNewEraIsWaitedFor) {
  queue_.give_up(0);
  const std::uint64_t ticket = claim_and_stop(0, 1);
  EXPECT_EQ(look_twice(), 1u) << "it does not know yet that it was given up";
  go_on(0, ticket, 1);
  EXPECT_EQ(receive(), 0u);
  senders_[0] = SendQueue(segment_, layout_, 0, begin_era(segment_, 0));
  claim_and_stop(0, 1);
  EXPECT_EQ(look_twice(), 0u);
}

TEST_F(WithheldSlots, OneThatIsPurgedAndClaimsNonethelessHoldsUpNobody) {
  queue_.close(0);
  claim_and_stop(0, 1);
  EXPECT_TRUE(send(1, 5));
  EXPECT_EQ(look_twice(), 1u);
  EXPECT_EQ(receive(), 5u);
  queue_.open(0);
  claim_and_stop(0, 1);
  EXPECT_EQ(look_twice(), 1u) << "resumed, and has not begun anew";
}

TEST_F(WithheldSlots, OneThatIsWithheldAlreadyIsNotCountedAgain) {
  claim_and_stop(0, 1);
  queue_.give_up(0);
  EXPECT_EQ(look_twice(), 1u);
  exchange(2, 100, layout_.slots - 2);
  claim_and_stop(1, 3);  // of the last slot, the withheld one, and the one behind
  queue_.give_up(1);
  EXPECT_EQ(look_twice(), 2u);
  EXPECT_EQ(segment_.header->withheld.load(), 3u);
  exchange(2, 200, 20);
}

// Those who look at the word pause as long as it is what they were told.
TEST_F(WithheldSlots, TheArrivalWordOfAWithheldSlotIsQuiet) {
  exchange(1, 1, layout_.slots);
  claim_and_stop(0, 1);
  queue_.give_up(0);
  EXPECT_EQ(look_twice(), 1u);
  exchange(1, 100, layout_.slots - 1);
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(queue_.arrival_word().word->load(), queue_.arrival_word().empty);
}

// Sequences come round: what another has announced in its former slot 2^31 tickets later looks older than its own.
TEST_F(WithheldSlots, WhoAbandonsAPacketAfterVeryLongLeavesSlotsThatAreOthers) {
  const std::uint64_t ticket = claim_and_stop(0, 2);
  segment_.lines[ticket].control.store(make_control(ticket, 0, 8));
  const std::uint64_t later = ticket + (std::uint64_t{1} << 31) + layout_.slots, others = make_control(later, 1, 8);
  segment_.header->head.store(later);
  segment_.lines[ticket].control.store(others);
  senders_[0].abandon();
  EXPECT_EQ(segment_.lines[ticket].control.load(), others);
}

TEST_F(WithheldSlots, AnotherWhoMayOwnTheSlotIsWaitedFor) {
  const std::uint64_t ticket = claim_and_stop(0, 1);
  segment_.senders[1].claim.store(make_intent(ticket, 1));
  queue_.give_up(0);
  EXPECT_EQ(look_twice(), 0u) << "task 1 may own it";
  dead_.insert(1);
  EXPECT_EQ(look_twice(), 1u) << "or task 0, who may go on";
  EXPECT_EQ(segment_.header->withheld.load(), 1u);
}

TEST_F(WithheldSlots, AreNoMoreThanHalf) {
  for (std::uint32_t round = 0; round < layout_.slots / 2; ++round) {
    claim_and_stop(0, 1);
    queue_.give_up(0);
    EXPECT_EQ(look_twice(), 1u) << round;
    segment_.senders[0].claim.store(0);
  }
  claim_and_stop(0, 1);
  queue_.give_up(0);
  EXPECT_EQ(look_twice(), 0u);
  EXPECT_EQ(segment_.header->withheld.load(), layout_.slots / 2);
}

TEST_F(WithheldSlots, ItsTurnIsItsTurnUntilItIsGivenUp) {
  EXPECT_EQ(holder().source, UINT32_MAX);
  const std::uint64_t ticket = claim_and_stop(2, 1);
  EXPECT_EQ(holder().source, 2u);
  EXPECT_EQ(holder().ticket, ticket);
  queue_.give_up(2);
  EXPECT_EQ(holder().source, UINT32_MAX);
  EXPECT_EQ(look_twice(), 1u);
  EXPECT_EQ(holder().source, UINT32_MAX);
}

// Or the senders would see a task that sleeps take nothing of what was claimed.
TEST_F(WithheldSlots, WhatIsPassedOverIsGivenBackAtOnce) {
  claim_and_stop(0, 2);
  queue_.give_up(0);
  EXPECT_EQ(look_twice(), 2u);
  EXPECT_EQ(segment_.header->head.load(), 2u);
}

// Two that could not claim it and said so no more: one has died, one is stopped as well.
TEST_F(WithheldSlots, ItIsTheTurnOfOneThatCanStillBeGivenUp) {
  const std::uint64_t ticket = claim_and_stop(2, 1);
  segment_.senders[0].claim.store(make_intent(ticket, 1));
  segment_.senders[1].claim.store(make_intent(ticket, 1));
  dead_.insert(1);
  queue_.give_up(0);
  EXPECT_EQ(holder().source, 2u);
}

}  // namespace
}  // namespace openlapi::shm
