#include "nic/verbs/verbs_module.h"

#include <gtest/gtest.h>

#include "nic/verbs/verbs_transport.h"

namespace openlapi::verbs {
namespace {

PortPreference parsed(const std::string& text) {
  PortPreference preference;
  std::string reason;
  EXPECT_TRUE(parse_preference(text, preference, reason)) << text << ": " << reason;
  return preference;
}

void expect_preference(const std::string& text, const std::string& device, std::uint32_t port, std::int32_t gid_index) {
  const PortPreference preference = parsed(text);
  EXPECT_EQ(preference.device, device) << text;
  EXPECT_EQ(preference.port, port) << text;
  EXPECT_EQ(preference.gid_index, gid_index) << text;
}

TEST(VerbsPreference, IsADeviceAndPerhapsItsPortAndGid) {
  expect_preference("", "", 0, -1);
  expect_preference("mlx5_0", "mlx5_0", 0, -1);
  expect_preference("mlx5_0:2", "mlx5_0", 2, -1);
  expect_preference("mlx5_0:1:0", "mlx5_0", 1, 0);
  expect_preference("rxe1:255:255", "rxe1", 255, 255);
}

TEST(VerbsPreference, ThatIsWrongIsExplained) {
  for (const char* text : {":", ":1", "rxe0:", "rxe0:0", "rxe0:256", "rxe0:x", "rxe0:1:", "rxe0:1:-1", "rxe0:1:256",
                           "rxe0:1:3:4", "rxe0: 1", "rxe0::1"}) {
    PortPreference preference{.device = "before"};
    std::string reason;
    EXPECT_FALSE(parse_preference(text, preference, reason)) << text;
    EXPECT_NE(reason.find(text), std::string::npos) << reason;
    EXPECT_NE(reason.find("DEVICE:PORT:GID_INDEX"), std::string::npos) << reason;
    EXPECT_EQ(preference.device, "before") << "nothing is changed";
  }
}

TEST(VerbsModule, RefusesADeviceThatIsNotHere) {
  VerbsModule module;
  const ModuleTransport opened = module.open({.device = "no_such_device"});
  EXPECT_EQ(opened.transport, nullptr);
  EXPECT_NE(opened.reason, "");
  EXPECT_NE(module.open({.device = "rxe0:1:x"}).reason.find("'rxe0:1:x'"), std::string::npos);
}

TEST(VerbsModule, TakesTheValuesOfItsVariables) {
  ModuleRequest request{.device = "mlx5_0:1:3"};
  request.variables["OPENLAPI_VERBS_PKEY"] = "0x8001";
  VerbsConfig config;
  std::string reason;
  ASSERT_TRUE(configure(request, config, reason)) << reason;
  EXPECT_EQ(config.port.gid_index, 3);
  EXPECT_EQ(config.port.partition, 1);
  EXPECT_EQ(config.service_level, 0);
  EXPECT_FALSE(config.traffic_class) << "the system's";
  request.variables["OPENLAPI_VERBS_SERVICE_LEVEL"] = "5";
  request.variables["OPENLAPI_VERBS_TRAFFIC_CLASS"] = "0";
  request.variables["OPENLAPI_VERBS_GID_PREFIX"] = "10.77.0.0/16";
  request.variables["OPENLAPI_VERBS_VLAN"] = "7";
  ASSERT_TRUE(configure(request, config, reason)) << reason;
  EXPECT_EQ(config.port.gid_prefix.bits, 112u);
  EXPECT_EQ(config.port.vlan, 7);
  EXPECT_EQ(config.service_level, 5);
  EXPECT_EQ(config.traffic_class, 0);
}

TEST(VerbsModule, OnDemandPagingIsBesideTheCacheUnlessItIsSaid) {
  const auto chosen = [](const char* word) {
    ModuleRequest request;
    if (word != nullptr) request.variables["OPENLAPI_VERBS_ON_DEMAND_PAGING"] = word;
    VerbsConfig config;
    std::string reason;
    EXPECT_TRUE(configure(request, config, reason)) << reason;
    return config.bulk_limits.on_demand_paging;
  };
  EXPECT_EQ(chosen(nullptr), OnDemandPaging::beside_cache);
  EXPECT_EQ(chosen("auto"), OnDemandPaging::beside_cache);
  EXPECT_EQ(chosen("no"), OnDemandPaging::never);
  EXPECT_EQ(chosen("yes"), OnDemandPaging::always);
}

TEST(VerbsModule, GetsTakeMessagesUnlessItIsSaid) {
  const auto chosen = [](const char* word) {
    ModuleRequest request;
    if (word != nullptr) request.variables["OPENLAPI_VERBS_ONE_SIDED"] = word;
    VerbsConfig config;
    std::string reason;
    EXPECT_TRUE(configure(request, config, reason)) << reason;
    return config.one_sided;
  };
  EXPECT_FALSE(chosen(nullptr));
  EXPECT_FALSE(chosen("no"));
  EXPECT_TRUE(chosen("get"));
}

TEST(VerbsModule, RingsAreThereOnlyIfItIsSaid) {
  const auto chosen = [](const char* word) {
    ModuleRequest request;
    if (word != nullptr) request.variables["OPENLAPI_VERBS_RINGS"] = word;
    VerbsConfig config;
    std::string reason;
    EXPECT_TRUE(configure(request, config, reason)) << reason;
    return config.connection_limits.rings;
  };
  EXPECT_EQ(chosen(nullptr), Rings::never);
  EXPECT_EQ(chosen("auto"), Rings::where_in_order);
  EXPECT_EQ(chosen("no"), Rings::never);
  EXPECT_EQ(chosen("yes"), Rings::always);
}

TEST(VerbsModule, QueuesFollowTheJob) {
  VerbsConfig config;
  std::string reason;
  ASSERT_TRUE(configure({.device = "rxe0", .tasks = 8192, .local_tasks = 64}, config, reason)) << reason;
  EXPECT_EQ(config.receive_slots, 1024u);
  EXPECT_EQ(config.local_tasks, 64u);
}

TEST(VerbsModule, FollowsTheAddressOfTheOnlyAdapterToo) {
  for (const bool one_of_several : {false, true}) {
    VerbsConfig config;
    std::string reason;
    ModuleRequest request{.device = "rxe0"};
    request.link_status = one_of_several;
    ASSERT_TRUE(configure(request, config, reason)) << reason;
    EXPECT_TRUE(config.link_status);
  }
}

PortReport report(const std::string& device, const Gid& gid, Fabric fabric, std::uint16_t partition = 0) {
  PortReport made{
      .facts = {}, .gid = GidFacts{.index = 1, .fabric = fabric, .gid = gid}, .partition = {}, .reason = {}};
  made.facts.device = device;
  made.partition.key = partition;
  return made;
}

TEST(VerbsDevices, TellTheirNetworks) {
  const Gid ipv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 2};
  const ModuleDevice roce = describe(report("rxe1", ipv4, Fabric::roce_v2));
  EXPECT_TRUE(roce.eligible && !roce.exclusive);
  EXPECT_EQ(roce.name, "rxe1:1");
  EXPECT_EQ(roce.kernel_name, "rxe1");
  EXPECT_EQ(roce.address, 0x0a4d0002u);
  EXPECT_NE(roce.network, describe(report("rxe1", ipv4, Fabric::roce_v1)).network);
  const Gid here{0xfe, 0x80, 0, 0, 0, 0, 0, 1, 7}, near{0xfe, 0x80, 0, 0, 0, 0, 0, 1, 8}, far{0xfe, 0x80, 7};
  const ModuleDevice infiniband = describe(report("mlx5_0", here, Fabric::infiniband, 1));
  EXPECT_EQ(infiniband.address, 0u);
  EXPECT_EQ(infiniband.network, describe(report("mlx5_1", near, Fabric::infiniband, 1)).network);
  EXPECT_NE(infiniband.network, describe(report("mlx5_1", near, Fabric::infiniband, 2)).network);
  EXPECT_NE(infiniband.network, describe(report("mlx5_1", far, Fabric::infiniband, 1)).network);
}

TEST(VerbsDevices, ThatCannotBeUsedAreNotChosen) {
  PortReport down = report("rxe1", {}, Fabric::roce_v2);
  down.gid.reset();
  down.reason = "is not active but DOWN";
  EXPECT_FALSE(describe(down).eligible);
}

}  // namespace
}  // namespace openlapi::verbs
