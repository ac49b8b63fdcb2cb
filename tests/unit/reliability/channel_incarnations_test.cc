// What a channel keeps, forgets and says when the incarnation of its peer changes.
#include <gtest/gtest.h>

#include "tests/unit/reliability/channel_end.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kNow = kSecond;
constexpr Epoch incarnation(Epoch number) { return number << kBeginningBits; }

class ChannelIncarnations : public testing::Test {
 protected:
  ~ChannelIncarnations() override { close(right_); }

  static void close(ChannelEnd& end) {
    end.channel().abandon();
    end.note_completed();
  }

  // A message of another incarnation of the left task, which was told of the right one, or was not.
  void hear(Epoch of_left, Epoch told, std::uint64_t number) {
    ChannelEnd left({.self = 0, .epoch = of_left, .first_sequence = 0, .epochs = {0, told}});
    EXPECT_TRUE(left.send(number));
    right_.receive_all(left.transmit(kNow), kNow);
    close(left);
  }

  ChannelEnd right_{{.self = 1, .epoch = incarnation(20), .first_sequence = 0, .epochs = {0, incarnation(5)}}};
};

// Estimates are of the path to an incarnation: a new one may be elsewhere.
TEST_F(ChannelIncarnations, ANewIncarnationOfThePeerBeginsWithoutEstimates) {
  ChannelEnd left({.self = 0, .epoch = incarnation(5), .first_sequence = 0, .epochs = {0, incarnation(20)}});
  for (std::uint64_t number = 0; number < 250; ++number) ASSERT_TRUE(right_.send(number, 400));
  for (auto burst = right_.transmit(kNow); !burst.empty(); burst = right_.transmit(kNow)) left.receive_all(burst, kNow);
  right_.receive(left.acknowledgement(kNow), kNow + kMillisecond);
  EXPECT_NE(right_.channel().round_trip().smoothed(), 0u);
  EXPECT_GT(right_.channel().congestion().window(), tuning::kFirstBytesInFlight);
  hear(incarnation(9), incarnation(20), 1000);
  EXPECT_EQ(right_.restarts_seen, 1u);
  EXPECT_EQ(right_.counters().peer_restarts, 1u);
  EXPECT_EQ(right_.channel().round_trip().smoothed(), 0u);
  EXPECT_EQ(right_.channel().congestion().window(), tuning::kFirstBytesInFlight);
}

TEST_F(ChannelIncarnations, NothingIsOwedToAnIncarnationThatWasGivenUp) {
  hear(incarnation(5), incarnation(20), 0);
  EXPECT_TRUE(right_.channel().ack_owed());
  hear(incarnation(3), incarnation(20), 1);  // earlier than the one that is known: it is to learn that
  EXPECT_TRUE(right_.channel().ack_due(kNow));
  right_.channel().begin_anew();
  EXPECT_FALSE(right_.channel().ack_owed());
  EXPECT_FALSE(right_.channel().ack_due(kNow));
  EXPECT_EQ(right_.channel().next_deadline(), UINT64_MAX);
}

TEST_F(ChannelIncarnations, AnIncarnationBeforeOneThatWasGivenUpTeachesNothing) {
  right_.channel().begin_anew();
  hear(incarnation(3), incarnation(20), 0);
  EXPECT_EQ(right_.counters().ghosts, 1u);
  EXPECT_EQ(right_.channel().peer_epoch(), 0u);
  EXPECT_TRUE(right_.delivered.empty());
}

TEST_F(ChannelIncarnations, OnlyWithAnIncarnationThatItKnewATaskBeginsAnew) {
  for (const Epoch peer : {Epoch{0}, Epoch{1}, incarnation(5)}) {
    ChannelEnd end({.self = 1, .epoch = incarnation(20), .epochs = {0, peer}});
    end.channel().begin_anew();
    ASSERT_TRUE(end.send(0));
    EXPECT_EQ(header_of(end.transmit(kNow).at(0)).source_epoch, incarnation(20) + (peer != 0 ? 1 : 0)) << peer;
    close(end);
  }
}

TEST_F(ChannelIncarnations, BeginningsOfAnIncarnationHaveAnEnd) {
  constexpr Epoch kLast = incarnation(21) - 1;
  for (const Epoch peer : {Epoch{0}, Epoch{1}, incarnation(5)}) {
    for (const Epoch own : {kLast - 1, kLast}) {
      ChannelEnd end({.self = 1, .epoch = incarnation(20), .epochs = {own, peer}});
      EXPECT_EQ(end.channel().may_begin_anew(), own != kLast || peer == 0) << own << " with " << peer;
    }
  }
}

// A new incarnation that does not know us yet is told our epoch, and nothing of what its former incarnation has sent;
// what that one is owed is owed still.
TEST_F(ChannelIncarnations, AnAnswerToAnotherIncarnationAcknowledgesNothing) {
  hear(incarnation(5), incarnation(20), 0);
  hear(incarnation(9), 0, 1);
  const wire::PacketHeader answer = header_of(right_.acknowledgement(kNow));
  EXPECT_EQ(answer.destination_epoch, incarnation(9));
  EXPECT_EQ(answer.flags & wire::kPacketHasAck, 0);
  EXPECT_TRUE(right_.channel().ack_owed());
  const wire::PacketHeader owed = header_of(right_.acknowledgement(kNow));
  EXPECT_EQ(owed.destination_epoch, incarnation(5));
  EXPECT_NE(owed.flags & wire::kPacketHasAck, 0);
  EXPECT_FALSE(right_.channel().ack_owed());
}

// Of an incarnation that was never heard, when another one comes: whether anything was on the way to it.
TEST_F(ChannelIncarnations, ARestartTellsWhetherNothingWasTaken) {
  for (const bool heard : {false, true}) {
    for (const bool sent : {false, true}) {
      ChannelEnd right({.self = 1, .epoch = incarnation(20), .epochs = {0, incarnation(5)}});
      ChannelEnd before({.self = 0, .epoch = incarnation(5), .epochs = {0, incarnation(20)}});
      ChannelEnd after({.self = 0, .epoch = incarnation(9), .epochs = {0, incarnation(20)}});
      if (heard) right.receive(before.acknowledgement(kNow), kNow);
      if (sent) {
        ASSERT_TRUE(right.send(0));
      }
      ASSERT_TRUE(after.send(1));
      const PacketBytes packet = after.transmit(kNow).at(0);
      const wire::PacketHeader header = header_of(packet);
      const ReceiveOutcome outcome = right.channel().receive(header, std::span(packet).subspan(header.size()), kNow);
      EXPECT_TRUE(outcome.peer_restarted);
      EXPECT_EQ(outcome.nothing_taken, sent && !heard) << heard << sent;
      for (ChannelEnd* end : {&right, &before, &after}) close(*end);
    }
  }
}

// Packets of one datagram are checked together; one of them may end the incarnation that the next one is of.
TEST_F(ChannelIncarnations, AShortHeaderIsAGhostOnceItsIncarnationHasEnded) {
  ChannelEnd left({.self = 0, .epoch = incarnation(5), .first_sequence = 0, .epochs = {0, incarnation(20)}});
  ASSERT_TRUE(left.send(0));
  right_.receive_all(left.transmit(kNow), kNow);
  left.receive(right_.acknowledgement(kNow), kNow);
  const PacketBytes packet = left.pass(1, kNow);
  wire::PacketHeader header = header_of(packet);
  ASSERT_TRUE(header.is_short() && right_.channel().is_from_peer(header, packet));
  hear(incarnation(9), incarnation(20), 2);
  const std::uint64_t ghosts = right_.counters().ghosts;
  EXPECT_FALSE(right_.channel().receive(header, std::span(packet).subspan(header.size()), kNow).deliver);
  EXPECT_EQ(right_.counters().ghosts, ghosts + 1)
      << "though its number is the next one of the other incarnation as well";
  close(left);
}

}  // namespace
}  // namespace openlapi
