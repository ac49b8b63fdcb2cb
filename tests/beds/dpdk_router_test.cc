// Peers behind a router, and addresses from the kernel. Runs in dpdk-ports of the kind af_packet, whose interfaces
// dpdk0 and dpdk1 are the ends of two cables; the other ends are taken off the bridge here, and the kernel is the
// router between them.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "nic/dpdk/arp_message.h"
#include "nic/dpdk/network_interface.h"
#include "tests/beds/dpdk_bed.h"

namespace openlapi {
namespace {

using test::arrives;
using test::ip;
using test::open_af_packet;
using test::take;
using test::wait_for;

constexpr std::uint32_t kHere = 0x0a500005, kThere = 0x0a510005;  // 10.80.0.5, 10.81.0.5
constexpr std::uint32_t kRouterHere = 0x0a500001, kRouterThere = 0x0a510001;

void set(const std::string& interface, const std::string& name, const char* value) {
  std::ofstream file("/proc/sys/net/ipv4/conf/" + interface + "/" + name);
  ASSERT_TRUE(file << value << std::flush) << interface << " " << name;
}

DpdkConfig config_of(std::uint32_t address, std::uint32_t gateway = 0) {
  DpdkConfig config;
  config.address = address;
  config.network.bits = 24;
  config.network.gateway = gateway;
  return config;
}

class DpdkRouter : public testing::Test {
 protected:
  // The interfaces of the tasks are in the same network namespace: what comes to them is not for the router.
  static void SetUpTestSuite() {
    for (const std::string side : {"0", "1"}) {
      ip("link set bus" + side + " nomaster");
      ip("address add 10.8" + side + ".0.1/24 dev bus" + side);
      set("bus" + side, "forwarding", "1");
      set("bus" + side, "arp_notify", "1");
      set("dpdk" + side, "forwarding", "0");
      set("dpdk" + side, "arp_ignore", "1");
    }
  }

  void open(std::uint32_t gateway_there = kRouterThere) {
    here_ = open_af_packet(0, config_of(kHere, kRouterHere));
    there_ = open_af_packet(1, config_of(kThere, gateway_there));
    ASSERT_TRUE(here_ && there_);
  }

  std::size_t send_to(PeerIndex peer) {
    const std::array<std::byte, 8> bytes{};
    const std::array<ConstBuffer, 1> pieces{{{bytes.data(), bytes.size()}}};
    const OutgoingPacket packet{pieces, 8};
    return here_->send_burst(peer, {&packet, 1});
  }

  std::unique_ptr<DpdkTransport> here_, there_;
  std::string error_;
};

TEST_F(DpdkRouter, PeersInOtherNetworksAreReachedBehindIt) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_TRUE(here_->add_peer(1, there_->local_address(), error_)) << error_;
  ASSERT_TRUE(there_->add_peer(0, here_->local_address(), error_)) << error_;
  EXPECT_TRUE(arrives(*here_, 1, *there_));
  EXPECT_TRUE(arrives(*there_, 0, *here_));
  EXPECT_EQ(here_->dpdk_counters().lost_packets, 0u) << "they waited for its answer";
}

TEST_F(DpdkRouter, ItsNewHardwareAddressIsFollowed) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_TRUE(here_->add_peer(1, there_->local_address(), error_)) << error_;
  EXPECT_TRUE(arrives(*here_, 1, *there_));
  ip("link set bus0 address 02:0d:00:00:08:08");
  EXPECT_TRUE(arrives(*here_, 1, *there_));
}

// All frames that pass the other end of dpdk0's cable.
class Cable {
 public:
  Cable() : socket_(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL))) {
    sockaddr_ll end{};
    end.sll_family = AF_PACKET;
    end.sll_protocol = htons(ETH_P_ALL);
    end.sll_ifindex = static_cast<int>(if_nametoindex("bus0"));
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&end), sizeof end), 0);
  }
  ~Cable() { close(socket_); }

  void send(const dpdk::ArpFrame& frame) {
    EXPECT_EQ(write(socket_, frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
  }

  // Of the next IPv4 frame that comes from this address.
  dpdk::MacAddress next_destination(const dpdk::MacAddress& from) {
    std::array<std::uint8_t, 2048> frame{};
    EXPECT_TRUE(wait_for([&] {
      return recv(socket_, frame.data(), frame.size(), 0) > 14 && frame[12] == 8 && frame[13] == 0 &&
             std::equal(from.begin(), from.end(), frame.begin() + 6);
    }));
    dpdk::MacAddress to{};
    std::copy_n(frame.begin(), to.size(), to.begin());
    return to;
  }

 private:
  int socket_;
};

// Claims of others, and of other networks on the same cable.
TEST_F(DpdkRouter, WhatIsNoAnswerDoesNotMoveIt) {
  constexpr dpdk::MacAddress kStranger{2, 13, 0, 0, 9, 9}, kAll{255, 255, 255, 255, 255, 255};
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_TRUE(here_->add_peer(1, there_->local_address(), error_)) << error_;
  ASSERT_TRUE(arrives(*here_, 1, *there_));
  Cable cable;
  const dpdk::MacAddress router = dpdk::interface_mac("bus0").value();
  const std::uint64_t answers = here_->dpdk_counters().arp_answers;
  cable.send(dpdk::make_arp_frame(
      kAll, {.sender_mac = kStranger, .sender_address = kRouterHere, .target_address = kRouterHere}));
  cable.send(dpdk::make_arp_frame(
      kAll, {.request = true, .sender_mac = kStranger, .sender_address = kRouterHere, .target_address = kRouterHere}));
  cable.send(dpdk::make_arp_question({.mac = {2, 13, 0, 0, 9, 8}, .address = 0x0a500007}, kHere));
  ASSERT_TRUE(wait_for([&] {
    take(*here_);
    return here_->dpdk_counters().arp_answers != answers;
  })) << "it has read them all";
  ASSERT_EQ(send_to(1), 1u);
  EXPECT_EQ(cable.next_destination(here_->address().end.mac), router);
}

// However long before nothing was sent or received.
TEST_F(DpdkRouter, PacketsWaitForItFromTheFirstOne) {
  constexpr std::uint32_t kPatience = 200, kNobody = 0x0a500063;  // 10.80.0.99
  DpdkConfig config = config_of(kHere, kNobody);
  config.link_patience = kPatience;
  here_ = open_af_packet(0, config);
  ASSERT_TRUE(here_);
  dpdk::Address peer = here_->address();
  peer.end.address = kThere;
  std::this_thread::sleep_for(std::chrono::milliseconds(kPatience + 50));
  ASSERT_TRUE(here_->add_peer(1, dpdk::encode(peer), error_)) << error_;
  std::this_thread::sleep_for(std::chrono::milliseconds(kPatience + 50));
  EXPECT_EQ(send_to(1), 0u);
  EXPECT_EQ(here_->dpdk_counters().lost_packets, 0u);
  EXPECT_TRUE(wait_for([&] { return send_to(1) == 1; }));
  EXPECT_EQ(here_->dpdk_counters().lost_packets, 1u);
}

TEST_F(DpdkRouter, WithoutOneAPeerInAnotherNetworkIsRefused) {
  ASSERT_NO_FATAL_FAILURE(open(0));
  EXPECT_FALSE(there_->add_peer(0, here_->local_address(), error_));
  EXPECT_EQ(error_,
            "the peer's DPDK adapter 10.80.0.5 is in another network than this task's, 10.81.0.5/24: "
            "OPENLAPI_DPDK_GATEWAY can name the router between them");
}

TEST_F(DpdkRouter, TwoWithOneAddressAreTold) {
  const auto one = open_af_packet(0, config_of(kHere));
  ASSERT_TRUE(one);
  dpdk::Address other = one->address();
  other.end.mac = {2, 13, 0, 0, 0, 2};
  EXPECT_FALSE(one->add_peer(1, dpdk::encode(other), error_));
  EXPECT_NE(error_.find("02:0d:00:00:00:02 has the address of this task's, 10.80.0.5/24: OPENLAPI_DPDK_ADDRESS"),
            std::string::npos)
      << error_;
}

TEST_F(DpdkRouter, TwoOfOneTaskHaveNotTheSameAddress) {
  auto one = open_af_packet(0, config_of(kHere));
  DpdkConfig config = config_of(kHere);
  config.network.said = "10.80.0.4+/24";
  config.devices = {"net_af_packet1,iface=dpdk1"};
  DpdkSetupError error;
  EXPECT_EQ(open_dpdk_transport(config, error), nullptr);
  EXPECT_EQ(error.text,
            "OPENLAPI_DPDK_ADDRESS=10.80.0.4+/24: 10.80.0.5 is the address of this task's net_af_packet0 already, and "
            "net_af_packet1 needs one of its own: net_af_packet1=ADDRESS/BITS, as net_af_packet1=10.0.0.5/24");
  one.reset();
  EXPECT_NE(open_dpdk_transport(config, error), nullptr) << error.text;
}

TEST_F(DpdkRouter, TheKernelsAddressIsTaken) {
  ip("address add 10.82.0.5/20 dev dpdk0");
  DpdkConfig config;
  config.network.of_interface = true;
  {
    const auto here = open_af_packet(0, config);
    ASSERT_TRUE(here);
    EXPECT_EQ(here->address().end.address, 0x0a520005u);
  }
  for (const auto& [gateway, fault] :
       {std::pair(0x0a520005u, "10.82.0.5: that is the address of this task's net_af_packet0"),
        std::pair(0x0a530001u,
                  "10.83.0.1: that is no adapter's in the network of this task's net_af_packet0, "
                  "10.82.0.5/20")}) {
    config.devices = {"net_af_packet0,iface=dpdk0"};
    config.network.gateway = gateway;
    DpdkSetupError refusal;
    EXPECT_EQ(open_dpdk_transport(config, refusal), nullptr);
    EXPECT_EQ(refusal.text, std::string("OPENLAPI_DPDK_GATEWAY=") + fault);
  }
  config.network.gateway = 0;
  ip("address flush dev dpdk0");
  config.devices = {"net_af_packet0,iface=dpdk0"};
  DpdkSetupError error;
  EXPECT_EQ(open_dpdk_transport(config, error), nullptr);
  EXPECT_EQ(error.text,
            "OPENLAPI_DPDK_ADDRESS=interface: the kernel's interface dpdk0 of DPDK port net_af_packet0 has no IPv4 "
            "address; allowed is also ADDRESS/BITS, as 10.0.0.5/24");
}

}  // namespace
}  // namespace openlapi
