// A transport that has what every transport must have, and nothing else.
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "dataplane/transport/transport.h"

namespace openlapi {
namespace {

class Bare final : public Transport {
 public:
  std::string_view name() const override { return "bare"; }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override { return {}; }
  bool add_peer(PeerIndex, const PeerAddress&, std::string&) override { return true; }
  std::size_t send_burst(PeerIndex, std::span<const OutgoingPacket> packets) override { return packets.size(); }
  std::size_t receive_burst(std::span<IncomingPacket>) override { return 0; }
  void release(std::size_t) override {}
  TransportCapabilities capabilities() override { return {}; }
  TransportCounters counters() const override { return {}; }

 private:
  const TransportLimits limits_{1400, 16, false, false};
};

TEST(BareTransport, TakesTheSamePacketsToEveryPeer) {
  Bare bare;
  EXPECT_EQ(max_packet_to(bare, 1), 1400u);
  EXPECT_EQ(bare.local_address().view().size(), 0u) << "no address: it has none here";
}

TEST(BareTransport, HasNothingBesideItsPackets) {
  const TransportCapabilities nothing = Bare().capabilities();
  EXPECT_EQ(nothing.remote_memory, nullptr);
  EXPECT_EQ(nothing.bulk_memory, nullptr);
  EXPECT_EQ(nothing.wake_source, nullptr);
  EXPECT_EQ(nothing.arrival_watch, nullptr);
  EXPECT_EQ(nothing.peer_limits, nullptr);
  EXPECT_EQ(nothing.packet_origins, nullptr);
  EXPECT_EQ(nothing.packed_datagrams, nullptr);
  EXPECT_EQ(nothing.peer_liveness, nullptr);
  EXPECT_EQ(nothing.reliable_delivery, nullptr);
  EXPECT_EQ(nothing.peer_eras, nullptr);
  EXPECT_EQ(nothing.thread_resources, nullptr);
}

TEST(BareTransport, NumbersBeginAtNothing) {
  const TransportCounters counters = Bare().counters();
  EXPECT_EQ(counters.packets_sent, 0u);
  EXPECT_EQ(counters.packets_received, 0u);
  EXPECT_EQ(counters.send_refused, 0u);
  EXPECT_EQ(counters.receive_dropped, 0u);
}

}  // namespace
}  // namespace openlapi
