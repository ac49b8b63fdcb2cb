// Packets between the devices of the soft-RoCE bed: their way, keys and lengths.
#include <gtest/gtest.h>

#include <vector>

#include "tests/beds/verbs_bed.h"
#include "tests/support/allocation_count.h"

namespace openlapi::test {
namespace {

TEST(VerbsPackets, CrossTheWireAndAreNotAllocatedFor) {
  VerbsPair pair;
  const std::string counter = "/sys/class/net/port1/statistics/tx_packets";
  ASSERT_EQ(send_number(*pair.left, 1, 7), 1u);
  ASSERT_EQ(receive_number(*pair.right), 7u);
  const long before = read_number(counter);
  const std::vector<std::byte> bytes(4096);
  const ConstBuffer pieces[] = {{bytes.data(), 40}, {bytes.data(), 8}, {bytes.data(), 4000}};
  const OutgoingPacket burst[] = {{{pieces, 2}, 48}, {{pieces, 3}, 4048}, {{pieces, 1}, 40}};
  const std::uint64_t allocated = allocation_count();
  std::uint32_t arrived = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(pair.left->send_burst(1, burst), 3u);
    for (int looks = 0; looks < 100'000 && arrived < 3u * static_cast<unsigned>(i + 1); ++looks) {
      IncomingPacket packets[8];
      const std::size_t count = pair.right->receive_burst(packets);
      arrived += static_cast<std::uint32_t>(count);
      pair.right->release(count);
    }
  }
  EXPECT_EQ(allocation_count(), allocated) << "allocations on the data path";
  EXPECT_EQ(arrived, 3000u);
  EXPECT_GE(read_number(counter) - before, 3000) << "packets did not cross the wire";
  EXPECT_EQ(pair.left->verbs_counters().inline_sends, 2001u);
  EXPECT_EQ(pair.left->counters().packets_sent, 3001u);
  EXPECT_EQ(pair.right->counters().packets_received, 3001u);
}

VerbsPointer open_of_two_tasks(const char* device, std::int32_t gid_index) {
  VerbsConfig config;
  config.port = {.device = device, .port = 1, .gid_index = gid_index};
  config.connections = true;
  config.connection_limits.packets_before_asking = 1;
  config.tasks = 2;
  VerbsSetupError failure;
  VerbsPointer transport = open_verbs_transport(config, failure);
  EXPECT_NE(transport, nullptr) << failure.text;
  return transport;
}

// Of the next packet.
std::uint64_t receive_origin(VerbsTransport& at) {
  IncomingPacket packet{};
  if (!wait_for([&] { return at.receive_burst({&packet, 1}) == 1; }, 10)) return UINT64_MAX;
  at.release(1);
  return packet.origin;
}

// Both adapters of task 1 number their queue pairs alike.
TEST(VerbsPackets, SayFromWhichOtherEndTheyCome) {
  constexpr PeerIndex kOtherEnd = 5;
  for (const std::int32_t gid_index : {1, 2}) {
    const VerbsPointer here = open_of_two_tasks("rxe0", gid_index), home = open_of_two_tasks("rxe0", gid_index),
                       other = open_of_two_tasks("rxe1", gid_index);
    ASSERT_TRUE(here && home && other);
    std::string error;
    ASSERT_TRUE(added(*here, 1, home->local_address(), error)) << error;
    ASSERT_TRUE(added(*here, kOtherEnd, other->local_address(), error)) << error;
    for (const VerbsPointer* one : {&home, &other}) {
      ASSERT_TRUE(added(**one, 0, here->local_address(), error)) << error;
    }
    const std::uint64_t origin = here->origin_of(kOtherEnd);
    EXPECT_NE(origin, 0u);
    EXPECT_EQ(here->origin_of(1), 0u);
    for (std::uint64_t n = 1; n != 10; ++n) {
      ASSERT_EQ(send_number(*home, 0, n), 1u);
      EXPECT_EQ(receive_origin(*here), 0u);
      ASSERT_EQ(send_number(*other, 0, n), 1u);
      EXPECT_EQ(receive_origin(*here), origin);
      ASSERT_EQ(send_number(*here, kOtherEnd, n), 1u);
      EXPECT_EQ(receive_number(*other), n);
    }
    EXPECT_EQ(here->connections()->counters().packets_sent, 0u) << "to another end there are datagrams alone";
  }
}

TEST(VerbsPackets, ThoseWithAnotherKeyNeverArrive) {
  VerbsPair pair;
  verbs::Address address = pair.right->address();
  address.qkey ^= 1;
  std::string error;
  ASSERT_TRUE(added(*pair.left, 2, verbs::encode(address), error)) << error;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(send_number(*pair.left, 2, 666), 1u);
  ASSERT_EQ(send_number(*pair.left, 1, 8), 1u);
  EXPECT_EQ(receive_number(*pair.right), 8u);
  EXPECT_EQ(pair.right->counters().packets_received, 1u);
}

TEST(VerbsPackets, AddressesOfAnotherKindAreRefused) {
  VerbsPair pair;
  VerbsConfig config;
  config.port = {.device = "rxe1", .port = 1, .gid_index = 2};
  VerbsSetupError failure;
  const VerbsPointer six = open_verbs_transport(config, failure);
  ASSERT_NE(six, nullptr) << failure.text;
  std::string error;
  EXPECT_FALSE(added(*pair.left, 3, six->local_address(), error));
  EXPECT_NE(error.find("the same kind of GID"), std::string::npos) << error;
}

TEST(VerbsPackets, TheSmallerMtuOfTwoPeersRules) {
  VerbsPair pair(4096, 1024);
  EXPECT_EQ(pair.left->limits().max_packet, 4096u);
  EXPECT_EQ(pair.right->limits().max_packet, 1024u);
  EXPECT_EQ(pair.left->max_packet_to(1), 1024u);
  EXPECT_EQ(pair.right->max_packet_to(0), 1024u);
  ASSERT_EQ(send_number(*pair.left, 1, 1, 1024), 1u);
  EXPECT_EQ(receive_number(*pair.right), 1u);
  // A longer one is lost, as if on the way, and harms nobody.
  ASSERT_EQ(send_number(*pair.left, 1, 2, 1025), 1u);
  ASSERT_EQ(send_number(*pair.left, 1, 3, 1024), 1u);
  EXPECT_EQ(receive_number(*pair.right), 3u);
  EXPECT_EQ(pair.left->verbs_counters().lost_packets, 1u);
}

TEST(VerbsPackets, TheMtuFollowsTheInterface) {
  command("ip link set rdma1 mtu 1500");
  {
    const VerbsPointer narrow = open_well("rxe1");
    EXPECT_EQ(narrow->limits().max_packet, 1024u);
    const VerbsPointer wide = open_well("rxe0");
    std::string error;
    ASSERT_TRUE(added(*wide, 1, narrow->local_address(), error)) << error;
    EXPECT_EQ(wide->max_packet_to(1), 1024u);
    ASSERT_EQ(send_number(*wide, 1, 5, 1024), 1u);
    EXPECT_EQ(receive_number(*narrow), 5u);
  }
  command("ip link set rdma1 mtu 4200");
}

TEST(VerbsPackets, TwoJobsShareAnAdapter) {
  VerbsPair one, other;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_EQ(send_number(*one.left, 1, i), 1u);
    ASSERT_EQ(send_number(*other.left, 1, 1000 + i), 1u);
    ASSERT_EQ(receive_number(*one.right), i);
    ASSERT_EQ(receive_number(*other.right), 1000 + i);
  }
}

}  // namespace
}  // namespace openlapi::test
