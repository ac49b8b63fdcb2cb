#include "api/wiring/environment.h"

#include <gtest/gtest.h>

#include <climits>

#include "tests/unit/api/variables.h"

namespace openlapi {
namespace {

Settings accepted(const Variables& variables) {
  Settings settings;
  SettingError error;
  EXPECT_TRUE(read_settings(reader(variables), settings, error)) << error.message();
  return settings;
}

SettingError refused(const Variables& variables) {
  Settings settings;
  settings.ack_threshold = 17;
  SettingError error;
  EXPECT_FALSE(read_settings(reader(variables), settings, error)) << variables.begin()->second;
  EXPECT_EQ(settings.ack_threshold, 17) << "settings changed by a wrong value";
  return error;
}

TEST(Environment, EmptyGivesTheDefaultsOfTheGuide) {
  const Settings settings = accepted({});
  EXPECT_EQ(settings.message_api, MessageApi::kUnset);
  EXPECT_EQ(settings.library, CommunicationLibrary::kIp);
  EXPECT_EQ(settings.device, "");
  EXPECT_EQ(settings.instances, 0);
  EXPECT_EQ(settings.shared_memory, SharedMemoryUse::kByLauncher);
  EXPECT_EQ(settings.task, Settings::kUnset);
  EXPECT_EQ(settings.num_tasks, Settings::kUnset);
  EXPECT_EQ(settings.partition, "");
  EXPECT_EQ(settings.common_tasks, "");
  EXPECT_TRUE(settings.inet_addresses.empty());
  EXPECT_TRUE(settings.network_windows.empty());
  EXPECT_EQ(settings.ack_threshold, 30);
  EXPECT_EQ(settings.polling_interval, 400000);
  EXPECT_EQ(settings.retransmit_interval, 1000000);
  EXPECT_EQ(settings.retransmit_buffer_count, 128);
  EXPECT_EQ(settings.retransmit_buffer_size, 16384);
  EXPECT_EQ(settings.udp_packet_size, 0);
  EXPECT_FALSE(settings.use_bulk);
  EXPECT_EQ(settings.bulk_minimum, 150 * 1024);
  EXPECT_FALSE(settings.verify_dgsp);
  EXPECT_FALSE(settings.never_time_out);
  EXPECT_EQ(settings.info_level, 0);
  EXPECT_EQ(settings.trace_level, 0);
}

TEST(Environment, MessageApi) {
  EXPECT_EQ(accepted({{"MP_MSG_API", "lapi"}}).message_api, MessageApi::kLapi);
  EXPECT_EQ(accepted({{"MP_MSG_API", "lapi,mpi"}}).message_api, MessageApi::kLapiAndMpi);
  EXPECT_EQ(accepted({{"MP_MSG_API", "mpi,lapi"}}).message_api, MessageApi::kLapiAndMpi);
  EXPECT_EQ(accepted({{"MP_MSG_API", "mpi_lapi"}}).message_api, MessageApi::kSharedWithMpi);
  for (const char* wrong : {"mpi", "LAPI", "lapi,", "lapi mpi", " lapi"})
    EXPECT_EQ(refused({{"MP_MSG_API", wrong}}).kind, FailureKind::message_interfaces) << wrong;
}

TEST(Environment, CommunicationLibraryIsCaseSensitive) {
  EXPECT_EQ(accepted({{"MP_EUILIB", "ip"}}).library, CommunicationLibrary::kIp);
  EXPECT_EQ(accepted({{"MP_EUILIB", "us"}}).library, CommunicationLibrary::kUserSpace);
  EXPECT_EQ(refused({{"MP_EUILIB", "IP"}}).kind, FailureKind::transport);
  EXPECT_EQ(refused({{"MP_EUILIB", "Us"}}).kind, FailureKind::transport);
  EXPECT_EQ(refused({{"MP_EUILIB", "udp"}}).kind, FailureKind::transport);
}

TEST(Environment, SharedMemoryUseIgnoresCase) {
  EXPECT_EQ(accepted({}).shared_memory, SharedMemoryUse::kByLauncher);
  EXPECT_EQ(accepted({{"LAPI_USE_SHM", "no"}}).shared_memory, SharedMemoryUse::kNo);
  EXPECT_EQ(accepted({{"LAPI_USE_SHM", "YES"}}).shared_memory, SharedMemoryUse::kYes);
  EXPECT_EQ(accepted({{"LAPI_USE_SHM", "Only"}}).shared_memory, SharedMemoryUse::kOnly);
  EXPECT_EQ(refused({{"LAPI_USE_SHM", "true"}}).kind, FailureKind::shared_memory);
  EXPECT_EQ(refused({{"LAPI_USE_SHM", "yes "}}).kind, FailureKind::shared_memory);
}

TEST(Environment, SwitchesTakeYesAndNoInEitherCase) {
  EXPECT_TRUE(accepted({{"MP_USE_BULK_XFER", "yes"}}).use_bulk);
  EXPECT_TRUE(accepted({{"MP_USE_BULK_XFER", "Yes"}}).use_bulk);
  EXPECT_FALSE(accepted({{"MP_USE_BULK_XFER", "no"}}).use_bulk);
  EXPECT_TRUE(accepted({{"LAPI_VERIFY_DGSP", "YES"}}).verify_dgsp);
  EXPECT_FALSE(accepted({{"LAPI_VERIFY_DGSP", "NO"}}).verify_dgsp);
  EXPECT_EQ(refused({{"MP_USE_BULK_XFER", "1"}}).kind, FailureKind::setting);
  EXPECT_EQ(refused({{"LAPI_VERIFY_DGSP", "y"}}).kind, FailureKind::setting);
  EXPECT_FALSE(accepted({}).check_arguments);
  EXPECT_TRUE(accepted({{"OPENLAPI_ERROR_CHK", "Yes"}}).check_arguments);
  EXPECT_EQ(refused({{"OPENLAPI_ERROR_CHK", "1"}}).kind, FailureKind::setting);
  EXPECT_TRUE(accepted({}).explain_faults);
  EXPECT_FALSE(accepted({{"OPENLAPI_EXPLAIN_FAULTS", "no"}}).explain_faults);
}

TEST(Environment, NoTimeoutIsAnyTextButNo) {
  EXPECT_TRUE(accepted({{"MP_DEBUG_NOTIMEOUT", "yes"}}).never_time_out);
  EXPECT_TRUE(accepted({{"MP_DEBUG_NOTIMEOUT", "0"}}).never_time_out);
  EXPECT_TRUE(accepted({{"MP_DEBUG_NOTIMEOUT", " "}}).never_time_out);
  EXPECT_FALSE(accepted({{"MP_DEBUG_NOTIMEOUT", ""}}).never_time_out);
  EXPECT_FALSE(accepted({{"MP_DEBUG_NOTIMEOUT", "no"}}).never_time_out);
  EXPECT_FALSE(accepted({{"MP_DEBUG_NOTIMEOUT", "NO"}}).never_time_out);
}

struct IntegerCase {
  const char* name;
  int Settings::*member;
  int min;
  int max;
  FailureKind kind;
};

class EnvironmentInteger : public testing::TestWithParam<IntegerCase> {};

TEST_P(EnvironmentInteger, TakesBothEndsOfItsRangeAndNothingBeyond) {
  const auto& [name, member, min, max, kind] = GetParam();
  EXPECT_EQ(accepted({{name, std::to_string(min)}}).*member, min);
  EXPECT_EQ(accepted({{name, std::to_string(max)}}).*member, max);
  EXPECT_EQ(refused({{name, std::to_string(min - 1LL)}}).kind, kind);
  EXPECT_EQ(refused({{name, std::to_string(max + 1LL)}}).kind, kind);
}

TEST_P(EnvironmentInteger, RefusesWhatIsNoNumber) {
  const auto& [name, member, min, max, kind] = GetParam();
  for (const char* wrong :
       {"x", "12x", " 12", "12 ", "+12", "1e4", "0x10", "12.0", "99999999999999999999", "-", "12K"}) {
    const SettingError error = refused({{name, wrong}});
    EXPECT_EQ(error.kind, kind) << wrong;
    EXPECT_EQ(error.variable, name);
    EXPECT_EQ(error.value, wrong);
  }
}

TEST_P(EnvironmentInteger, SetToNothingCountsAsNotSet) {
  const auto& [name, member, min, max, kind] = GetParam();
  EXPECT_EQ(accepted({{name, ""}}).*member, Settings{}.*member);
}

TEST_P(EnvironmentInteger, AllowedTextNamesBothEnds) {
  const auto& [name, member, min, max, kind] = GetParam();
  const std::string allowed = report_of(name).allowed;
  EXPECT_NE(allowed.find(std::to_string(min)), std::string::npos) << allowed;
  EXPECT_NE(allowed.find(std::to_string(max)), std::string::npos) << allowed;
}

INSTANTIATE_TEST_SUITE_P(
    Variables, EnvironmentInteger,
    testing::Values(
        IntegerCase{"OPENLAPI_TERM_WAIT", &Settings::term_wait, 0, 86400, FailureKind::setting},
        IntegerCase{"MP_ACK_THRESH", &Settings::ack_threshold, 1, 31, FailureKind::setting},
        IntegerCase{"MP_POLLING_INTERVAL", &Settings::polling_interval, 10001, INT_MAX, FailureKind::setting},
        IntegerCase{"MP_RETRANSMIT_INTERVAL", &Settings::retransmit_interval, 1000, INT_MAX, FailureKind::setting},
        IntegerCase{"MP_REXMIT_BUF_CNT", &Settings::retransmit_buffer_count, 1, INT_MAX, FailureKind::setting},
        IntegerCase{"MP_REXMIT_BUF_SIZE", &Settings::retransmit_buffer_size, 1, INT_MAX, FailureKind::setting},
        IntegerCase{"MP_INFOLEVEL", &Settings::info_level, 0, 6, FailureKind::setting},
        IntegerCase{"MP_LAPI_TRACE_LEVEL", &Settings::trace_level, 0, 5, FailureKind::setting},
        IntegerCase{"MP_CHILD", &Settings::task, 0, kMostTasks - 1, FailureKind::task_numbers},
        IntegerCase{"MP_PROCS", &Settings::num_tasks, 1, kMostTasks, FailureKind::task_numbers}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(Environment, UdpPacketSizeIsCutToWhatADatagramHolds) {
  EXPECT_EQ(accepted({{"MP_UDP_PACKET_SIZE", "1024"}}).udp_packet_size, 1024);
  EXPECT_EQ(accepted({{"MP_UDP_PACKET_SIZE", "65507"}}).udp_packet_size, 65507);
  EXPECT_EQ(accepted({{"MP_UDP_PACKET_SIZE", "65508"}}).udp_packet_size, 65507);
  EXPECT_EQ(accepted({{"MP_UDP_PACKET_SIZE", "65536"}}).udp_packet_size, 65507);
  EXPECT_EQ(accepted({{"MP_UDP_PACKET_SIZE", ""}}).udp_packet_size, 0);
  for (const char* wrong : {"1023", "65537", "0", "-1024", "8K", "mtu"})
    EXPECT_EQ(refused({{"MP_UDP_PACKET_SIZE", wrong}}).kind, FailureKind::packet_size) << wrong;
}

TEST(Environment, BulkMinimumTakesSuffixesAndIsAtLeast4K) {
  EXPECT_EQ(accepted({{"MP_BULK_MIN_MSG_SIZE", "4097"}}).bulk_minimum, 4097);
  EXPECT_EQ(accepted({{"MP_BULK_MIN_MSG_SIZE", "4K"}}).bulk_minimum, 4096);
  EXPECT_EQ(accepted({{"MP_BULK_MIN_MSG_SIZE", "150k"}}).bulk_minimum, 153600);
  EXPECT_EQ(accepted({{"MP_BULK_MIN_MSG_SIZE", "2M"}}).bulk_minimum, 2 * 1024 * 1024);
  EXPECT_EQ(accepted({{"MP_BULK_MIN_MSG_SIZE", "4095"}}).bulk_minimum, 4096);
  EXPECT_EQ(accepted({{"MP_BULK_MIN_MSG_SIZE", "0"}}).bulk_minimum, 4096);
  EXPECT_EQ(accepted({{"MP_BULK_MIN_MSG_SIZE", "2147483647"}}).bulk_minimum, INT_MAX);
  for (const char* wrong : {"2147483648", "2048M", "-1", "K", "4KB", "4 K", "1G", "9223372036854775807M"}) {
    EXPECT_EQ(refused({{"MP_BULK_MIN_MSG_SIZE", wrong}}).kind, FailureKind::setting) << wrong;
  }
}

TEST(Environment, Instances) {
  EXPECT_EQ(accepted({{"MP_INSTANCES", "1"}}).instances, 1);
  EXPECT_EQ(accepted({{"MP_INSTANCES", "16"}}).instances, 16);
  EXPECT_EQ(accepted({{"MP_INSTANCES", "100"}}).instances, 16);
  EXPECT_EQ(accepted({{"MP_INSTANCES", "Max"}}).instances, 16);
  EXPECT_EQ(accepted({{"MP_INSTANCES", "007"}}).instances, 7);
  for (const char* many : {"2147483647", "2147483648", "99999999999999999999"}) {
    EXPECT_EQ(accepted({{"MP_INSTANCES", many}}).instances, 16) << "as max";
  }
  for (const char* wrong : {"0", "00", "-1", "+1", "maximum", "2x", "99999999999999999999x"}) {
    const SettingError error = refused({{"MP_INSTANCES", wrong}});
    EXPECT_EQ(error.kind, FailureKind::setting) << wrong;
    EXPECT_NE(error.message().find("an integer from 1 on, or max"), std::string::npos) << error.message();
  }
}

TEST(Environment, TextsAreTakenAsTheyAre) {
  const Settings settings =
      accepted({{"MP_EUIDEVICE", "mlx5_0"}, {"MP_PARTITION", "job 7"}, {"MP_COMMON_TASKS", "1:0"}});
  EXPECT_EQ(settings.device, "mlx5_0");
  EXPECT_EQ(settings.partition, "job 7");
  EXPECT_EQ(settings.common_tasks, "1:0");
}

TEST(Environment, InetAddresses) {
  const std::vector<NetworkInstance> two{{"192.161.0.1", "sn0"}, {"192.161.1.1", "sn1"}};
  EXPECT_EQ(accepted({{"MP_LAPI_INET_ADDR", "@2:192.161.0.1,sn0:192.161.1.1,sn1"}}).inet_addresses, two);
  const std::vector<NetworkInstance> one{{"127.0.0.1", "lo"}};
  EXPECT_EQ(accepted({{"MP_LAPI_INET_ADDR", "@1:127.0.0.1,lo"}}).inet_addresses, one);
  for (const char* wrong : {"127.0.0.1,lo",
                            "@:127.0.0.1,lo",
                            "@1",
                            "@1:",
                            "@0:",
                            "@2:127.0.0.1,lo",
                            "@1:127.0.0.1,lo:127.0.0.2,lo",
                            "@1:127.0.0.1",
                            "@1:127.0.0.1,",
                            "@1:,lo",
                            "@1:127.0.0,lo",
                            "@1:127.0.0.256,lo",
                            "@1:127.0.0.1.5,lo",
                            "@1:127.0.0.-1,lo",
                            "@1:127.0.0.,lo",
                            "@1:127.0.0.0001,lo",
                            "@1:localhost,lo",
                            "@1:127.0.0.1,lo:",
                            "@x:127.0.0.1,lo",
                            "@1:127.0.0.1,lo,eth0",
                            "@"}) {
    EXPECT_EQ(refused({{"MP_LAPI_INET_ADDR", wrong}}).kind, FailureKind::network_statement) << wrong;
  }
}

TEST(Environment, NetworkWindowsInBothSpellingsOfTheGuide) {
  const std::vector<NetworkInstance> one{{"164", "sn0"}};
  EXPECT_EQ(accepted({{"MP_LAPI_NETWORK", "@1:164,sn0"}}).network_windows, one);
  EXPECT_EQ(accepted({{"MP_LAPI_NETWORK", "@1>164,sn0"}}).network_windows, one);
  for (const char* wrong : {"@1:x,sn0", "@1:-0,sn0", "164,sn0", "@1:164"}) {
    EXPECT_EQ(refused({{"MP_LAPI_NETWORK", wrong}}).kind, FailureKind::network_statement) << wrong;
  }
}

// What is beyond the eighth is ignored by whoever uses it, and no mistake.
TEST(Environment, NetworkStatementsHaveAnyNumberOfPairs) {
  std::string pairs;
  for (int i = 0; i < 17; ++i) {
    const std::string number = std::to_string(i);
    pairs.append(":").append(number).append(",sn").append(number);
  }
  EXPECT_EQ(accepted({{"MP_LAPI_NETWORK", "@17" + pairs}}).network_windows.size(), 17U);
  for (const char* count : {"@16", "@18", "@99999999999999999999"}) {
    EXPECT_EQ(refused({{"MP_LAPI_NETWORK", count + pairs}}).kind, FailureKind::network_statement) << count;
  }
}

TEST(Environment, OnlyOneNetworkStatementMayBeSet) {
  const SettingError error = refused({{"MP_LAPI_NETWORK", "@1:164,sn0"}, {"MP_LAPI_INET_ADDR", "@1:127.0.0.1,lo"}});
  EXPECT_EQ(error.kind, FailureKind::two_network_statements);
  EXPECT_NE(error.message().find("MP_LAPI_NETWORK=@1:164,sn0"), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("MP_LAPI_INET_ADDR"), std::string::npos) << error.message();
}

TEST(Environment, MessageNamesVariableValueAndWhatIsAllowed) {
  EXPECT_EQ(refused({{"MP_ACK_THRESH", "32"}}).message(), "MP_ACK_THRESH=32: allowed is an integer from 1 to 31");
  EXPECT_EQ(refused({{"MP_EUILIB", "IP"}}).message(), "MP_EUILIB=IP: allowed is one of ip us (in lower case)");
  EXPECT_EQ(refused({{"LAPI_USE_SHM", "maybe"}}).message(),
            "LAPI_USE_SHM=maybe: allowed is one of yes no only (in either case)");
}

TEST(Environment, EveryVariableSetToNothingIsTheDefault) {
  Variables empty;
  for (const SettingReport& row : report_settings(reader({}))) empty[row.name] = "";
  EXPECT_EQ(accepted(empty).message_api, MessageApi::kUnset);
  EXPECT_EQ(accepted(empty).ack_threshold, 30);
  for (const SettingReport& row : report_settings(reader(empty))) {
    EXPECT_EQ(row.present, "") << row.name;
    EXPECT_TRUE(row.valid) << row.name;
  }
}

TEST(Environment, ModulesAreNamesWithCommas) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(accepted({}).modules, Names({"verbs", "dpdk"}));
  EXPECT_EQ(accepted({{"OPENLAPI_MODULES", "verbs"}}).modules, Names({"verbs"}));
  EXPECT_EQ(accepted({{"OPENLAPI_MODULES", "dpdk,Own_1"}}).modules, Names({"dpdk", "Own_1"}));
  for (const char* wrong : {",", "verbs,", ",verbs", "verbs,,dpdk", "../verbs", "verbs dpdk", "a.b"}) {
    EXPECT_EQ(refused({{"OPENLAPI_MODULES", wrong}}).kind, FailureKind::setting) << wrong;
  }
  EXPECT_EQ(accepted({{"OPENLAPI_LIBRARY_FOLDER", "/opt/lib"}}).library_folder, "/opt/lib");
  EXPECT_EQ(accepted({{"OPENLAPI_DPDK_ARGUMENTS", "-m 64 --no-pci"}}).module_variables.at("OPENLAPI_DPDK_ARGUMENTS"),
            "-m 64 --no-pci");
}

TEST(Environment, DirectAccessIsOffUnlessOneOfThreeWordsSaysElse) {
  EXPECT_EQ(accepted({}).direct, DirectUse::kNone);
  EXPECT_EQ(accepted({{"OPENLAPI_DIRECT", "no"}}).direct, DirectUse::kNone);
  EXPECT_EQ(accepted({{"OPENLAPI_DIRECT", "Get"}}).direct, DirectUse::kReads);
  EXPECT_EQ(accepted({{"OPENLAPI_DIRECT", "auto"}}).direct, DirectUse::kAll);
  for (const char* wrong : {"yes", "1", "put"})
    EXPECT_EQ(refused({{"OPENLAPI_DIRECT", wrong}}).kind, FailureKind::setting) << wrong;
}

TEST(Environment, PacketsAreAuthenticatedAsOneOfThreeWordsSays) {
  EXPECT_EQ(accepted({}).packet_authentication, PacketAuthentication::kByNetwork);
  EXPECT_EQ(accepted({{"OPENLAPI_PACKET_AUTH", "auto"}}).packet_authentication, PacketAuthentication::kByNetwork);
  EXPECT_EQ(accepted({{"OPENLAPI_PACKET_AUTH", "Yes"}}).packet_authentication, PacketAuthentication::kYes);
  EXPECT_EQ(accepted({{"OPENLAPI_PACKET_AUTH", "no"}}).packet_authentication, PacketAuthentication::kNo);
  for (const char* wrong : {"1", "tags", "yes,no"}) {
    EXPECT_EQ(refused({{"OPENLAPI_PACKET_AUTH", wrong}}).kind, FailureKind::setting) << wrong;
  }
}

TEST(Environment, PolicyOfTheDataplaneThread) {
  EXPECT_EQ(accepted({}).thread_policy, ThreadPolicy::adaptive);
  EXPECT_EQ(accepted({{"OPENLAPI_THREAD_POLICY", "adaptive"}}).thread_policy, ThreadPolicy::adaptive);
  EXPECT_EQ(accepted({{"OPENLAPI_THREAD_POLICY", "Spin"}}).thread_policy, ThreadPolicy::spin);
  EXPECT_EQ(accepted({{"OPENLAPI_THREAD_POLICY", "SLEEP"}}).thread_policy, ThreadPolicy::sleep);
  for (const char* wrong : {"busy", "1", "spin,sleep"}) {
    EXPECT_EQ(refused({{"OPENLAPI_THREAD_POLICY", wrong}}).kind, FailureKind::setting) << wrong;
  }
}

TEST(Environment, PlaceOfTheDataplaneThread) {
  EXPECT_EQ(accepted({}).thread_place, ThreadPlace::kNear);
  EXPECT_EQ(accepted({{"OPENLAPI_THREAD_CPU", "near"}}).thread_place, ThreadPlace::kNear);
  EXPECT_EQ(accepted({{"OPENLAPI_THREAD_CPU", "None"}}).thread_place, ThreadPlace::kNone);
  const Settings listed = accepted({{"OPENLAPI_THREAD_CPU", "7,2-4,0"}});
  EXPECT_EQ(listed.thread_place, ThreadPlace::kListed);
  EXPECT_EQ(listed.thread_processors, (std::vector<int>{7, 2, 3, 4, 0}));
  EXPECT_EQ(accepted({{"OPENLAPI_THREAD_CPU", "1023"}}).thread_processors, std::vector<int>{1023});
  for (const char* wrong : {"-1", "1024", "0,", ",0", "a", "3-2", "1-", "-", "0 1", "1,,2", "1-2-3", "near,1"}) {
    const SettingError error = refused({{"OPENLAPI_THREAD_CPU", wrong}});
    EXPECT_EQ(error.kind, FailureKind::setting) << wrong;
    EXPECT_NE(error.message().find("near, none"), std::string::npos) << error.message();
  }
}

TEST(Environment, PacketsOverRdmaAndPagingAreChosenByWords) {
  EXPECT_EQ(accepted({}).module_variables.count("OPENLAPI_VERBS_PACKETS"), 0u);
  EXPECT_EQ(accepted({{"OPENLAPI_VERBS_PACKETS", "auto"}}).module_variables.at("OPENLAPI_VERBS_PACKETS"), "auto");
  EXPECT_EQ(accepted({{"OPENLAPI_VERBS_PACKETS", "ud"}}).module_variables.at("OPENLAPI_VERBS_PACKETS"), "ud");
  EXPECT_EQ(accepted({{"OPENLAPI_VERBS_PACKETS", "RC"}}).module_variables.at("OPENLAPI_VERBS_PACKETS"), "rc");
  EXPECT_EQ(refused({{"OPENLAPI_VERBS_PACKETS", "xrc"}}).message(),
            "OPENLAPI_VERBS_PACKETS=xrc: allowed is one of auto ud rc (in either case)");
  for (const std::string name : {"OPENLAPI_VERBS_ON_DEMAND_PAGING", "OPENLAPI_VERBS_RINGS"}) {
    for (const char* right : {"auto", "NO", "Yes"}) accepted({{name, right}});
    EXPECT_EQ(refused({{name, "1"}}).kind, FailureKind::setting) << name;
  }
  accepted({{"OPENLAPI_VERBS_ONE_SIDED", "GET"}});
  EXPECT_EQ(refused({{"OPENLAPI_VERBS_ONE_SIDED", "yes"}}).message(),
            "OPENLAPI_VERBS_ONE_SIDED=yes: allowed is one of no get (in either case)");
}

TEST(Environment, PartitionsAreHexadecimalNumbers) {
  EXPECT_EQ(accepted({{"OPENLAPI_VERBS_PKEY", "0x8001"}}).module_variables.at("OPENLAPI_VERBS_PKEY"), "0x8001");
  for (const char* right : {"7fff", "0xFFFF", "1", "0X0002"}) accepted({{"OPENLAPI_VERBS_PKEY", right}});
  for (const char* wrong : {"0", "0x8000", "0x10000", "0x", "key", "-1", "1 "}) {
    const SettingError error = refused({{"OPENLAPI_VERBS_PKEY", wrong}});
    EXPECT_EQ(error.kind, FailureKind::setting) << wrong;
    EXPECT_NE(error.message().find("allowed is a hexadecimal number from 0x1 to 0xffff"), std::string::npos)
        << error.message();
  }
}

TEST(Environment, ServiceLevelAndTrafficClassHaveBounds) {
  for (const char* right : {"0", "15"}) accepted({{"OPENLAPI_VERBS_SERVICE_LEVEL", right}});
  for (const char* right : {"0", "106", "255"}) accepted({{"OPENLAPI_VERBS_TRAFFIC_CLASS", right}});
  EXPECT_EQ(refused({{"OPENLAPI_VERBS_SERVICE_LEVEL", "16"}}).message(),
            "OPENLAPI_VERBS_SERVICE_LEVEL=16: allowed is a number from 0 to 15");
  for (const char* wrong : {"256", "-1", "0x10", "high"}) {
    EXPECT_EQ(refused({{"OPENLAPI_VERBS_TRAFFIC_CLASS", wrong}}).kind, FailureKind::setting) << wrong;
  }
}

TEST(Environment, GidsAreChosenByNetworkAndVlan) {
  accepted({{"OPENLAPI_VERBS_GID_PREFIX", "10.77.0.0/16"}, {"OPENLAPI_VERBS_VLAN", "4094"}});
  EXPECT_EQ(refused({{"OPENLAPI_VERBS_GID_PREFIX", "10.77.0.0"}}).message(),
            "OPENLAPI_VERBS_GID_PREFIX=10.77.0.0: allowed is ADDRESS/BITS, as 10.77.0.0/16 or fd77::/64");
  for (const char* wrong : {"4095", "-1", "vlan5"}) {
    EXPECT_EQ(refused({{"OPENLAPI_VERBS_VLAN", wrong}}).kind, FailureKind::setting) << wrong;
  }
}

TEST(Environment, DpdkAdaptersHaveAddressesRoutersAndMarks) {
  accepted({{"OPENLAPI_DPDK_ADDRESS", "10.0.0.16+/24 ens1=interface"}, {"OPENLAPI_DPDK_GATEWAY", "10.0.0.1"}});
  accepted({{"OPENLAPI_DPDK_VLAN", "4094:7"}, {"OPENLAPI_DPDK_DSCP", "63"}});
  EXPECT_EQ(refused({{"OPENLAPI_DPDK_ADDRESS", "10.0.0.5"}}).kind, FailureKind::setting);
  EXPECT_EQ(refused({{"OPENLAPI_DPDK_GATEWAY", "10.0.0.1/24"}}).kind, FailureKind::setting);
  EXPECT_EQ(refused({{"OPENLAPI_DPDK_VLAN", "5:8"}}).kind, FailureKind::setting);
  EXPECT_EQ(refused({{"OPENLAPI_DPDK_DSCP", "64"}}).message(),
            "OPENLAPI_DPDK_DSCP=64: allowed is a number from 0 to 63");
}

TEST(EnvironmentDevice, KnowsTheNamesOfAix) {
  for (const char* name : {"en0", "en12", "csss", "ml0", "fi0", "tr0"}) EXPECT_TRUE(names_aix_device(name)) << name;
  for (const char* name : {"", "en", "eno1", "enp3s0", "eth0", "sn_all", "sn_single", "mlx5_0", "lo", "tr-1"}) {
    EXPECT_FALSE(names_aix_device(name)) << name;
  }
}

TEST(AnyAdapter, IsNoNameOrOneOfTheSwitch) {
  for (const char* any : {"", "sn_single", "sn_all", "sn0", "sn15"}) EXPECT_TRUE(names_any_adapter(any)) << any;
  for (const char* name : {"sn", "snx", "sn0:1", "SN_ALL", "eth0", "en0", "mlx5_0"}) {
    EXPECT_FALSE(names_any_adapter(name)) << name;
  }
}

}  // namespace
}  // namespace openlapi
