// Several isolated ports that are one adapter of a task: flow rules let packets for its UDP port in, and nothing else,
// so ARP stays with the kernel. Runs in the machine of soft-roce, as dpdk_shared_test.cc, over net_tap with `remote`.
// Two cables: left0 to right0, left1 to right1. What a port sends to the other cable's port arrives at neither.
#include <gtest/gtest.h>

#include <cstdlib>

#include "nic/dpdk/dpdk_environment.h"
#include "tests/beds/dpdk_several_ports.h"
#include "tests/beds/isolated_port.h"

namespace openlapi {
namespace {

using test::TwoTasks;

std::string device_on(const std::string& interface) {
  return "net_tap_" + interface + ",iface=tap_" + interface + ",remote=" + interface;
}

DpdkConfig ports(const std::vector<std::string>& interfaces) {
  DpdkConfig config;
  for (const std::string& interface : interfaces) config.devices.push_back(device_on(interface));
  return config;
}

class DpdkIsolated : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(std::system("modprobe -a tun veth cls_flower sch_ingress sch_multiq act_mirred act_skbedit"), 0);
    for (const std::string number : {"0", "1"}) {
      test::ip("link add left" + number + " type veth peer name right" + number);
      test::ip("link set left" + number + " up");
      test::ip("link set right" + number + " up");
    }
    std::string reason;
    ASSERT_TRUE(dpdk::start_environment("--no-huge --no-pci -m 256", 0, false, reason)) << reason;
  }
  void SetUp() override {
    for (const char* interface : {"left0", "left1", "right0", "right1"}) {
      ASSERT_NO_FATAL_FAILURE(test::make_isolated_port(device_on(interface))) << interface;
    }
  }
};

TEST_F(DpdkIsolated, PortsFindTheirWaysWithoutArp) {
  TwoTasks tasks(ports({"left0", "left1"}), ports({"right0", "right1"}));
  ASSERT_TRUE(tasks.are_open());
  for (std::size_t which = 0; which != 2; ++which) {
    ASSERT_TRUE(tasks.left().port(which).isolated() && tasks.right().port(which).isolated());
  }
  tasks.meet();
  EXPECT_TRUE(tasks.talk());
  EXPECT_EQ(tasks.left().dpdk_counters().arp_questions, 0u);
}

// The other end of the cable is down then, too.
TEST_F(DpdkIsolated, OneThatGoesDownIsLeft) {
  TwoTasks tasks(ports({"left0", "left1"}), ports({"right0", "right1"}));
  ASSERT_TRUE(tasks.are_open());
  tasks.meet();
  ASSERT_TRUE(tasks.talk());
  survives_each_port(tasks, tasks.left(), {"left0", "left1"});
  survives_each_port(tasks, tasks.right(), {"right0", "right1"});
}

TEST_F(DpdkIsolated, AnyOfThemIsEnough) {
  TwoTasks tasks(ports({"left0", "left1"}), ports({"right0", "right1"}));
  ASSERT_TRUE(tasks.are_open());
  tasks.meet();
  ASSERT_TRUE(tasks.talk());
  survives_without_all_but_one(tasks, tasks.left(), {"left0", "left1"});
}

}  // namespace
}  // namespace openlapi
