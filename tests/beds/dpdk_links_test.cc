// What a DPDK transport tells of its link. Runs in dpdk-ports of the kind af_packet, whose interface dpdk0 is connected
// with the port bus0 of a bridge, and dpdk1 with bus1; both transports are in this process.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "nic/dpdk/dpdk_transport.h"

namespace openlapi {
namespace {

using Clock = std::chrono::steady_clock;

std::unique_ptr<DpdkTransport> open(PeerIndex self, bool link_status) {
  DpdkConfig config;
  config.eal_arguments = "--no-huge --no-pci";
  config.address = 0x0a4e0001 + self;
  config.link_status = link_status;
  config.devices = {"net_af_packet" + std::to_string(self) + ",iface=dpdk" + std::to_string(self)};
  DpdkSetupError error;
  auto transport = open_dpdk_transport(config, error);
  EXPECT_NE(transport, nullptr) << error.text;
  return transport;
}

void ip(const std::string& words) { ASSERT_EQ(std::system(("ip " + words).c_str()), 0) << words; }

bool wait_for(const std::function<bool()>& condition) {
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(DpdkLinks, AnInterfaceThatGoesDownAndUpAndItsCable) {
  const auto here = open(0, true);
  const auto there = open(1, false);
  ASSERT_TRUE(here && there);
  EXPECT_EQ(there->capabilities().link_status, nullptr) << "nobody has asked for it";
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
    ip("link set " + interface + " down");
    EXPECT_TRUE(comes_to(false)) << interface;
    EXPECT_NE(link->changes(), before);
    ip("link set " + interface + " up");
    EXPECT_TRUE(comes_to(true)) << interface;
  }
}

}  // namespace
}  // namespace openlapi
