// What a DPDK transport tells of its link. Runs in dpdk-ports of the kind af_packet, whose interface dpdk0 is connected
// with the port bus0 of a bridge, and dpdk1 with bus1; both transports are in this process.
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "nic/dpdk/dpdk_transport.h"
#include "nic/dpdk/packet_ring.h"
#include "tests/beds/dpdk_bed.h"

namespace openlapi {
namespace {

using test::arrives;
using test::Clock;
using test::wait_for;

std::unique_ptr<DpdkTransport> open(PeerIndex self, bool link_status) {
  DpdkConfig config;
  config.address = 0x0a4e0001 + self;
  config.link_status = link_status;
  return test::open_af_packet(self, config);
}

TEST(DpdkLinks, AnInterfaceThatGoesDownAndUpAndItsCable) {
  const auto here = open(0, true);
  const auto there = open(1, false);
  ASSERT_TRUE(here && there);
  LinkStatus* const link = here->capabilities().link_status;
  ASSERT_NE(link, nullptr);
  std::string error;
  ASSERT_TRUE(here->add_peer(1, there->local_address(), error)) << error;
  const auto comes_to = [&](bool up) {
    return wait_for([&] {
      link->look();
      return link->reaches(1) == up;
    });
  };
  ASSERT_TRUE(comes_to(true));
  for (const std::string interface : {"dpdk0", "bus0"}) {
    const std::uint32_t before = link->changes();
    test::ip("link set " + interface + " down");
    EXPECT_TRUE(comes_to(false)) << interface;
    EXPECT_NE(link->changes(), before);
    test::ip("link set " + interface + " up");
    EXPECT_TRUE(comes_to(true)) << interface;
  }
}

// A packet socket with a ring to send from, filled as af_packet's driver fills it.
class FullRing {
 public:
  static constexpr unsigned kFrames = 128;

  FullRing() : socket_(socket(AF_PACKET, SOCK_RAW, 0)) {
    const int version = TPACKET_V2, room = 32768;
    tpacket_req rings{kFrameSize * kFrames, 1, kFrameSize, kFrames};
    EXPECT_EQ(setsockopt(socket_, SOL_PACKET, PACKET_VERSION, &version, sizeof version), 0);
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
    EXPECT_EQ(setsockopt(socket_, SOL_PACKET, PACKET_RX_RING, &rings, sizeof rings), 0);
    EXPECT_EQ(setsockopt(socket_, SOL_PACKET, PACKET_TX_RING, &rings, sizeof rings), 0);
    memory_ = static_cast<std::byte*>(mmap(nullptr, 2 * kSize, PROT_READ | PROT_WRITE, MAP_SHARED, socket_, 0));
    EXPECT_NE(memory_, MAP_FAILED);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(if_nametoindex("dpdk0"));
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    for (unsigned number = 0; number != kFrames; ++number) {
      frame(number)->tp_len = 1400;
      frame(number)->tp_status = TP_STATUS_SEND_REQUEST;
    }
    sendto(socket_, nullptr, 0, MSG_DONTWAIT, nullptr, 0);
  }
  ~FullRing() {
    munmap(memory_, 2 * kSize);
    close(socket_);
  }
  unsigned left() const {
    unsigned count = 0;
    for (unsigned number = 0; number != kFrames; ++number) count += frame(number)->tp_status == TP_STATUS_SEND_REQUEST;
    return count;
  }

 private:
  static constexpr unsigned kFrameSize = 2048, kSize = kFrameSize * kFrames;
  volatile tpacket2_hdr* frame(unsigned number) const {
    return reinterpret_cast<tpacket2_hdr*>(memory_ + kSize + number * kFrameSize);
  }

  int socket_;
  std::byte* memory_ = nullptr;
};

// More at once than the socket may have on its way: the kernel has to be asked for the rest.
TEST(DpdkLinks, WhatWaitsForASlowInterfaceLeaves) {
  ASSERT_EQ(std::system("tc qdisc add dev dpdk0 root tbf rate 100mbit burst 32k limit 4m"), 0);
  {
    FullRing frames;
    dpdk::PacketRing ring;
    ring.find("dpdk0", 1500);
    EXPECT_FALSE(ring.may_hold_frames());
    ring.sent(FullRing::kFrames);
    EXPECT_TRUE(ring.may_hold_frames());
    EXPECT_GT(frames.left(), 0u);
    EXPECT_TRUE(wait_for([&] {
      ring.push();
      return !ring.may_hold_frames();
    }));
    EXPECT_EQ(frames.left(), 0u);
  }
  EXPECT_EQ(std::system("tc qdisc del dev dpdk0 root"), 0);
}

// Also of a port that is the only one of its task.
TEST(DpdkLinks, AnInterfaceThatGetsAnotherHardwareAddressIsFollowed) {
  const auto here = open(0, false);
  const auto there = open(1, false);
  ASSERT_TRUE(here && there);
  std::string error;
  ASSERT_TRUE(here->add_peer(1, there->local_address(), error)) << error;
  ASSERT_TRUE(there->add_peer(0, here->local_address(), error)) << error;
  EXPECT_TRUE(arrives(*here, 1, *there));
  LinkStatus* const link = here->capabilities().link_status;
  ASSERT_NE(link, nullptr);
  const PeerAddress before = here->local_address();
  const std::uint32_t changes = link->changes();
  test::ip("link set dpdk0 address 02:0d:00:00:07:07");
  EXPECT_TRUE(wait_for([&] {
    link->look();
    return here->local_address() != before;
  }));
  EXPECT_NE(link->changes(), changes);
  EXPECT_EQ(here->address().end.mac, (dpdk::MacAddress{2, 13, 0, 0, 7, 7}));
  EXPECT_TRUE(arrives(*here, 1, *there)) << "it sends as before";
  ASSERT_TRUE(there->add_peer(0, here->local_address(), error)) << error;
  EXPECT_TRUE(arrives(*there, 0, *here)) << "it receives at its new address";
}

// `tag`, `dscp`: of frames of the first.
DpdkConfig marked(PeerIndex self, std::optional<std::uint16_t> tag, std::uint8_t dscp = 0) {
  DpdkConfig config;
  config.address = 0x0a4e0001 + self;
  config.marks = {.tag = tag, .dscp = dscp};
  return config;
}

// The bridge passes tags on as they are.
TEST(DpdkLinks, FramesOfTheOwnVlanAndPriorityTaggedOnesArrive) {
  constexpr std::uint16_t kPriority = 3 << 13;
  struct Case {
    std::optional<std::uint16_t> sent, own;
    bool arrives;
  };
  for (const Case& one :
       {Case{kPriority | 5, kPriority | 5, true}, Case{kPriority, std::nullopt, true}, Case{kPriority, 5, true},
        Case{std::nullopt, 5, true}, Case{5, std::nullopt, false}, Case{5, 6, false}}) {
    const auto here = test::open_af_packet(0, marked(0, one.sent, 26));
    const auto there = test::open_af_packet(1, marked(1, one.own));
    ASSERT_TRUE(here && there);
    std::string error;
    ASSERT_TRUE(here->add_peer(1, there->local_address(), error)) << error;
    const std::string text =
        "sent with " + std::to_string(one.sent.value_or(0)) + " to " + std::to_string(one.own.value_or(0));
    if (one.arrives) {
      EXPECT_TRUE(arrives(*here, 1, *there)) << text;
      continue;
    }
    const std::uint64_t before = there->dpdk_counters().foreign_frames;
    const std::array<std::byte, 8> bytes{};
    const std::array<ConstBuffer, 1> pieces{{{bytes.data(), bytes.size()}}};
    const OutgoingPacket packet{pieces, 8};
    EXPECT_TRUE(wait_for([&] {
      here->send_burst(1, {&packet, 1});
      EXPECT_EQ(test::take(*there), 0u) << text;
      return there->dpdk_counters().foreign_frames >= before + 5;
    })) << text;
  }
}

// Last: the interface keeps its new name.
TEST(DpdkLinks, AnotherInterfaceThatTakesOverTheNameIsNotFollowed) {
  const auto here = open(0, false);
  ASSERT_TRUE(here);
  const PeerAddress before = here->local_address();
  test::ip("link set dpdk0 down");
  test::ip("link set dpdk0 name former0");
  test::ip("link set former0 up");
  test::ip("link add dpdk0 type veth peer name other0");
  LinkStatus* const link = here->capabilities().link_status;
  ASSERT_NE(link, nullptr);
  const auto end = Clock::now() + std::chrono::milliseconds(500);  // it is looked at ten times a second
  while (Clock::now() < end) link->look();
  EXPECT_EQ(here->local_address(), before);
}

}  // namespace
}  // namespace openlapi
