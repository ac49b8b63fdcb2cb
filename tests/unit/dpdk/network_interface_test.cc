// What the kernel says of an interface: on a veth in a namespace of the test's own. Needs root.
#include "nic/dpdk/network_interface.h"

#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "dataplane/base/file_descriptor.h"
#include "tests/support/network_namespaces.h"

namespace openlapi::dpdk {
namespace {

// A packet socket on veth0; `version`: the layout of its ring, as af_packet sets it (TPACKET_V2).
FileDescriptor packet_socket(int version) {
  FileDescriptor made(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  EXPECT_TRUE(made.is_open());
  EXPECT_EQ(setsockopt(made.get(), SOL_PACKET, PACKET_VERSION, &version, sizeof version), 0);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(if_nametoindex("veth0"));
  EXPECT_EQ(bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return made;
}

class NetworkInterface : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    std::string error;
    ASSERT_TRUE(network_.create(1400, error)) << error;
  }
  test::NetworkNamespaces network_;
};

TEST_F(NetworkInterface, TellsItsMtu) {
  std::uint32_t mtu = 0, absent = 1;
  ASSERT_TRUE(network_.run_in(0, [&] { mtu = interface_mtu("veth0"), absent = interface_mtu("veth1"); }));
  EXPECT_EQ(mtu, 1400u);
  EXPECT_EQ(absent, 0u);
}

TEST_F(NetworkInterface, TellsTheHardwareAddressThatItHasNow) {
  const auto mac = [&](const char* name) {
    std::optional<MacAddress> answer;
    EXPECT_TRUE(network_.run_in(0, [&] { answer = interface_mac(name); }));
    return answer;
  };
  ASSERT_TRUE(network_.command(0, "ip link set veth0 address 02:0d:00:00:00:07"));
  EXPECT_EQ(mac("veth0"), (MacAddress{2, 13, 0, 0, 0, 7}));
  ASSERT_TRUE(network_.command(0, "ip link set veth0 address 02:0d:00:00:00:08"));
  EXPECT_EQ(mac("veth0"), (MacAddress{2, 13, 0, 0, 0, 8}));
  EXPECT_EQ(mac("veth1"), std::nullopt) << "it is elsewhere";
  EXPECT_EQ(mac("lo"), std::nullopt);
  EXPECT_EQ(mac(""), std::nullopt);
}

TEST_F(NetworkInterface, TellsItsNetworkAndTheRouterThere) {
  const auto network = [&](const char* name) {
    std::optional<InterfaceNetwork> answer;
    EXPECT_TRUE(network_.run_in(0, [&] { answer = interface_network(name); }));
    return answer;
  };
  ASSERT_TRUE(network("veth0"));
  EXPECT_EQ(network("veth0")->address, 0x0a4d0001u);
  EXPECT_EQ(network("veth0")->bits, 24u);
  EXPECT_EQ(network("veth0")->gateway, 0u);
  ASSERT_TRUE(network_.command(0, "ip route add 10.99.0.0/16 via 10.77.0.3"));
  EXPECT_EQ(network("veth0")->gateway, 0u) << "that leads to one network alone";
  ASSERT_TRUE(network_.command(0, "ip route add default via 10.77.0.2"));
  EXPECT_EQ(network("veth0")->gateway, 0x0a4d0002u);
  EXPECT_FALSE(network("veth1")) << "it is elsewhere";
  ASSERT_TRUE(network_.command(0, "ip address flush dev veth0"));
  EXPECT_FALSE(network("veth0"));
}

TEST_F(NetworkInterface, AsksTheKernelForANeighbour) {
  ASSERT_TRUE(network_.command(1, "ip link set veth1 address 02:0d:00:00:00:09"));
  ASSERT_TRUE(network_.command(0, "ip neigh flush dev veth0"));
  std::optional<MacAddress> mac, absent;
  ASSERT_TRUE(network_.run_in(0, [&] {
    EXPECT_FALSE(neighbour_mac("veth0", 0x0a4d0002));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!mac && std::chrono::steady_clock::now() < end) {
      look_for_neighbour("veth0", 0x0a4d0002);
      mac = neighbour_mac("veth0", 0x0a4d0002);
    }
    absent = neighbour_mac("veth1", 0x0a4d0002);
  }));
  EXPECT_EQ(mac, (MacAddress{2, 13, 0, 0, 0, 9}));
  EXPECT_FALSE(absent);
}

TEST_F(NetworkInterface, TellsWhetherItRuns) {
  const auto runs = [&](const char* name) {
    bool answer = false;
    EXPECT_TRUE(network_.run_in(0, [&] { answer = interface_runs(name); }));
    return answer;
  };
  EXPECT_TRUE(runs("veth0"));
  EXPECT_FALSE(runs("veth1")) << "it is elsewhere";
  ASSERT_TRUE(network_.command(0, "ip link set veth0 down"));
  EXPECT_FALSE(runs("veth0"));
}

TEST_F(NetworkInterface, TheProgramsOwnPacketSocketIsNotTheDrivers) {
  ASSERT_TRUE(network_.run_in(0, [&] {
    const FileDescriptor before = packet_socket(TPACKET_V1);
    EXPECT_EQ(packet_socket_on("veth0"), -1);
    const FileDescriptor driver = packet_socket(TPACKET_V2);
    const FileDescriptor behind = packet_socket(TPACKET_V3);
    EXPECT_EQ(packet_socket_on("veth0"), driver.get());
    EXPECT_EQ(packet_socket_on("lo"), -1);
    EXPECT_EQ(packet_socket_on(""), -1);
  }));
}

}  // namespace
}  // namespace openlapi::dpdk
