// A port that the kernel uses as well refuses a flow rule, and one that it does not use needs none. net_tap with
// `remote` is a driver of that kind without an adapter: what rules name it takes from the kernel's interface `kept`,
// and all when it is not isolated. Runs in the machine of soft-roce, whose kernel has what the driver needs; the other
// end of `kept` is in the network namespace `far`.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/dpdk_transport.h"
#include "nic/dpdk/network_interface.h"
#include "tests/beds/isolated_port.h"

struct rte_eth_dev;

extern "C" {
// Of DPDK's interface to drivers, whose header is not installed.
rte_eth_dev* rte_eth_dev_allocated(const char* name);
int rte_eth_dev_callback_process(rte_eth_dev* device, rte_eth_event_type event, void* about);
}

namespace {

bool rules_are_refused = false;
int refusal_of_mtu = 0;  // an error number, negative; 0: it is not refused

}  // namespace

// In the place of DPDK's.
extern "C" int rte_flow_validate(std::uint16_t port, const rte_flow_attr* attributes, const rte_flow_item* pattern,
                                 const rte_flow_action* actions, rte_flow_error* error) {
  if (rules_are_refused) {
    return rte_flow_error_set(error, EPERM, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, nullptr, "no rule is allowed");
  }
  const auto own = reinterpret_cast<decltype(&rte_flow_validate)>(dlsym(RTLD_NEXT, "rte_flow_validate"));
  return own(port, attributes, pattern, actions, error);
}

extern "C" int rte_eth_dev_set_mtu(std::uint16_t port, std::uint16_t mtu) {
  if (refusal_of_mtu != 0) return refusal_of_mtu;
  const auto own = reinterpret_cast<decltype(&rte_eth_dev_set_mtu)>(dlsym(RTLD_NEXT, "rte_eth_dev_set_mtu"));
  return own(port, mtu);
}

namespace openlapi {
namespace {

using dpdk::PortFault;

constexpr std::uint32_t kAddress = 0xa9fe0707;  // the task's, 169.254.7.7
constexpr std::uint16_t kPort = 50'000;
constexpr dpdk::FrameEnd kEnd{.address = kAddress, .port = kPort};
constexpr std::uint16_t kPortOfKernel = 5'555;
constexpr const char* kShared = "net_tap_shared,iface=dtap0,remote=kept";
constexpr const char* kAlone = "net_tap_alone,iface=dtap1";

void command(const std::string& words) { ASSERT_EQ(std::system(words.c_str()), 0) << words; }

bool wait_for(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) return false;
  }
  return true;
}

// A datagram from the other end of the cable.
void send_from_far(const std::string& address, std::uint16_t port) {
  command("ip netns exec far bash -c 'echo x >/dev/udp/" + address + "/" + std::to_string(port) + "'");
}

// A socket at the other end of the cable, which stays there.
int listener_at_far(std::uint32_t address, std::uint16_t port) {
  int descriptor = -1;
  std::thread([&] {
    const int far = ::open("/run/netns/far", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(setns(far, CLONE_NEWNET), 0);
    close(far);
    descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(address);
    own.sin_port = htons(port);
    EXPECT_EQ(bind(descriptor, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  }).join();
  return descriptor;
}

// The kernel's own stack receives what comes to its interface.
bool kernel_hears() {
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_port = htons(kPortOfKernel);
  EXPECT_EQ(bind(descriptor, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  char byte = 0;
  const bool heard = wait_for([&] {
    send_from_far("10.79.0.1", kPortOfKernel);
    return recv(descriptor, &byte, 1, 0) == 1;
  });
  close(descriptor);
  return heard;
}

class DpdkShared : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    command("modprobe -a tun veth 8021q cls_flower sch_ingress sch_multiq act_mirred act_skbedit");
    command("ip netns add far && ip link add kept type veth peer name end netns far");
    command("ip address add 10.79.0.1/24 dev kept && ip link set kept up");
    command("ip -n far address add 10.79.0.2/24 dev end && ip -n far link set end up");
    command("ip -n far neighbour add 169.254.7.7 dev end lladdr $(cat /sys/class/net/kept/address)");
    command("ip -n far route add 169.254.0.0/16 dev end");
    std::string reason;
    ASSERT_TRUE(dpdk::start_environment("--no-huge --no-pci -m 256", 0, false, reason)) << reason;
  }

  // What far sends to the task arrives at the port.
  static bool brings_packets(dpdk::EthernetPort& port, std::size_t tag = 0) {
    return wait_for([&] {
      send_from_far("169.254.7.7", kPort);
      std::array<rte_mbuf*, 32> buffers{};
      const std::uint16_t count = port.receive(buffers);
      bool found = false;
      for (std::uint16_t i = 0; i < count; ++i) {
        const auto* const bytes = rte_pktmbuf_mtod(buffers[i], const std::uint8_t*);
        found |= buffers[i]->data_len > 38 + tag && bytes[12] == (tag == 0 ? 0x08 : 0x81) &&
                 bytes[36 + tag] == kPort >> 8 && bytes[37 + tag] == (kPort & 0xff);
        rte_pktmbuf_free(buffers[i]);
      }
      return found;
    });
  }
};

// The second of two equal rules is refused, by the kernel.
TEST_F(DpdkShared, APortThatTheKernelUsesStaysIsolatedAndIsNotUsed) {
  ASSERT_NO_FATAL_FAILURE(test::make_isolated_port(kShared));
  dpdk::EthernetPort port;
  std::string reason;
  ASSERT_EQ(port.open({.device = kShared}, reason), PortFault::none) << reason;
  EXPECT_TRUE(port.isolated());
  ASSERT_TRUE(kernel_hears());
  ASSERT_EQ(port.takes_only(kEnd, reason), PortFault::none) << reason;
  ASSERT_TRUE(brings_packets(port));
  EXPECT_EQ(port.takes_only(kEnd, reason), PortFault::unusable);
  for (const char* part : {"DPDK port net_tap_shared (driver net_tap", "UDP port 50000 of 169.254.7.7",
                           "The kernel uses this adapter as well", "MP_EUIDEVICE"}) {
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
  }
  EXPECT_TRUE(port.isolated() && port.started());
  EXPECT_TRUE(brings_packets(port)) << "it was not restarted: the first rule is there";
  EXPECT_TRUE(kernel_hears());
}

// As a driver does that has no reset: all rules are made anew, and the kernel keeps what is its own.
TEST_F(DpdkShared, APortThatIsResetIsIsolatedAndHasItsRulesAgain) {
  ASSERT_NO_FATAL_FAILURE(test::make_isolated_port(kShared));
  dpdk::EthernetPort port;
  std::string reason;
  ASSERT_EQ(port.open({.device = kShared}, reason), PortFault::none) << reason;
  ASSERT_EQ(port.takes_only(kEnd, reason), PortFault::none) << reason;
  ASSERT_TRUE(brings_packets(port));
  rte_eth_dev* const device = rte_eth_dev_allocated(port.name().c_str());
  ASSERT_NE(device, nullptr);
  rte_eth_dev_callback_process(device, RTE_ETH_EVENT_INTR_RESET, nullptr);
  EXPECT_TRUE(wait_for([&] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    port.link_check(static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count()));
    port.renew(static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count()));
    return port.renewals() == 1 || port.gone();
  }));
  ASSERT_FALSE(port.gone()) << port.why_gone();
  EXPECT_TRUE(port.isolated());
  EXPECT_TRUE(brings_packets(port));
  EXPECT_TRUE(kernel_hears());
}

TEST_F(DpdkShared, APortWithAVlanBringsWhatHasNoTagAsWell) {
  ASSERT_NO_FATAL_FAILURE(test::make_isolated_port(kShared));
  dpdk::EthernetPort port;
  std::string reason;
  ASSERT_EQ(port.open({.device = kShared}, reason), PortFault::none) << reason;
  dpdk::FrameEnd end = kEnd;
  end.vlan = 5;
  ASSERT_EQ(port.takes_only(end, reason), PortFault::none) << reason;
  EXPECT_TRUE(brings_packets(port));
  for (const std::string vlan : {"5", "0"}) {
    const std::string tagged = "end" + vlan;
    command("ip -n far link add link end name " + tagged + " type vlan id " + vlan);
    command("ip -n far link set " + tagged + " up && ip -n far route replace 169.254.0.0/16 dev " + tagged);
    command("ip -n far neighbour add 169.254.7.7 dev " + tagged + " lladdr $(cat /sys/class/net/kept/address)");
    EXPECT_TRUE(brings_packets(port, 4)) << "VLAN " << vlan;
    command("ip -n far link delete " + tagged + " && ip -n far route replace 169.254.0.0/16 dev end");
  }
  EXPECT_TRUE(kernel_hears());
}

TEST_F(DpdkShared, TheTransportSaysSo) {
  DpdkConfig config;
  config.devices = {kShared};
  config.address = kAddress;
  config.port = kPort;
  config.link_patience = 0;
  DpdkSetupError error;
  ASSERT_NO_FATAL_FAILURE(test::make_isolated_port(kShared));
  rules_are_refused = true;
  EXPECT_TRUE(open_dpdk_transport(config, error) == nullptr);
  rules_are_refused = false;
  EXPECT_EQ(error.kind, DpdkSetupError::Kind::unusable_port);
  for (const char* part : {"refuses the flow rule for UDP port 50000 of 169.254.7.7, by which it would bring this task",
                           ": Operation not permitted, no rule is allowed"}) {
    EXPECT_NE(error.text.find(part), std::string::npos) << error.text;
  }
  EXPECT_TRUE(kernel_hears());
}

TEST_F(DpdkShared, ItsMtuIsNotAboveTheKernelsWhichStays) {
  command("ip link set kept mtu 1400");
  for (const std::uint32_t wanted : {9000u, 1200u}) {
    ASSERT_NO_FATAL_FAILURE(test::make_isolated_port(kShared));
    dpdk::EthernetPort port;
    std::string reason;
    ASSERT_EQ(port.open({.device = kShared, .mtu = wanted}, reason), PortFault::none) << reason;
    EXPECT_EQ(port.mtu(), std::min(wanted, 1400u));
    EXPECT_EQ(dpdk::interface_mtu("kept"), 1400u);
  }
  command("ip link set kept mtu 1500");
}

TEST_F(DpdkShared, APortOfItsOwnIsToldItsMtu) {
  dpdk::EthernetPort port;
  std::string reason;
  ASSERT_EQ(port.open({.device = kAlone, .mtu = 1300}, reason), PortFault::none) << reason;
  EXPECT_EQ(port.mtu(), 1300u);
  EXPECT_EQ(dpdk::interface_mtu("dtap1"), 1300u) << "the driver's side of it";
}

TEST_F(DpdkShared, APortThatRefusesItsMtuHasTheUsualOne) {
  struct Case {
    int refusal;
    std::uint32_t wanted, mtu;
  };
  for (const Case& one :
       {Case{0, 3000, 3000}, Case{-ENOTSUP, 3000, 3000}, Case{-EIO, 3000, 1500}, {-EIO, 1300, 1300}}) {
    refusal_of_mtu = one.refusal;
    dpdk::EthernetPort port;
    std::string reason;
    EXPECT_EQ(port.open({.device = "net_null_mtu", .mtu = one.wanted}, reason), PortFault::none) << reason;
    EXPECT_EQ(port.mtu(), one.mtu) << "refusal " << one.refusal << ", wanted " << one.wanted;
  }
  refusal_of_mtu = 0;
}

// Its answers come to the kernel alone: rules are for packets.
TEST_F(DpdkShared, TheKernelIsAskedForTheRouter) {
  ASSERT_NO_FATAL_FAILURE(test::make_isolated_port(kShared));
  DpdkConfig config;
  config.devices = {kShared};
  config.address = 0x0a4f0001;  // 10.79.0.1, the kernel's
  config.network.bits = 24;
  config.network.gateway = 0x0a4f0002;
  config.port = kPort;
  DpdkSetupError error;
  const auto transport = open_dpdk_transport(config, error);
  ASSERT_NE(transport, nullptr) << error.text;
  ASSERT_TRUE(transport->port(0).isolated());
  command("ip -n far address add 10.90.0.5/32 dev lo && ip -n far link set lo up");
  command("ip neigh flush dev kept");
  dpdk::Address peer = transport->address();
  peer.end.address = 0x0a5a0005;
  peer.end.mac = {2, 13, 0, 0, 0, 99};
  ASSERT_TRUE(transport->add_peer(1, dpdk::encode(peer), error.text)) << error.text;
  const std::array<std::byte, 8> bytes{};
  const std::array<ConstBuffer, 1> pieces{{{bytes.data(), bytes.size()}}};
  const OutgoingPacket packet{pieces, 8};
  const int listener = listener_at_far(0x0a5a0005, kPort);
  char received[64];
  EXPECT_TRUE(wait_for([&] {
    transport->send_burst(1, {&packet, 1});
    return recv(listener, received, sizeof received, 0) > 0;
  }));
  close(listener);
  EXPECT_EQ(transport->dpdk_counters().lost_packets, 0u);
}

TEST_F(DpdkShared, APortOfItsOwnGoesOnWithoutRules) {
  dpdk::EthernetPort port;
  std::string reason;
  ASSERT_EQ(port.open({.device = kAlone}, reason), PortFault::none) << reason;
  EXPECT_FALSE(port.has_kernels_mac()) << "dtap1 is the other end";
  EXPECT_FALSE(port.isolated()) << "rules bring no answers to ARP";
  rules_are_refused = true;
  EXPECT_EQ(port.takes_only(kEnd, reason), PortFault::none) << reason;
  rules_are_refused = false;
  EXPECT_TRUE(port.started());
  EXPECT_TRUE(kernel_hears());
}

}  // namespace
}  // namespace openlapi
