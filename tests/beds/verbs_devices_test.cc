// Which device, port and GID a transport takes, and what it says when it can take none: on the devices of the soft-RoCE
// bed.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "nic/verbs/verbs_ports.h"
#include "tests/beds/verbs_bed.h"

namespace openlapi::test {
namespace {

using Kind = VerbsSetupError::Kind;

TEST(VerbsDevices, TheRuleChoosesTheFirstPortAndItsIpv4Gid) {
  VerbsSetupError error;
  const VerbsPointer transport = open_verbs_transport({}, error);
  ASSERT_NE(transport, nullptr) << error.text;
  EXPECT_EQ(transport->device(), "rxe0");
  EXPECT_EQ(transport->port(), 1u);
  EXPECT_EQ(transport->gid_index(), 1u);
  EXPECT_EQ(transport->address().fabric, verbs::Fabric::roce_v2);
  EXPECT_EQ(verbs::to_text(transport->address().gid), "::ffff:10.77.0.1");
  EXPECT_EQ(transport->limits().max_packet, 4096u);
}

TEST(VerbsDevices, AreReported) {
  std::string reason;
  const auto reports = verbs::report_ports({}, reason);
  ASSERT_EQ(reports.size(), 2u) << reason;
  EXPECT_TRUE(reports[0].chosen);
  EXPECT_FALSE(reports[1].chosen);
  for (const verbs::PortReport& report : reports) {
    EXPECT_EQ(report.reason, "");
    ASSERT_TRUE(report.gid.has_value());
    EXPECT_EQ(report.gid->index, 1u);
    EXPECT_EQ(report.facts.mtu, 4096u);
    EXPECT_EQ(report.facts.gids.size(), 3u);
  }
}

TEST(VerbsDevices, AWrongGidIndexPortOrNameIsExplained) {
  VerbsSetupError error;
  VerbsConfig config;
  config.port = {.device = "rxe1", .port = 0, .gid_index = 77};
  EXPECT_EQ(open_verbs_transport(config, error), nullptr);
  EXPECT_EQ(error.kind, Kind::unusable_port);
  EXPECT_NE(error.text.find("rxe1 port 1 has no GID with index 77; it has 0 (fe80"), std::string::npos) << error.text;
  EXPECT_NE(error.text.find("1 (::ffff:10.77.0.2, RoCE v2), 2 (fd77"), std::string::npos) << error.text;
  config.port = {.device = "rxe1", .port = 2};
  EXPECT_EQ(open_verbs_transport(config, error), nullptr);
  EXPECT_EQ(error.text, "there is no RDMA device rxe1 port 2; there is rxe1 port 1");
  config.port = {.device = "mlx5_0"};
  EXPECT_EQ(open_verbs_transport(config, error), nullptr);
  EXPECT_EQ(error.kind, Kind::no_device);
  EXPECT_EQ(error.text, "there is no RDMA device mlx5_0; there is rxe0 rxe1");
}

TEST(VerbsDevices, APortThatIsDownIsRefusedAndTheNextOneChosen) {
  command("ip link set rdma0 down");
  ASSERT_TRUE(wait_for_port("rxe0", "DOWN"));
  VerbsSetupError error;
  EXPECT_EQ(open_on("rxe0", error), nullptr);
  EXPECT_EQ(error.kind, Kind::unusable_port);
  EXPECT_NE(error.text.find("rxe0 port 1 is not active but "), std::string::npos) << error.text;
  const VerbsPointer other = open_verbs_transport({}, error);
  ASSERT_NE(other, nullptr) << error.text;
  EXPECT_EQ(other->device(), "rxe1");
  command("ip link set rdma0 up");
  EXPECT_TRUE(wait_for_port("rxe0", "ACTIVE"));
}

TEST(VerbsDevices, TheLimitOfLockedMemoryIsNamed) {
  in_child([] {
    const rlimit limit{64 << 10, 64 << 10};
    ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
    become_ordinary_user();
    VerbsSetupError error;
    EXPECT_EQ(open_on("rxe0", error), nullptr);
    EXPECT_EQ(error.kind, Kind::locked_memory);
    EXPECT_NE(error.text.find("this process may lock 64 KiB (RLIMIT_MEMLOCK)"), std::string::npos) << error.text;
  });
}

TEST(VerbsDevices, AMissingPermissionIsNamed) {
  command("chmod 600 /dev/infiniband/uverbs*");
  in_child([] {
    become_ordinary_user();
    VerbsSetupError error;
    EXPECT_EQ(open_on("rxe0", error), nullptr);
    EXPECT_EQ(error.kind, Kind::no_permission);
    EXPECT_NE(error.text.find("no permission to read and write /dev/infiniband/uverbs"), std::string::npos)
        << error.text;
  });
  command("chmod 666 /dev/infiniband/uverbs*");
  in_child([] {
    become_ordinary_user();
    VerbsSetupError error;
    EXPECT_NE(open_on("rxe0", error), nullptr) << error.text;
  });
}

}  // namespace
}  // namespace openlapi::test
