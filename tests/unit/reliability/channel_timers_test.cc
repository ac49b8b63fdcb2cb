// When a channel looks again, what leaves then, and when it asks for an answer.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <utility>

#include "tests/unit/reliability/channel_end.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kStart = kSecond;

class ChannelTimers : public testing::Test {
 protected:
  // Message 0 from left to right, which took no time: both know each other.
  ChannelTimers() {
    EXPECT_TRUE(left_.send(0));
    right_.receive_all(left_.transmit(kStart), kStart);
    left_.receive(right_.acknowledgement(kStart), kStart);
  }
  ~ChannelTimers() override {
    for (ChannelEnd* end : {&left_, &right_}) {
      end->channel().abandon();
      end->note_completed();
    }
  }

  void send(unsigned count) {
    for (unsigned i = 0; i < count; ++i) ASSERT_TRUE(left_.send(next_++));
  }

  // What right answers to these of `packets`, each told at once.
  void tell(const std::vector<PacketBytes>& packets, std::initializer_list<std::size_t> arrived, Nanoseconds now) {
    for (const std::size_t index : arrived) {
      right_.receive(packets[index], now);
      left_.receive(right_.acknowledgement(now), now);
    }
  }

  // Brings so many messages from left to right, `together` of which are on their way, where each way takes so long.
  void bring(unsigned messages, unsigned together, Nanoseconds way) {
    std::deque<std::pair<Nanoseconds, PacketBytes>> to_right, to_left;
    const auto carry = [&](ChannelEnd& from, auto& road, ChannelEnd& to) {
      from.channel().run_timers(now_);
      for (PacketBytes& packet : from.transmit(now_)) road.emplace_back(now_ + way, std::move(packet));
      for (; !road.empty() && road.front().first <= now_; road.pop_front()) to.receive(road.front().second, now_);
    };
    const std::uint64_t end = next_ + messages;
    for (; next_ != end || !left_.channel().all_acknowledged(); now_ += kMillisecond) {
      ASSERT_LT(now_, kStart + 60 * kSecond);
      while (next_ != end && left_.channel().packets_out() < together) ASSERT_TRUE(left_.send(next_++));
      carry(left_, to_right, right_);
      carry(right_, to_left, left_);
    }
  }

  Nanoseconds now_ = kStart;
  ChannelEnd left_{{.self = 0, .epochs = {0, 1}}};
  ChannelEnd right_{{.self = 1, .epochs = {0, 1}}};
  std::uint64_t next_ = 1;
};

// The full transport is asked again; in between the engine may sleep.
TEST_F(ChannelTimers, LookAgainLaterAlsoWhenNothingLeaves) {
  send(1);
  left_.transmit(kStart);
  for (int time = 0; time < 3; ++time) {
    const Nanoseconds due = left_.channel().next_deadline();
    ASSERT_LT(due, kStart + 10 * kSecond);
    left_.channel().run_timers(due);
    EXPECT_GT(left_.channel().next_deadline(), due);
  }
  EXPECT_EQ(left_.counters().timeouts, 1u) << "the packet waits to leave";
}

TEST_F(ChannelTimers, ATimeOutRepeatsWhatIsAsOldAndNoMore) {
  send(3);
  left_.transmit(kStart);
  const Nanoseconds due = left_.channel().next_deadline();
  send(1);
  left_.transmit(due - 1);
  left_.channel().run_timers(due);
  EXPECT_EQ(left_.transmit(due).size(), 3u);
}

// What was out at a time-out is no reason for another cut when it turns out to be lost.
TEST_F(ChannelTimers, ALossThatATimeOutHasCutTheWindowForCutsItNoMore) {
  send(6);
  left_.transmit(kStart);
  const Nanoseconds due = left_.channel().next_deadline();
  left_.channel().run_timers(due);
  const std::uint64_t threshold = left_.channel().congestion().threshold();
  const auto again = left_.transmit(due);
  ASSERT_EQ(again.size(), 6u);
  tell(again, {1, 2, 3, 4}, due + 10 * kMillisecond);
  EXPECT_EQ(left_.transmit(due + 10 * kMillisecond).size(), 1u) << "the first one is lost again";
  EXPECT_EQ(left_.channel().congestion().threshold(), threshold);
}

// The oldest packet has as long for its second way as it had for the first; others do not lengthen it.
TEST_F(ChannelTimers, TheOldestPacketBeginsItsTimeAnewWhenItLeavesAgain) {
  send(6);
  const auto packets = left_.transmit(kStart);
  tell(packets, {2, 3, 4}, kStart + kMillisecond);
  const Nanoseconds first = kStart + 2 * kMillisecond, second = kStart + 3 * kMillisecond;
  left_.channel().run_timers(first);  // nothing else is overtaken
  ASSERT_EQ(left_.transmit(first, 1).size(), 1u);
  const Nanoseconds due = first + left_.channel().round_trip().timeout();
  EXPECT_EQ(left_.channel().next_deadline(), due);
  ASSERT_EQ(left_.transmit(second).size(), 1u);
  EXPECT_EQ(left_.channel().next_deadline(), due);
}

// Each packet was sent again before its answer could come, so nothing was measured, and the time-out stayed too short.
TEST_F(ChannelTimers, AWayThatBecomesLongerIsLearntFromFewRetransmissions) {
  for (const unsigned together : {1u, 16u}) {
    bring(20, 1, 0);
    const std::uint64_t before = left_.counters().retransmits;
    bring(20 * together, together, 50 * kMillisecond);
    EXPECT_LE(left_.counters().retransmits - before, 6 * together) << together << " together";
    EXPECT_GE(left_.channel().round_trip().timeout(), 100 * kMillisecond);
    EXPECT_EQ(left_.channel().round_trip().back_offs(), 0u);
  }
  EXPECT_EQ(right_.delivered, numbers(0, next_));
}

TEST_F(ChannelTimers, AnswersThatWaitedAllTheTimeAreMeasuredWhole) {
  const Nanoseconds late = kStart + 100 * kMicrosecond;
  ChannelEnd left({.self = 0, .epochs = {0, 1}}), right({.self = 1, .epochs = {0, 1}});
  ASSERT_TRUE(left.send(0));
  right.receive_all(left.transmit(kStart), kStart);
  left.receive(right.acknowledgement(late), late);
  EXPECT_EQ(left.channel().round_trip().smoothed(), 100 * kMicrosecond);
}

// Each half window asks once, and the last packet before the window is closed.
TEST_F(ChannelTimers, ABurstAsksForAnAnswerInEachHalfWindow) {
  constexpr std::uint32_t kPacket = 8192, kExtra = kPacket - wire::kPacketHeaderSize - 8;
  ChannelEnd left({.self = 0, .max_packet = kPacket, .epochs = {0, 1}});
  const std::size_t half = left.channel().congestion().window() / 2 / kPacket;
  for (std::size_t i = 0; i < 2 * half; ++i) ASSERT_TRUE(left.send(i, kExtra));
  EXPECT_FALSE(left.send(2 * half, kExtra)) << "the window is full to the last byte";
  const auto packets = left.transmit(kStart);
  ASSERT_EQ(packets.size(), 2 * half);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    EXPECT_EQ(wire::asks_for_ack(packets[i].data()), (i + 1) % half == 0) << i;
  }
  left.channel().abandon();
  left.note_completed();
}

TEST_F(ChannelTimers, WhoIsAskedAnswersAtOnceAlsoWithoutData) {
  PacketBytes question = left_.acknowledgement(kStart);
  wire::PacketHeader header;
  ASSERT_EQ(wire::decode(question, header), wire::DecodeResult::ok);
  header.flags |= wire::kPacketAckWanted;
  wire::encode(header, question.data());
  EXPECT_FALSE(right_.channel().ack_due(kStart));
  right_.receive(question, kStart);
  EXPECT_TRUE(right_.channel().ack_due(kStart));
  EXPECT_LE(right_.channel().next_deadline(), kStart);
  right_.acknowledgement(kStart);
  EXPECT_FALSE(right_.channel().ack_due(kStart));
}

TEST_F(ChannelTimers, MemoryIsCountedWithTheWindows) {
  const std::size_t idle = right_.channel().memory_bytes();
  EXPECT_GE(idle, sizeof(ReliableChannel));
  send(3);
  const auto packets = left_.transmit(kStart);
  right_.receive(packets[2], kStart);
  EXPECT_GT(right_.channel().memory_bytes(), idle) << "one is held";
  EXPECT_GT(left_.channel().memory_bytes(), sizeof(ReliableChannel));
}

}  // namespace
}  // namespace openlapi
