// What the kernel tells when links and addresses really come and go, between two network namespaces.
#include "nic/links/kernel_links.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "tests/support/network_namespaces.h"

namespace openlapi::test {
namespace {

class KernelTellsOfLinks : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    std::string error;
    ASSERT_TRUE(network_.create(1500, error)) << error;
    bool opened = false;
    ASSERT_TRUE(network_.run_in(0, [&] { opened = links_.open(error); }));
    ASSERT_TRUE(opened) << error;
  }
  bool serves() const { return links_.table().serves(NetworkNamespaces::address(0)); }
  bool is_readable(int milliseconds) {
    pollfd waiting{links_.descriptor(), POLLIN, 0};
    return poll(&waiting, 1, milliseconds) == 1;
  }
  // Until the kernel has told of it; half a minute is for ever.
  void expect_serves(bool expected) {
    while (serves() != expected) {
      ASSERT_TRUE(is_readable(30'000));
      links_.look();
    }
  }
  void run(unsigned side, const std::string& command) { ASSERT_TRUE(network_.command(side, command)) << command; }

  NetworkNamespaces network_;
  KernelLinks links_;
};

TEST_F(KernelTellsOfLinks, WhatThereIsIsKnownFromTheBeginning) {
  expect_serves(true);
  ASSERT_EQ(links_.table().links().size(), 2u);
  while (is_readable(0)) links_.look();
  EXPECT_FALSE(links_.look());
}

TEST_F(KernelTellsOfLinks, AnInterfaceIsSwitchedOffAndOn) {
  expect_serves(true);
  run(0, "ip link set veth0 down");
  expect_serves(false);
  run(0, "ip link set veth0 up");
  expect_serves(true);
}

TEST_F(KernelTellsOfLinks, TheOtherEndTakesTheCarrierAway) {
  expect_serves(true);
  run(1, "ip link set veth1 down");
  expect_serves(false);
  run(1, "ip link set veth1 up");
  expect_serves(true);
}

TEST_F(KernelTellsOfLinks, AnAddressIsTakenAwayAndGivenBack) {
  expect_serves(true);
  run(0, "ip address delete 10.77.0.1/24 dev veth0");
  expect_serves(false);
  run(0, "ip address add 10.77.0.1/24 dev veth0");
  expect_serves(true);
}

TEST_F(KernelTellsOfLinks, TheInterfaceVanishes) {
  expect_serves(true);
  run(1, "ip link delete veth1");
  expect_serves(false);
  EXPECT_EQ(links_.table().links().size(), 1u);
}

// More than the socket has room for: the kernel throws messages away and says so, and the list is asked for anew.
TEST_F(KernelTellsOfLinks, NothingIsMissedWhereTheSocketOverflows) {
  expect_serves(true);
  run(0,
      "for i in $(seq 250); do for j in 1 2 3; do echo address add 10.78.$i.$j/32 dev veth0; done; done | "
      "ip -batch -");
  run(0,
      "for i in $(seq 250); do for j in 1 2 3; do echo address delete 10.78.$i.$j/32 dev veth0; done; done | "
      "ip -batch -");
  run(0, "ip address delete 10.77.0.1/24 dev veth0");
  EXPECT_TRUE(links_.look());
  while (is_readable(0)) links_.look();
  EXPECT_FALSE(serves());
  const auto is_ipv4 = [](const LinkAddress& address) { return address.family == AF_INET; };
  EXPECT_EQ(std::ranges::count_if(links_.table().addresses(), is_ipv4), 1) << "the loopback's";
}

}  // namespace
}  // namespace openlapi::test
