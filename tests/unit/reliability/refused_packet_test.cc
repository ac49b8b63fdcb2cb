// Packets that the transport, the pool or the engine does not take.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/unit/reliability/channel_end.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kNow = kSecond;

// Two tasks that were told of each other. Their packets carry tags, which read the whole packet.
class RefusedPacket : public testing::Test {
 protected:
  ~RefusedPacket() override {
    for (ChannelEnd* end : {&left_, &right_}) {
      end->channel().abandon();
      end->note_completed();
    }
  }

  // Packets of user memory. The memory changes after that, so that whoever reads it once more gets another tag.
  void queue(unsigned count, bool may_change = false) {
    for (unsigned i = 0; i < count; ++i) {
      data_.emplace_back(100);
      std::byte* const head = left_.channel().queue_referenced(8, data_.back().data(), 100, 1 + i, may_change);
      std::fill_n(head, 8, std::byte{0});
    }
  }
  void change_data() {
    for (PacketBytes& data : data_) data[50] = static_cast<std::byte>(static_cast<unsigned>(data[50]) + 1);
  }

  // A burst is made of which the transport takes `taken`. The answer: how many tags were made for it.
  std::size_t offer(std::size_t taken, Nanoseconds now) {
    std::array<Transmission, 64> burst;
    const std::size_t count = left_.channel().collect(now, burst);
    std::size_t made = 0;
    for (const Transmission& packet : std::span(burst).first(count)) {
      if (tags_.size() <= packet.sequence) tags_.resize(packet.sequence + 1);
      const std::uint64_t tag = wire::load_association(packet.head);
      if (tags_[packet.sequence] != tag) ++made;
      tags_[packet.sequence] = tag;
    }
    left_.channel().commit(std::span(burst).first(std::min(taken, count)), now);
    change_data();
    return made;
  }

  ChannelEnd left_{{.self = 0, .first_sequence = 0, .epochs = {0, 1}, .tagged = true}};
  ChannelEnd right_{{.self = 1, .first_sequence = 0, .epochs = {0, 1}, .tagged = true}};
  std::deque<PacketBytes> data_;
  std::vector<std::optional<std::uint64_t>> tags_;
};

TEST_F(RefusedPacket, IsTaggedOnceHoweverOftenItIsOffered) {
  queue(5);
  EXPECT_EQ(offer(0, kNow), 5u);
  for (int again = 1; again <= 100; ++again) EXPECT_EQ(offer(0, kNow + again * kMicrosecond), 0u);
  EXPECT_EQ(offer(2, kNow + kMillisecond), 0u);
  queue(3);
  EXPECT_EQ(offer(4, kNow + kMillisecond), 3u) << "only those that are new";
  EXPECT_EQ(offer(4, kNow + kMillisecond), 0u);
}

TEST_F(RefusedPacket, IsTaggedAgainWhenThereIsSomethingNewToSay) {
  queue(4);
  EXPECT_EQ(offer(1, kNow), 4u);
  ASSERT_TRUE(right_.send(0));
  left_.receive_all(right_.transmit(kNow), kNow);
  EXPECT_EQ(offer(0, kNow), 3u) << "it acknowledges what has arrived";
  EXPECT_EQ(offer(0, kNow), 0u);
}

TEST_F(RefusedPacket, ThatStaysRefusedIsASignThatThePathIsSilent) {
  left_.channel().add_path();
  queue(1);
  offer(0, kNow);
  const Nanoseconds late = left_.channel().next_deadline();
  offer(0, late);
  EXPECT_EQ(left_.channel().run_timers(late), 1u);
}

TEST_F(RefusedPacket, ThatHasLeftOverAnotherPathIsNone) {
  left_.channel().add_path();
  queue(1);
  offer(0, kNow);
  const Nanoseconds late = left_.channel().next_deadline();
  left_.channel().use_path(1);
  offer(1, late);
  EXPECT_EQ(left_.channel().run_timers(late), 0u);
  EXPECT_GT(left_.channel().next_deadline(), late);
}

TEST_F(RefusedPacket, IsTaggedAgainWhenItIsLost) {
  queue(3);
  EXPECT_EQ(offer(3, kNow), 3u);
  const Nanoseconds late = left_.channel().next_deadline();
  left_.channel().run_timers(late);
  EXPECT_EQ(offer(0, late), 3u);
  EXPECT_EQ(offer(0, late), 0u);
  EXPECT_EQ(offer(3, late), 0u);
}

// What waited is for the incarnation that answers, whose key is another one.
TEST_F(RefusedPacket, IsTaggedAgainForAnotherIncarnation) {
  ChannelEnd left({.self = 0, .first_sequence = 0, .tagged = true});
  ChannelEnd right({.self = 1, .epoch = 7, .first_sequence = 0, .tagged = true});
  ASSERT_TRUE(left.send(3));
  for (int refused = 0; refused < 3; ++refused) left.transmit(kNow, 0);
  for (int round = 0; round < 2; ++round) {
    right.receive_all(left.transmit(kNow), kNow);
    left.receive_all(right.transmit(kNow), kNow);
  }
  right.receive_all(left.transmit(kNow), kNow);
  left.receive(right.acknowledgement(kNow), kNow);
  EXPECT_EQ(right.delivered, numbers(3, 1));
}

TEST_F(RefusedPacket, ArrivesWholeAfterItWasRefused) {
  for (std::uint64_t number = 0; number < 6; ++number) ASSERT_TRUE(left_.send(number, 40, true));
  for (std::size_t taken = 0; taken < 4; ++taken) {
    right_.receive_all(left_.transmit(kNow + taken, taken), kNow + taken);
  }
  EXPECT_EQ(right_.delivered, numbers(0, 6));
  EXPECT_EQ(right_.counters().strangers + right_.counters().ghosts, 0u);
}

// The answer to a get, whose memory the program goes on writing.
TEST_F(RefusedPacket, IsRightWhenItsDataHasChangedMeanwhile) {
  PacketBytes data(100);
  std::byte* const head = left_.channel().queue_referenced(8, data.data(), 100, 1, true);
  std::fill_n(head, 8, std::byte{0});
  right_.refuse = [](std::uint64_t) { return true; };  // its content is not that of any message
  for (int again = 0; again < 3; ++again) {
    left_.transmit(kNow + again, 0);
    data[50] ^= std::byte{1};
  }
  right_.receive_all(left_.transmit(kNow + 3), kNow + 3);
  EXPECT_EQ(right_.counters().refused, 1u) << "it has come as far as the engine";
  EXPECT_EQ(right_.counters().strangers + right_.counters().ghosts, 0u);
}

// Their tags are made at each try: few are in vain.
TEST_F(RefusedPacket, TriesAloneWhenItsDataMayChange) {
  queue(8, true);
  EXPECT_EQ(offer(0, kNow), 8u);
  for (int again = 1; again <= 10; ++again) EXPECT_EQ(offer(0, kNow + again), 1u);
  for (const std::size_t taken : {1, 2, 4, 1}) EXPECT_EQ(offer(taken, kNow + 20), taken) << "twice as many each time";
  EXPECT_FALSE(left_.channel().has_transmissions());
}

TEST_F(RefusedPacket, BeyondThePoolIsCountedAndComesAgain) {
  ChannelEnd right({.self = 1, .first_sequence = 0, .buffers = 4, .epochs = {0, 1}, .tagged = true});
  for (std::uint64_t number = 0; number < 6; ++number) ASSERT_TRUE(left_.send(number));
  const auto packets = left_.transmit(kNow);
  for (std::size_t index = 5; index > 0; --index) right.receive(packets[index], kNow);
  EXPECT_EQ(right.counters().early, 5u);
  EXPECT_EQ(right.counters().dropped_early, 2u) << "a quarter of the pool is for sending";
  right.receive_all(packets, kNow);
  EXPECT_EQ(right.delivered, numbers(0, 6));
}

// The engine has no room for a packet that came early, when its turn has come.
TEST_F(RefusedPacket, ThatWasHeldComesAgain) {
  for (std::uint64_t number = 0; number < 3; ++number) ASSERT_TRUE(left_.send(number));
  const auto packets = left_.transmit(kNow);
  right_.refuse = [times = 0](std::uint64_t number) mutable { return number == 1 && ++times == 1; };
  right_.receive(packets[1], kNow);
  right_.receive(packets[0], kNow);
  EXPECT_EQ(right_.delivered, numbers(0, 1));
  EXPECT_EQ(right_.counters().refused, 1u);
  right_.receive_all(packets, kNow);
  EXPECT_EQ(right_.delivered, numbers(0, 3));
}

}  // namespace
}  // namespace openlapi
