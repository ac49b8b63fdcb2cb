// Several ports that are one adapter of a task. Runs in dpdk-ports of the kind af_packet, whose interfaces dpdk0 to
// dpdk3 are on one bridge: the first task has dpdk0 and dpdk2, the second one dpdk1 and dpdk3.
#include "tests/beds/dpdk_several_ports.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

using test::TwoTasks;

DpdkConfig ports(const std::vector<int>& numbers) {
  DpdkConfig config;
  config.eal_arguments = "--no-huge --no-pci -m 256";
  for (const int number : numbers) {
    config.devices.push_back("net_af_packet" + std::to_string(number) + ",iface=dpdk" + std::to_string(number));
  }
  return config;
}

TEST(DpdkSeveralPorts, FindTheirWaysWithoutArp) {
  TwoTasks tasks(ports({0, 2}), ports({1, 3}));
  ASSERT_TRUE(tasks.are_open());
  ASSERT_EQ(tasks.left().address().further.size(), 1u);
  EXPECT_EQ(tasks.left().address().further[0], tasks.left().port(1).mac());
  tasks.meet();
  EXPECT_TRUE(tasks.talk());
  const DpdkCounters left = tasks.left().dpdk_counters(), right = tasks.right().dpdk_counters();
  EXPECT_EQ(left.arp_questions + right.arp_questions, 0u);
  EXPECT_NE(left.path_questions + right.path_questions, 0u) << "who is asked first need not ask";
}

TEST(DpdkSeveralPorts, FindTheirWaysInAVlan) {
  DpdkConfig left = ports({0, 2}), right = ports({1, 3});
  left.marks.tag = right.marks.tag = 5;
  TwoTasks tasks(left, right);
  ASSERT_TRUE(tasks.are_open());
  tasks.meet();
  EXPECT_TRUE(tasks.talk());
}

TEST(DpdkSeveralPorts, OneThatGoesDownIsLeftByBothEnds) {
  TwoTasks tasks(ports({0, 2}), ports({1, 3}));
  ASSERT_TRUE(tasks.are_open());
  tasks.meet();
  ASSERT_TRUE(tasks.talk());
  survives_each_port(tasks, tasks.left(), {"dpdk0", "dpdk2"});
  survives_each_port(tasks, tasks.right(), {"dpdk1", "dpdk3"});
}

// It came when the port was up, and is taken from the port's queue when it is down.
TEST(DpdkSeveralPorts, AQuestionThatWaitsInOneThatHasGoneDownTellsNoWay) {
  TwoTasks tasks(ports({0, 2}), ports({1, 3}));
  ASSERT_TRUE(tasks.are_open());
  tasks.meet();
  ASSERT_TRUE(tasks.talk());
  DpdkTransport &left = tasks.left(), &right = tasks.right();
  LinkStatus* const link = left.capabilities().link_status;
  ASSERT_NE(link, nullptr);
  for (const std::size_t which : {0u, 1u, 0u, 1u}) {  // whichever is asked for its frames last
    const std::string interface = "dpdk" + std::to_string(2 * which);
    const std::uint64_t before = right.dpdk_counters().path_questions;
    std::string error;
    ASSERT_TRUE(right.add_peer(0, left.local_address(), error)) << error;
    ASSERT_TRUE(test::wait_for([&] { return test::take(right), right.dpdk_counters().path_questions != before; }));
    test::ip("link set " + interface + " down");
    ASSERT_TRUE(test::wait_for([&] { return link->look(), !left.port(which).up(); }));
    EXPECT_TRUE(tasks.talk()) << interface;
    test::ip("link set " + interface + " up");
    ASSERT_TRUE(tasks.come_to([&] { return left.port(which).up(); }));
  }
}

// The peer that has not been told yet is asked, and learns it from that.
TEST(DpdkSeveralPorts, AnotherHardwareAddressOfAnyOfThemIsFollowed) {
  TwoTasks tasks(ports({0, 2}), ports({1, 3}));
  ASSERT_TRUE(tasks.are_open());
  tasks.meet();
  ASSERT_TRUE(tasks.talk());
  LinkStatus* const link = tasks.left().capabilities().link_status;
  ASSERT_NE(link, nullptr);
  for (std::uint8_t which = 0; which != 2; ++which) {
    const PeerAddress before = tasks.left().local_address();
    const std::uint32_t changes = link->changes();
    const dpdk::MacAddress wanted{2, 13, 0, 0, 7, static_cast<std::uint8_t>(7 + which)};
    test::ip("link set dpdk" + std::to_string(2 * which) + " address " + dpdk::to_text(wanted));
    ASSERT_TRUE(tasks.come_to([&] { return tasks.left().local_address() != before; }));
    EXPECT_NE(link->changes(), changes);
    const dpdk::Address& address = tasks.left().address();
    EXPECT_EQ(which == 0 ? address.end.mac : address.further.at(0), wanted);
    EXPECT_TRUE(tasks.talk()) << which;
    std::string error;
    ASSERT_TRUE(tasks.right().add_peer(0, tasks.left().local_address(), error)) << error;
    EXPECT_TRUE(tasks.talk()) << which << ", when it has been told";
  }
}

TEST(DpdkSeveralPorts, APeerMayHaveOnlyOne) {
  TwoTasks tasks(ports({0, 2}), ports({1}));
  ASSERT_TRUE(tasks.are_open());
  EXPECT_TRUE(tasks.right().address().further.empty());
  tasks.meet();
  EXPECT_TRUE(tasks.talk());
  survives_each_port(tasks, tasks.left(), {"dpdk0", "dpdk2"});
}

// A task that knows no address of the further ports asks everybody.
TEST(DpdkSeveralPorts, TheirAddressesNeedNotBeTold) {
  TwoTasks tasks(ports({0, 2}), ports({1, 3}));
  ASSERT_TRUE(tasks.are_open());
  dpdk::Address untold = tasks.right().address();
  untold.further.clear();
  std::string error;
  ASSERT_TRUE(tasks.left().add_peer(1, dpdk::encode(untold), error)) << error;
  EXPECT_TRUE(test::arrives(tasks.left(), 1, tasks.right())) << "it answers whoever knows its token";
  ASSERT_TRUE(tasks.right().add_peer(0, tasks.left().local_address(), error)) << error;
  survives_each_port(tasks, tasks.right(), {"dpdk1", "dpdk3"});
}

TEST(DpdkSeveralPorts, AnyOfThemIsEnough) {
  TwoTasks tasks(ports({0, 2}), ports({1, 3}));
  ASSERT_TRUE(tasks.are_open());
  tasks.meet();
  ASSERT_TRUE(tasks.talk());
  survives_without_all_but_one(tasks, tasks.left(), {"dpdk0", "dpdk2"});
}

}  // namespace
}  // namespace openlapi
