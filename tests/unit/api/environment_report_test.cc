// What is told of each variable: its default, its value and its meaning.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/api/variables.h"

namespace openlapi {
namespace {

TEST(EnvironmentReport, ListsEveryVariableOnce) {
  const std::set<std::string> expected{"MP_MSG_API",
                                       "MP_EUILIB",
                                       "MP_EUIDEVICE",
                                       "MP_PROCS",
                                       "MP_CHILD",
                                       "MP_PARTITION",
                                       "MP_COMMON_TASKS",
                                       "MP_LAPI_INET_ADDR",
                                       "OPENLAPI_SECRET",
                                       "OPENLAPI_SECRET_FILE",
                                       "MP_LAPI_NETWORK",
                                       "LAPI_USE_SHM",
                                       "MP_ACK_THRESH",
                                       "MP_POLLING_INTERVAL",
                                       "MP_RETRANSMIT_INTERVAL",
                                       "MP_REXMIT_BUF_CNT",
                                       "MP_REXMIT_BUF_SIZE",
                                       "MP_UDP_PACKET_SIZE",
                                       "OPENLAPI_TERM_WAIT",
                                       "MP_DEBUG_NOTIMEOUT",
                                       "MP_INFOLEVEL",
                                       "MP_LAPI_TRACE_LEVEL",
                                       "MP_USE_BULK_XFER",
                                       "MP_BULK_MIN_MSG_SIZE",
                                       "LAPI_VERIFY_DGSP",
                                       "OPENLAPI_ERROR_CHK",
                                       "OPENLAPI_EXPLAIN_FAULTS",
                                       "MP_INSTANCES",
                                       "OPENLAPI_DIRECT_HEAP",
                                       "OPENLAPI_DIRECT",
                                       "OPENLAPI_DPDK_ADDRESS",
                                       "OPENLAPI_DPDK_ARGUMENTS",
                                       "OPENLAPI_DPDK_DSCP",
                                       "OPENLAPI_DPDK_GATEWAY",
                                       "OPENLAPI_DPDK_VLAN",
                                       "OPENLAPI_LIBRARY_FOLDER",
                                       "OPENLAPI_MODULES",
                                       "OPENLAPI_PACKET_AUTH",
                                       "OPENLAPI_THREAD_CPU",
                                       "OPENLAPI_THREAD_POLICY",
                                       "OPENLAPI_VERBS_GID_PREFIX",
                                       "OPENLAPI_VERBS_ON_DEMAND_PAGING",
                                       "OPENLAPI_VERBS_ONE_SIDED",
                                       "OPENLAPI_VERBS_PACKETS",
                                       "OPENLAPI_VERBS_PKEY",
                                       "OPENLAPI_VERBS_RINGS",
                                       "OPENLAPI_VERBS_SERVICE_LEVEL",
                                       "OPENLAPI_VERBS_TRAFFIC_CLASS",
                                       "OPENLAPI_VERBS_VLAN"};
  const auto report = report_settings(reader({}));
  std::set<std::string> listed;
  for (const SettingReport& row : report) {
    listed.insert(row.name);
    EXPECT_FALSE(row.type.empty() || row.allowed.empty() || row.default_value.empty() || row.meaning.empty())
        << row.name;
  }
  EXPECT_EQ(listed, expected);
  EXPECT_EQ(report.size(), expected.size());
}

TEST(EnvironmentReport, ShowsDefaultPresentValueAndWhetherItIsValid) {
  EXPECT_EQ(report_of("MP_ACK_THRESH").default_value, "30");
  EXPECT_EQ(report_of("MP_EUILIB").default_value, "ip");
  EXPECT_EQ(report_of("LAPI_USE_SHM").default_value, "yes under a launcher; no for a standalone task");
  EXPECT_EQ(report_of("MP_BULK_MIN_MSG_SIZE").default_value, "153600");
  const SettingReport good = report_of("MP_ACK_THRESH", {{"MP_ACK_THRESH", "5"}});
  EXPECT_EQ(good.present, "5");
  EXPECT_TRUE(good.valid);
  const SettingReport bad = report_of("MP_ACK_THRESH", {{"MP_ACK_THRESH", "500"}});
  EXPECT_EQ(bad.present, "500");
  EXPECT_FALSE(bad.valid);
}

}  // namespace
}  // namespace openlapi
