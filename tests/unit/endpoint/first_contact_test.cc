// The first packets to a peer: for the incarnation that the address exchange told of, and no later.
#include <gtest/gtest.h>

#include "dataplane/peers/peer_table.h"
#include "dataplane/wire/association.h"
#include "dataplane/wire/packet_header.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

class FirstContact : public testing::Test {
 protected:
  // Two tasks over an unreliable path without losses; `told` is the epoch that task 0 learns with the other's address.
  void start(std::uint32_t told) {
    EndpointConfig config;
    config.job_key = {0x1234, 0};
    config.epoch = 5;
    job_ = std::make_unique<Job>(2, config);
    for (PeerIndex i = 0; i < 2; ++i) job_->task(i).transport.make_lossy(0, 1);
    job_->task(0).epoch_of_peers = told;
    job_->start();
  }

  Submit put() { return (*job_)[0].put({1, address(&sink_), &value_, sizeof(value_), 0, 0, 0}); }

  std::unique_ptr<Job> job_;
  const std::uint64_t value_ = 77;
  std::uint64_t sink_ = 0;
};

TEST_F(FirstContact, TakesNoExtraRoundTripWhenTheEpochCameWithTheAddress) {
  start(5);
  ASSERT_EQ(put(), Submit::accepted);
  (*job_)[1].progress();
  EXPECT_EQ(sink_, 77u);
}

TEST_F(FirstContact, ThePeerIsHeardOnceItHasAnswered) {
  start(5);
  job_->clock.advance(kSecond);
  EXPECT_EQ((*job_)[0].load(1).last_heard, 0u);
  ASSERT_EQ(put(), Submit::accepted);
  (*job_)[1].progress();
  EXPECT_EQ((*job_)[0].load(1).last_heard, 0u);
  (*job_)[1].drained();  // acknowledges
  (*job_)[0].progress();
  EXPECT_GE((*job_)[0].load(1).last_heard, kSecond);
}

TEST_F(FirstContact, AsksForTheEpochWhenNobodyTold) {
  start(0);
  ASSERT_EQ(put(), Submit::accepted);
  (*job_)[1].progress();
  EXPECT_EQ(sink_, 0u);
  (*job_)[0].progress();
  (*job_)[1].progress();
  EXPECT_EQ(sink_, 77u);
}

TEST_F(FirstContact, DoesNotReachALaterIncarnationThanItWasMeantFor) {
  start(4);
  ASSERT_EQ(put(), Submit::accepted);
  job_->settle();
  EXPECT_EQ(sink_, 0u);
  EXPECT_EQ((*job_)[0].peers().contacted().size(), 1u);
  ASSERT_EQ(put(), Submit::accepted);
  job_->settle();
  EXPECT_EQ(sink_, 77u) << "the later incarnation is known now";
}

// Anybody could have sent it: a stranger must not make us look for tasks that we have nothing to do with.
TEST_F(FirstContact, IsNotMadeForAShortHeader) {
  start(5);
  wire::PacketHeader header;
  header.flags = wire::kPacketHasData | wire::kPacketShort;
  header.destination = 1;
  header.source_epoch = header.destination_epoch = 5;
  header.instance = 1;
  header.association = wire::association_of({0x1234, 0}, header);
  std::vector<std::byte> packet(header.size());
  wire::encode(header, packet.data());
  job_->task(1).transport.put_back({packet});
  (*job_)[1].progress();
  EXPECT_EQ((*job_)[1].peers().contacted().size(), 0u);
  EXPECT_EQ((*job_)[1].statistics(StatisticsPath::network).ghost_packets, 1u);
}

}  // namespace
}  // namespace openlapi
