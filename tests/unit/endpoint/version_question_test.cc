// What a task says and believes of wire versions, packet by packet, as any task of a job: endpoint/other_version has
// the whole of it, of a first task over sockets.
#include <gtest/gtest.h>

#include "dataplane/tuning.h"
#include "dataplane/wire/version_packet.h"
#include "tests/support/channel_side.h"

namespace openlapi {
namespace {

constexpr std::uint8_t kOther = wire::kPacketVersion + 1;
constexpr std::uint8_t kInstance = 3;

class VersionQuestion : public testing::Test {
 protected:
  VersionQuestion() { ChannelSide::connect(peer_, task_); }
  static EndpointConfig config() {
    EndpointConfig config;
    config.job_key = {5, 6};
    config.instance = kInstance;
    config.key_may_differ = true;
    return config;
  }

  TurnedClock clock_;
  ChannelSide task_{1, config(), clock_}, peer_{0, config(), clock_};
};

TEST_F(VersionQuestion, IsAskedInOnesOwnName) {
  task_.channel->ask_version(ChannelSide::kEpoch);
  const auto packets = peer_.transport.take_waiting();
  ASSERT_EQ(packets.size(), 1u);
  wire::PacketHeader header;
  ASSERT_EQ(wire::decode(packets[0], header), wire::DecodeResult::ok);
  header.destination = 0;
  EXPECT_EQ(header.instance, kInstance);
  EXPECT_EQ(header.source, 1u);
  EXPECT_EQ(header.source_epoch, ChannelSide::kEpoch);
  EXPECT_EQ(header.destination_epoch, ChannelSide::kEpoch);
  EXPECT_EQ(header.flags, wire::kPacketAckWanted);
  EXPECT_EQ(header.association, wire::version_proof_of(config().job_key, wire::kPacketVersion, header));
}

TEST_F(VersionQuestion, IsAPacketIfItLeaves) {
  const auto ask = [&] {
    const std::uint64_t before = task_.statistics().packets_sent;
    task_.channel->ask_version(ChannelSide::kEpoch);
    return task_.statistics().packets_sent - before;
  };
  EXPECT_EQ(ask(), 1u);
  clock_.advance(tuning::kVersionQuestionPause - 1);
  EXPECT_EQ(ask(), 0u);
  clock_.advance(1);
  peer_.transport.set_room(0);
  EXPECT_EQ(ask(), 0u);
  clock_.advance(tuning::kVersionQuestionPause);
  peer_.transport.set_room(64);
  EXPECT_EQ(ask(), 1u);
}

// It is told, and nothing else comes of it: neither an answer nor a suspicion.
TEST_F(VersionQuestion, IsOverWhenAnotherOneIsProved) {
  wire::PacketHeader header;
  header.instance = kInstance;
  header.length = static_cast<std::uint16_t>(wire::kPacketHeaderSize);
  header.destination = 1;
  header.source_epoch = header.destination_epoch = ChannelSide::kEpoch;
  header.association = wire::version_proof_of(config().job_key, kOther, header);
  std::vector<std::byte> packet(wire::kPacketHeaderSize);
  wire::encode(header, packet.data());
  packet[2] = std::byte{kOther};
  task_.transport.put_back({packet});
  task_.set.receive();
  EXPECT_EQ(task_.other_versions, std::vector<unsigned>{kOther});
  EXPECT_TRUE(task_.other_keys.empty());
  EXPECT_EQ(task_.transmit(), 0u);
  EXPECT_EQ(peer_.transport.waiting(), 0u);
}

}  // namespace
}  // namespace openlapi
