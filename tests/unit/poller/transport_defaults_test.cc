// What a transport says that knows nothing of what it is asked.
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "dataplane/transport/transport.h"

namespace openlapi {
namespace {

// Has what every transport must have, and nothing else.
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

class BareWakeSource final : public WakeSource {
 public:
  int descriptor() const override { return -1; }
  bool arm() override { return true; }
  void disarm() override {}
};

TEST(TransportDefaults, OneWithoutPartsHasNone) {
  Bare bare;
  EXPECT_EQ(max_packet_to(bare, 1), 1400u);
  EXPECT_EQ(bare.local_address().view().size(), 0u) << "no address: it has none here";
}

TEST(TransportDefaults, NumbersBeginAtNothing) {
  const TransportCounters counters = Bare().counters();
  EXPECT_EQ(counters.packets_sent, 0u);
  EXPECT_EQ(counters.packets_received, 0u);
  EXPECT_EQ(counters.send_refused, 0u);
  EXPECT_EQ(counters.receive_dropped, 0u);
}

TEST(TransportDefaults, APacketEndsASleepAtOnce) { EXPECT_TRUE(BareWakeSource().immediate()); }

}  // namespace
}  // namespace openlapi
