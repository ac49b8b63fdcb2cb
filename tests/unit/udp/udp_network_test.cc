// The transport between two network namespaces: a path with an MTU, with routes that go away, and with a filter.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "nic/udp/udp_adapters.h"
#include "tests/support/network_namespaces.h"
#include "tests/unit/udp/udp_pair.h"

namespace openlapi::test {
namespace {

class UdpNetwork : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
  }

  void connect(std::uint32_t mtu, UdpConfig first = {}, UdpConfig second = {}) {
    std::string error;
    ASSERT_TRUE(network_.create(mtu, error)) << error;
    ASSERT_TRUE(network_.run_in(0, [&] { left_ = open_at(NetworkNamespaces::address(0), first); }));
    ASSERT_TRUE(network_.run_in(1, [&] { right_ = open_at(NetworkNamespaces::address(1), second); }));
    ASSERT_TRUE(left_ && right_);
    introduce(*left_, 1, *right_);
    introduce(*right_, 0, *left_);
  }

  // The left one has another adapter, `other`, which leads nowhere, and listens to what the kernel says of links. The
  // script sets the addresses.
  std::shared_ptr<udp::LocalLinks> connect_with_another(const std::string& script) {
    const auto links = std::make_shared<udp::LocalLinks>();
    UdpConfig config;
    config.links = links;
    config.sockets = std::make_shared<udp::SocketsOfContext>();
    std::string error;
    EXPECT_TRUE(network_.create(1500, error)) << error;
    EXPECT_TRUE(network_.command(0,
                                 "ip link add other type veth peer name nowhere && ip link set nowhere up && "
                                 "ip link set other up && " +
                                     script));
    EXPECT_TRUE(network_.run_in(0, [&] {
      EXPECT_TRUE(links->open(error)) << error;
      left_ = open_at(NetworkNamespaces::address(0), config);
    }));
    EXPECT_TRUE(network_.run_in(1, [&] { right_ = open_at(NetworkNamespaces::address(1)); }));
    introduce(*left_, 1, *right_);
    introduce(*right_, 0, *left_);
    return links;
  }

  // Sends bursts of packets up to `longest` and expects all of them, in order, on a path that loses nothing.
  void exchange(std::uint32_t longest) {
    for (std::uint32_t round = 0; round < 30; ++round) {
      std::vector<std::vector<std::byte>> burst;
      for (std::uint32_t i = 0; i < 1 + round; ++i) {
        burst.push_back(packet_bytes(i, round % 2 == 0 ? longest : (i * 977 + round) % longest));
      }
      // Side by side with receiving: a queue between the namespaces holds only so much.
      ASSERT_TRUE(send_all(*left_, 1, burst));
      ASSERT_EQ(receive_copies(*right_, burst.size()), burst) << "round " << round;
      ASSERT_TRUE(send_one(*right_, 0, burst[0]));
      ASSERT_EQ(receive_copies(*left_, 1).at(0), burst[0]);
    }
  }

  NetworkNamespaces network_;
  std::unique_ptr<UdpTransport> left_;
  std::unique_ptr<UdpTransport> right_;
};

TEST_F(UdpNetwork, PacketsFitTheInterface) {
  connect(1500);
  EXPECT_EQ(left_->limits().max_packet, 1464u);
  std::vector<LocalAdapter> adapters;
  ASSERT_TRUE(network_.run_in(0, [&] { adapters = list_adapters(); }));
  ASSERT_EQ(adapters.size(), 2u);
  EXPECT_EQ(adapters[1].name, "veth0");
  EXPECT_EQ(adapters[1].mtu, 1500u);
  EXPECT_TRUE(adapters[1].up);
  EXPECT_EQ(adapters[1].address.s_addr, NetworkNamespaces::address(0).s_addr);
  exchange(1464);
  EXPECT_TRUE(left_->segments()) << "segmentation was given up on a path where it works";
}

TEST_F(UdpNetwork, WithoutOffloadOnEitherSide) {
  UdpConfig plain;
  plain.offload = false;
  connect(1500, plain, {});
  exchange(1464);
  right_.reset();
  ASSERT_TRUE(network_.run_in(1, [&] { right_ = open_at(NetworkNamespaces::address(1), plain); }));
  ASSERT_TRUE(network_.run_in(0, [&] { left_ = open_at(NetworkNamespaces::address(0)); }));
  introduce(*left_, 1, *right_);
  introduce(*right_, 0, *left_);
  exchange(1464);
}

TEST_F(UdpNetwork, PacketsLongerThanTheMtuAreFragmented) {
  UdpConfig longest;
  longest.packet_size = 65507;
  connect(1500, longest, longest);
  exchange(65496);
}

TEST_F(UdpNetwork, JumboFramesTakeWholePackets) {
  connect(9000);
  EXPECT_EQ(left_->limits().max_packet, 8960u);
  exchange(8960);
}

TEST_F(UdpNetwork, TheTinyMtuOfAnOldLinkWorks) {
  connect(576);
  EXPECT_EQ(left_->limits().max_packet, 632u) << "the engine's smallest, which the kernel sends in fragments";
  exchange(632);
}

// The interface would carry 9,000 bytes, the route only 1,400: datagrams are made for the route.
TEST_F(UdpNetwork, ARouteWithASmallerMtuIsObeyed) {
  std::string error;
  ASSERT_TRUE(network_.create(9000, error)) << error;
  ASSERT_TRUE(network_.command(0, "ip route change 10.77.0.0/24 dev veth0 src 10.77.0.1 mtu 1400"));
  ASSERT_TRUE(network_.run_in(0, [&] { left_ = open_at(NetworkNamespaces::address(0)); }));
  ASSERT_TRUE(network_.run_in(1, [&] { right_ = open_at(NetworkNamespaces::address(1)); }));
  introduce(*left_, 1, *right_);
  introduce(*right_, 0, *left_);
  exchange(1000);
  EXPECT_TRUE(left_->segments());
  exchange(8960);
  // It becomes narrower under way: a refused segment makes the transport look again.
  ASSERT_TRUE(network_.command(0, "ip route change 10.77.0.0/24 dev veth0 src 10.77.0.1 mtu 1000"));
  exchange(1000);
  EXPECT_TRUE(left_->segments());
}

TEST_F(UdpNetwork, ARouteThatIsGoneLosesAndComesBack) {
  connect(1500);
  exchange(100);
  ASSERT_TRUE(network_.command(0, "ip link set veth0 down"));
  const std::uint64_t before = left_->counters().packets_sent;
  ASSERT_TRUE(send_one(*left_, 1, packet_bytes(1, 100)));
  ASSERT_TRUE(send_one(*left_, 1, packet_bytes(1, 100)));
  EXPECT_EQ(left_->counters().packets_sent, before + 2);
  EXPECT_EQ(left_->unsendable_packets(), 2u);
  std::vector<LocalAdapter> adapters;
  ASSERT_TRUE(network_.run_in(0, [&] { adapters = list_adapters(); }));
  ASSERT_EQ(adapters.size(), 2u);
  EXPECT_FALSE(adapters[1].up);
  ASSERT_TRUE(network_.command(0, "ip link set veth0 up"));
  exchange(100);
}

// Two adapters of one subnet, of which the routes name the other one first, which leads nowhere.
TEST_F(UdpNetwork, PacketsLeaveOverTheAdapterThatHasTheirAddress) {
  connect_with_another(
      "ip addr del 10.77.0.1/24 dev veth0 && ip addr add 10.77.0.101/24 dev other && "
      "ip addr add 10.77.0.1/24 dev veth0");
  exchange(1000);
}

TEST_F(UdpNetwork, PacketsFollowTheirAddressToAnotherAdapter) {
  const auto links = connect_with_another(
      "ip addr del 10.77.0.1/24 dev veth0 && ip addr add 10.77.0.101/24 dev veth0 && "
      "ip addr add 10.77.0.1/24 dev other");
  ASSERT_TRUE(send_one(*left_, 1, packet_bytes(1, 100))) << "leads nowhere";
  ASSERT_TRUE(network_.command(0, "ip addr del 10.77.0.1/24 dev other && ip addr add 10.77.0.1/24 dev veth0"));
  ASSERT_TRUE(network_.run_in(0, [&] { EXPECT_TRUE(links->look()); }));
  exchange(1000);
}

TEST_F(UdpNetwork, PacketsFollowTheirAddressPastAnAdapterThatComesLater) {
  const auto links = connect_with_another("true");
  exchange(1000);
  ASSERT_TRUE(network_.command(0,
                               "ip addr add 10.77.0.101/24 dev other && ip route del 10.77.0.0/24 dev veth0 && "
                               "ip route append 10.77.0.0/24 dev veth0 src 10.77.0.1"));
  ASSERT_TRUE(network_.run_in(0, [&] {
    EXPECT_TRUE(links->look());
    exchange(1000);
  }));
}

// What goes to peers that share a socket is made for the adapter.
TEST_F(UdpNetwork, AnotherAddressMayHaveAnotherMtu) {
  UdpConfig config;
  config.links = std::make_shared<udp::LocalLinks>();
  std::string error;
  ASSERT_TRUE(network_.create(9000, error)) << error;
  ASSERT_TRUE(network_.run_in(0, [&] {
    EXPECT_TRUE(config.links->open(error)) << error;
    left_ = open_at(NetworkNamespaces::address(0), config);
  }));
  ASSERT_TRUE(network_.run_in(1, [&] { right_ = open_at(NetworkNamespaces::address(1)); }));
  for (const PeerIndex peer : {1u, 9u}) introduce(*left_, peer, *right_);
  ASSERT_TRUE(network_.command(0,
                               "ip addr del 10.77.0.1/24 dev veth0 && ip link set veth0 mtu 1400 && "
                               "ip addr add 10.77.0.9/24 dev veth0"));
  ASSERT_TRUE(network_.run_in(0, [&] {
    EXPECT_TRUE(poll_until([&] {
      left_->capabilities().link_status->look();
      return udp_host_text(left_->local_address()) == "10.77.0.9";
    }));
  }));
  const std::vector<std::vector<std::byte>> burst(30, packet_bytes(1, 1000));
  ASSERT_TRUE(send_one(*left_, 1, burst[0])) << "whose the socket is";
  ASSERT_TRUE(send_all(*left_, 9, burst));
  EXPECT_EQ(receive_copies(*right_, 31).size(), 31u);
  EXPECT_TRUE(left_->segments()) << "segments were as long as the former adapter took them";
}

// Under the same port, and by whoever sleeps or not.
TEST_F(UdpNetwork, AnAdapterThatGetsAnotherAddressIsFollowed) {
  std::string error;
  ASSERT_TRUE(network_.create(1500, error)) << error;
  UdpConfig config;
  config.links = std::make_shared<udp::LocalLinks>();
  ASSERT_TRUE(network_.run_in(0, [&] {
    EXPECT_TRUE(config.links->open(error)) << error;
    left_ = open_at(NetworkNamespaces::address(0), config);
  }));
  ASSERT_TRUE(network_.run_in(1, [&] { right_ = open_at(NetworkNamespaces::address(1)); }));
  introduce(*left_, 1, *right_);
  introduce(*right_, 0, *left_);
  exchange(1000);
  const std::string port = " port " + std::to_string(left_->port());
  LinkStatus& link = *left_->capabilities().link_status;
  const auto becomes = [&](const std::string& address) {
    return network_.run_in(0, [&] {
      EXPECT_TRUE(poll_until([&] {
        link.look();
        return udp_address_text(left_->local_address()) == address + port;
      })) << udp_address_text(left_->local_address())
          << " instead of " << address;
    });
  };
  ASSERT_TRUE(network_.command(0, "ip address add 10.99.0.1/24 dev veth0"));
  ASSERT_TRUE(becomes("10.77.0.1")) << "nothing is wrong with it";
  ASSERT_TRUE(network_.command(0, "ip address del 10.77.0.1/24 dev veth0"));
  ASSERT_TRUE(becomes("10.99.0.1")) << "the only one that is left";
  ASSERT_TRUE(network_.command(0, "ip address add 10.77.0.9/24 dev veth0"));
  ASSERT_TRUE(becomes("10.77.0.9")) << "of its network";
  EXPECT_TRUE(link.reaches(1));
  introduce(*right_, 0, *left_);
  exchange(1000);
  EXPECT_TRUE(send_all(*right_, 0, {packet_bytes(1, 100)}));
  EXPECT_EQ(receive_copies(*left_, 1).size(), 1u);
  EXPECT_TRUE(left_->capabilities().wake_source->arm());
  EXPECT_TRUE(send_all(*right_, 0, {packet_bytes(2, 100)}));
  pollfd sleeping{left_->capabilities().wake_source->descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&sleeping, 1, 20'000), 1);
}

// Whoever sleeps is woken by the kernel's word, once, and finds the change.
TEST_F(UdpNetwork, ALinkThatGoesDownAndUpIsTold) {
  std::string error;
  ASSERT_TRUE(network_.create(1500, error)) << error;
  UdpConfig config;
  config.links = std::make_shared<udp::LocalLinks>();
  ASSERT_TRUE(network_.run_in(0, [&] {
    EXPECT_TRUE(config.links->open(error)) << error;
    left_ = open_at(NetworkNamespaces::address(0), config);
    right_ = open_at({.s_addr = htonl(INADDR_LOOPBACK)}, config);
  }));
  LinkStatus& link = *left_->capabilities().link_status;
  LinkStatus& loopback = *right_->capabilities().link_status;
  WakeSource& wake = *left_->capabilities().wake_source;
  EXPECT_EQ(&link.changes(), &loopback.changes());
  const auto comes_to = [&](bool up) {
    return poll_until([&] {
      const std::uint32_t before = link.changes();
      pollfd sleeping{wake.descriptor(), POLLIN, 0};
      while (wake.arm()) {
        if (poll(&sleeping, 1, 20'000) != 1) return true;
        wake.disarm();
      }
      return link.changes() != before && link.reaches(1) == up;
    });
  };
  ASSERT_TRUE(link.reaches(1));
  ASSERT_TRUE(network_.command(0, "ip link set veth0 down"));
  ASSERT_TRUE(comes_to(false));
  EXPECT_FALSE(link.reaches(1));
  EXPECT_TRUE(loopback.reaches(1));
  ASSERT_TRUE(network_.command(0, "ip link set veth0 up"));
  ASSERT_TRUE(comes_to(true));
  EXPECT_TRUE(link.reaches(1));
  ASSERT_TRUE(network_.command(0, "ip link delete veth0"));
  ASSERT_TRUE(comes_to(false));
  EXPECT_FALSE(link.reaches(1));
  while (!wake.arm()) {
  }
  pollfd sleeping{wake.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&sleeping, 1, 0), 0) << "nobody is kept awake";
}

TEST_F(UdpNetwork, WhatAFilterForbidsCountsAsLost) {
  connect(1500);
  exchange(100);
  const std::string filter = "nft 'table inet t { chain c { type filter hook output priority 0; udp dport " +
                             std::to_string(right_->port()) + " drop; }; }'";
  ASSERT_TRUE(network_.command(0, filter));
  ASSERT_TRUE(send_one(*left_, 1, packet_bytes(1, 100)));
  EXPECT_EQ(left_->unsendable_packets(), 1u);
  ASSERT_TRUE(network_.command(0, "nft delete table inet t"));
  exchange(100);
}

// A slow link whose queue is larger than the send buffer: "full" comes back, and nothing is lost.
TEST_F(UdpNetwork, AFullLinkRefusesInsteadOfDropping) {
  connect(9000);
  ASSERT_TRUE(network_.command(0, "tc qdisc add dev veth0 root tbf rate 1mbit burst 32k limit 2m"));
  std::vector<std::vector<std::byte>> taken;
  while (left_->counters().send_refused == 0) {
    ASSERT_LT(taken.size(), 1000u) << "never full";
    taken.push_back(packet_bytes(static_cast<std::uint32_t>(taken.size()), 8184));
    const ConstBuffer piece{taken.back().data(), taken.back().size()};
    const OutgoingPacket offered{{&piece, 1}, 8184};
    if (left_->send_burst(1, {&offered, 1}) == 0) taken.pop_back();
  }
  EXPECT_GT(taken.size(), 4u);
  ASSERT_TRUE(network_.command(0, "tc qdisc change dev veth0 root tbf rate 1gbit burst 128k limit 2m"));
  EXPECT_EQ(receive_copies(*right_, taken.size()), taken);
  EXPECT_EQ(left_->unsendable_packets(), 0u);
  exchange(1000);
}

}  // namespace
}  // namespace openlapi::test
