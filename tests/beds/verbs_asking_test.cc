// After how many packets a connection is asked for: of a real adapter soon, of soft-RoCE late, and late in another
// one's place. A request makes a queue pair, which the shim counts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/beds/verbs_adapters.h"

namespace openlapi::test {
namespace {

class VerbsAsking : public VerbsAdapters {
 protected:
  VerbsAsking() {
    bed_changes = [this](VerbsConfig& config) {
      config.connections = true;
      config.connection_limits = {.connections = most_};
    };
  }

  static std::size_t queue_pairs() { return requests_of_adapter().inline_bytes.size(); }

  static void send(VerbsTransport& from, PeerIndex to, VerbsTransport& at, unsigned packets) {
    for (unsigned n = 0; n != packets; ++n) {
      ASSERT_TRUE(wait_for([&] { return send_number(from, to, ++sent_) == 1; }));
      ASSERT_TRUE(wait_for([&] { return empty(from), receive_number(at) == sent_; }));
    }
  }

  // The next packet is the first one with which `to` is asked.
  static void expect_asked(VerbsTransport& from, PeerIndex to, VerbsTransport& at) {
    const std::size_t before = queue_pairs();
    ASSERT_TRUE(wait_for([&] { return send_number(from, to, ++sent_) == 1; }));
    EXPECT_EQ(queue_pairs(), before + 1);
    const std::uint64_t through = from.connections()->counters().packets_sent;
    EXPECT_TRUE(wait_for([&] {
      send_number(from, to, ++sent_);
      empty(at);
      empty(from);
      return from.connections()->counters().packets_sent > through;
    }));
  }

  std::uint32_t most_ = 64;
  inline static std::uint64_t sent_ = 0;
};

TEST_F(VerbsAsking, ARealAdapterAsksAfter32Packets) {
  adapter_shim.hardware = true;
  VerbsPair pair;
  const std::size_t before = queue_pairs();
  send(*pair.left, 1, *pair.right, 31);
  EXPECT_EQ(queue_pairs(), before) << "not sooner";
  expect_asked(*pair.left, 1, *pair.right);
}

TEST_F(VerbsAsking, SoftRoceAsksAfter1024Packets) {
  VerbsPair pair;
  const std::size_t before = queue_pairs();
  send(*pair.left, 1, *pair.right, 1023);
  EXPECT_EQ(queue_pairs(), before) << "not sooner";
  expect_asked(*pair.left, 1, *pair.right);
}

// Soft-RoCE does not place bytes in order, but the shim's adapter says that it is a ConnectX-6.
TEST_F(VerbsAsking, RingsAreUsedWhereTheAdapterIsKnownToWriteInOrder) {
  for (const bool hardware : {false, true}) {
    adapter_shim.hardware = hardware;
    bed_changes = [](VerbsConfig& config) {
      config.connections = true;
      config.connection_limits = {.packets_before_asking = 1, .rings = verbs::Rings::where_in_order};
    };
    VerbsPair pair;
    const auto written = [&] { return pair.left->connections()->counters().packets_written; };
    for (int round = 0; round != 200; ++round) send(*pair.left, 1, *pair.right, 1);
    EXPECT_EQ(written() != 0, hardware);
    EXPECT_EQ(pair.right->connections()->served().rings() != nullptr, hardware);
  }
}

TEST_F(VerbsAsking, AnothersPlaceIsTakenAfterMorePackets) {
  adapter_shim.hardware = true;
  most_ = 2;
  const VerbsPointer left = open_well("rxe0");
  std::vector<VerbsPointer> others;
  std::string error;
  for (PeerIndex peer = 0; peer != 3; ++peer) {
    others.push_back(open_well("rxe1"));
    ASSERT_TRUE(added(*left, peer, others[peer]->local_address(), error)) << error;
    ASSERT_TRUE(added(*others[peer], 0, left->local_address(), error)) << error;
  }
  for (const PeerIndex peer : {0, 1}) {
    send(*left, peer, *others[peer], 31);
    expect_asked(*left, peer, *others[peer]);
  }
  send(*left, 1, *others[1], 300);  // afterwards the first one's connection is idle
  const std::size_t before = queue_pairs();
  send(*left, 2, *others[2], 32 + 1023);
  EXPECT_EQ(queue_pairs(), before) << "not as soon as where there is room";
  EXPECT_NE(left->connections()->queue_pair_to(0), nullptr);
  expect_asked(*left, 2, *others[2]);
  EXPECT_EQ(left->connections()->queue_pair_to(0), nullptr);
}

}  // namespace
}  // namespace openlapi::test
