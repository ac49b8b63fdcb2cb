// Packets that another key has made, from where the peer is: which of them mean anything, and since when. Nothing right
// has come from there. endpoint/other_secret has the whole of it. And packets that are not as they were sent.
#include <gtest/gtest.h>

#include "tests/support/channel_side.h"

namespace openlapi {
namespace {

constexpr SipKey kOtherKey{3, 4};

EndpointConfig config() {
  EndpointConfig config;
  config.key_may_differ = true;
  config.timeout = 60 * kSecond;
  return config;
}

class OtherKey : public testing::Test {
 protected:
  OtherKey() { ChannelSide::connect(peer_, task_); }

  std::vector<std::byte> packet(const wire::PacketHeader& header, std::size_t payload = 8) const {
    return task_.first_packet(header, kOtherKey, payload);
  }
  void receive(const std::vector<std::byte>& packet) {
    task_.transport.put_back({packet});
    task_.set.receive();
  }
  // One that means something.
  void receive_one() { receive(packet(task_.header_of_peer())); }

  TurnedClock clock_;
  ChannelSide task_{0, config(), clock_}, peer_{1, config(), clock_};
};

TEST_F(OtherKey, WhoIsAskedForAnAnswer) {
  const wire::PacketHeader right = task_.header_of_peer();
  std::vector<wire::PacketHeader> wrong(6, right);
  wrong[0].instance = 2;
  wrong[1].path = 1;
  wrong[2].source = 2;
  wrong[3].source = 0;
  wrong[4].flags |= wire::kPacketShort;
  wrong[5].length = 40;
  task_.asked_for.clear();
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    receive(packet(wrong[i]));
    EXPECT_EQ(task_.transmit(), 0u) << i;
    EXPECT_EQ(task_.asked_for, std::vector<PeerIndex>(i < 4 ? 0 : i == 4 ? 1 : 1, 1)) << i;
  }
  receive(packet(right, ChannelSide::kMaxPacket - right.size() + 1));
  EXPECT_EQ(task_.transmit(), 0u) << "longer than any packet";
  task_.other_transport.put_back({packet(right)});
  task_.set.receive();
  EXPECT_EQ(task_.transmit(), 0u) << "another transport";
  receive(packet(right, ChannelSide::kMaxPacket - right.size()));
  EXPECT_EQ(task_.transmit(), 1u);
  EXPECT_EQ(peer_.transport.waiting(), 1u);
}

TEST_F(OtherKey, IsSaidSoonAndRefusedWhenThePeerTimesOut) {
  using Told = std::vector<bool>;
  receive_one();
  task_.transmit();
  clock_.advance(tuning::kOtherSecretSaid - 1);
  receive_one();
  EXPECT_EQ(task_.other_keys, Told{});
  clock_.advance(1);
  receive_one();
  EXPECT_EQ(task_.other_keys, Told{false});
  for (Nanoseconds lasted = tuning::kOtherSecretSaid; lasted < config().timeout - kSecond; lasted += kSecond) {
    clock_.advance(kSecond);
    receive_one();
  }
  clock_.advance(kSecond - 1);
  receive_one();
  task_.set.run_timers(clock_.now());
  EXPECT_EQ(task_.other_keys, Told{false}) << "said once";
  clock_.advance(1);
  task_.set.run_timers(clock_.now());
  EXPECT_EQ(task_.other_keys, (Told{false, true}));
  EXPECT_TRUE(task_.timed_out.empty());
  task_.set.run_timers(clock_.now());
  EXPECT_EQ(task_.timed_out, std::vector<PeerIndex>{1}) << "told once: what goes on is silence";
  receive_one();
  EXPECT_EQ(task_.other_keys.size(), 2u) << "another row begins";
}

// It has gone before the peer times out: that is silence like any other.
TEST_F(OtherKey, WhatWasLongAgoIsNoReason) {
  receive_one();
  task_.transmit();
  clock_.advance(tuning::kOtherSecretSaid);
  receive_one();
  clock_.advance(config().timeout - tuning::kOtherSecretSaid);
  task_.set.run_timers(clock_.now());
  EXPECT_EQ(task_.other_keys, std::vector<bool>{false});
  EXPECT_EQ(task_.timed_out, std::vector<PeerIndex>{1});
}

// One packet, as anybody may have sent it.
TEST_F(OtherKey, WhatHasNotLastedIsNoReason) {
  ASSERT_TRUE(task_.send({1, 2, 3, 4}));
  task_.transmit();
  clock_.advance(config().timeout);
  receive_one();
  task_.set.run_timers(clock_.now());
  EXPECT_TRUE(task_.other_keys.empty());
  EXPECT_EQ(task_.timed_out, std::vector<PeerIndex>{1});
}

TEST_F(OtherKey, APauseEndsTheRow) {
  receive_one();
  clock_.advance(tuning::kOtherSecretPause + 1);
  receive_one();
  EXPECT_TRUE(task_.other_keys.empty());
  clock_.advance(tuning::kOtherSecretPause);
  receive_one();
  EXPECT_EQ(task_.other_keys, std::vector<bool>{false});
}

TEST_F(OtherKey, MeansNothingWhereTheKeyCannotDiffer) {
  EndpointConfig sure = config();
  sure.key_may_differ = false;
  ChannelSide task(0, sure, clock_);
  ChannelSide::connect(peer_, task);
  for (int i = 0; i < 20; ++i) {
    task.transport.put_back({packet(task.header_of_peer())});
    task.set.receive();
    clock_.advance(4 * kSecond);
  }
  EXPECT_TRUE(task.other_keys.empty());
  EXPECT_EQ(task.transmit(), 0u);
}

// Who was heard is not doubted.
TEST_F(OtherKey, MeansNothingBesideTheRightOne) {
  ASSERT_TRUE(peer_.send({1, 2, 3, 4}));
  task_.set.receive();
  ASSERT_EQ(task_.delivered.size(), 1u);
  for (int i = 0; i < 20; ++i) {
    receive_one();
    clock_.advance(4 * kSecond);
  }
  EXPECT_TRUE(task_.other_keys.empty());
}

// A bit that is wrong anywhere behind the header: where a tag or a checksum is wanted the packet is none.
TEST(DamagedPackets, AreDroppedByTagOrChecksum) {
  for (const bool tags : {true, false}) {
    TurnedClock clock;
    EndpointConfig config;
    config.packet_tags = tags;
    ChannelSide a(0, config, clock, tags), b(1, config, clock, tags);
    ChannelSide::connect(a, b);
    ASSERT_TRUE(a.send(ChannelSide::Bytes(16, 1)));
    MemoryTransport::Copies packets = b.transport.take_waiting();
    packets.at(0).back() ^= std::byte{16};
    b.transport.put_back(packets);
    EXPECT_EQ(b.set.receive(), 1u);
    EXPECT_TRUE(b.delivered.empty()) << "tags: " << tags;
    EXPECT_EQ(b.statistics().ghost_packets, 1u);
    packets.at(0).back() ^= std::byte{16};
    b.transport.put_back(packets);
    b.set.receive();
    EXPECT_EQ(b.delivered, std::vector(1, ChannelSide::Bytes(16, 1))) << "tags: " << tags;
  }
}

}  // namespace
}  // namespace openlapi
