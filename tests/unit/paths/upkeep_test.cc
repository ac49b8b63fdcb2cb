// What the channels of a task do while it makes no calls: what was sent is sent again, what was taken is acknowledged
// again, and news wait.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "dataplane/paths/kept_back.h"
#include "dataplane/tuning.h"
#include "tests/support/channel_side.h"

namespace openlapi {
namespace {

using Bytes = ChannelSide::Bytes;

class Upkeep : public testing::Test {
 protected:
  Upkeep() : a_(0, config(), clock_), b_(1, config(), clock_) {
    for (ChannelSide* side : {&a_, &b_}) side->transport.set_room(10'000);
    ChannelSide::connect(a_, b_);
    send(Bytes(8, 1));
    b_.set.receive();
    b_.set.acknowledge_now();
    a_.set.receive();
    EXPECT_TRUE(a_.set.settled());
    b_.delivered.clear();
  }
  static EndpointConfig config() {
    EndpointConfig config;
    config.timeout = 10 * kSecond;
    return config;
  }

  void send(const Bytes& record) {
    ASSERT_TRUE(a_.send(record));
    a_.transmit();
  }
  // So late that whoever waits for an acknowledgement sends again.
  void time_passes() { clock_.advance(tuning::kLongestRetransmitTimeout); }

  TurnedClock clock_;
  ChannelSide a_, b_;
};

TEST_F(Upkeep, WhatWasLostIsSentAgain) {
  send(Bytes(8, 2));
  b_.transport.forget_waiting();
  a_.set.keep_up();
  EXPECT_EQ(b_.transport.waiting(), 0u) << "not yet";
  time_passes();
  a_.set.keep_up();
  EXPECT_EQ(b_.transport.waiting(), 1u);
  b_.set.receive();
  EXPECT_EQ(b_.delivered, std::vector<Bytes>{Bytes(8, 2)});
  b_.set.acknowledge_now();
  a_.set.keep_up();
  EXPECT_TRUE(a_.set.settled());
  EXPECT_FALSE(a_.set.keeps_back_any());
}

TEST_F(Upkeep, WhatIsOwedIsAcknowledged) {
  send(Bytes(8, 2));
  b_.set.receive();
  time_passes();
  b_.set.keep_up();
  a_.set.receive();
  EXPECT_TRUE(a_.set.settled());
}

TEST_F(Upkeep, WhatComesAgainIsAcknowledgedAgain) {
  send(Bytes(8, 2));
  b_.set.receive();
  b_.set.acknowledge_now();
  a_.transport.forget_waiting();
  time_passes();
  a_.set.run_timers(clock_.now());
  EXPECT_EQ(b_.transport.waiting(), 1u);
  b_.delivered.clear();
  b_.set.keep_up();
  EXPECT_FALSE(b_.set.keeps_back_any());
  EXPECT_TRUE(b_.delivered.empty());
  a_.set.receive();
  EXPECT_TRUE(a_.set.settled());
}

TEST_F(Upkeep, NewsAreKeptBackOnceEachAndNotAcknowledged) {
  for (unsigned char i = 2; i != 5; ++i) send(Bytes(8, i));
  b_.set.keep_up();
  time_passes();
  a_.set.run_timers(clock_.now());
  EXPECT_NE(b_.transport.waiting(), 0u);
  b_.set.keep_up();
  EXPECT_EQ(b_.transport.waiting(), 0u);
  EXPECT_TRUE(b_.delivered.empty());
  EXPECT_EQ(a_.transport.waiting(), 0u);
  EXPECT_TRUE(b_.set.keeps_back_any());
  const unsigned kept = b_.set.take_kept_back();
  EXPECT_GE(kept, 2u) << "one may have joined another one's packet";
  EXPECT_LE(kept, 3u);
  EXPECT_FALSE(b_.set.keeps_back_any());
  std::size_t bytes = 0;
  for (const Bytes& packet : b_.delivered) bytes += packet.size();
  EXPECT_EQ(bytes, 24u);
  b_.set.acknowledge_now();
  a_.set.receive();
  EXPECT_TRUE(a_.set.settled());
}

TEST_F(Upkeep, PacketsOfOneDatagramAreKeptBackToo) {
  for (int i = 0; i != 40; ++i) send(Bytes(a_.channel->max_record(), 2));
  const std::size_t sent = b_.transport.waiting();
  b_.transport.come_together(sent);
  b_.set.keep_up();
  EXPECT_TRUE(b_.delivered.empty());
  EXPECT_EQ(b_.set.take_kept_back(), sent);
  EXPECT_EQ(b_.delivered.size(), sent);
}

// It has seen nothing of what its peers did meanwhile.
TEST_F(Upkeep, NobodyIsTakenForLost) {
  send(Bytes(8, 2));
  b_.transport.forget_waiting();
  for (int i = 0; i != 100; ++i) {
    time_passes();
    a_.set.keep_up();
  }
  EXPECT_TRUE(a_.timed_out.empty());
}

// Whatever it brings: what the former one owed is given up in a step.
TEST_F(Upkeep, WhoBeginsAnewWaits) {
  wire::PacketHeader header = b_.header_of_peer();
  header.source_epoch = ChannelSide::kEpoch << 8;
  b_.transport.put_back({b_.first_packet(header, b_.config.job_key)});
  b_.set.keep_up();
  EXPECT_TRUE(b_.delivered.empty());
  EXPECT_EQ(b_.channel->reliable().peer_epoch(), ChannelSide::kEpoch);
  EXPECT_EQ(b_.set.take_kept_back(), 1u);
  EXPECT_EQ(b_.channel->reliable().peer_epoch(), ChannelSide::kEpoch << 8);
  EXPECT_EQ(b_.delivered.size(), 1u);
}

// Only that answer tells where the first packet may be sent again.
TEST(FirstContactInUpkeep, TheAnswerThatTellsTheEpochIsNoNews) {
  TurnedClock clock;
  ChannelSide a(0, {}, clock), b(1, {}, clock);
  ChannelSide::connect(a, b);
  a.channel = a.set.make_channel(1, a.only(), {0, 0});
  ASSERT_TRUE(a.send(Bytes(8, 1)));
  a.transmit();
  b.set.receive();
  EXPECT_TRUE(b.delivered.empty()) << "it does not say whom it is for";
  b.transmit();
  a.set.keep_up();
  EXPECT_FALSE(a.set.keeps_back_any());
  b.set.receive();
  EXPECT_EQ(b.delivered, std::vector<Bytes>{Bytes(8, 1)});
}

class KeptBackTest : public testing::Test {
 protected:
  void keep(std::uint32_t sequence) {
    bytes_[0] = static_cast<std::byte>(sequence);
    IncomingPacket packet{};
    packet.data = bytes_.data();
    packet.length = static_cast<std::uint32_t>(bytes_.size());
    packet.origin = 5;
    packet.same_datagram = true;
    kept_.keep({.source = 1, .sequence = sequence, .epoch = 1}, transport_, packet);
  }

  MemoryTransport transport_{0, 1024};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(11);
  KeptBack kept_;
};

TEST_F(KeptBackTest, PacketsComeAsTheyWereAndAlone) {
  EXPECT_TRUE(kept_.empty());
  for (const std::uint32_t sequence : {7u, 8u, 7u}) keep(sequence);
  EXPECT_FALSE(kept_.empty());
  const std::vector<KeptBack::Packet> packets = kept_.take();
  EXPECT_TRUE(kept_.empty());
  ASSERT_EQ(packets.size(), 2u);
  for (const KeptBack::Packet& kept : packets) {
    EXPECT_EQ(kept.transport, &transport_);
    EXPECT_EQ(kept.packet.length, 11u);
    EXPECT_EQ(kept.packet.origin, 5u);
    EXPECT_FALSE(kept.packet.same_datagram);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept.packet.data) % 8, 0u);
  }
  EXPECT_EQ(packets[0].packet.data[0], std::byte{7});
  EXPECT_EQ(packets[1].packet.data[0], std::byte{8});
}

TEST_F(KeptBackTest, TheirNumberIsBounded) {
  for (std::uint32_t i = 0; i != tuning::kMostPacketsKeptBack + 20; ++i) keep(i);
  EXPECT_EQ(kept_.take().size(), tuning::kMostPacketsKeptBack);
}

TEST_F(KeptBackTest, TheirBytesAreBounded) {
  bytes_.resize(tuning::kMostBytesKeptBack / 16);
  for (int round = 0; round != 2; ++round) {
    for (std::uint32_t i = 0; i != 20; ++i) keep(i);
    EXPECT_EQ(kept_.take().size(), 16u) << "what was taken counts no more";
  }
}

}  // namespace
}  // namespace openlapi
