// The eras of a queue's owner with its senders: what of before is not received, however late it comes.
#include <atomic>
#include <thread>

#include "tests/support/sanitizers.h"
#include "tests/unit/shm/packet_queue.h"

namespace openlapi::shm {
namespace {

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

// What tells an era lies behind what senders say of their claims.
TEST_F(Eras, OfAClosedTaskClaimNothing) {
  queue_.close(0);
  claim_and_die(1, 1);
  EXPECT_EQ(skip(), 1u);
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
