// What LAPI_Init returns for each kind of failure.
#include "api/context/open_error.h"

#include <gtest/gtest.h>

#include <set>

namespace openlapi {
namespace {

TEST(OpenError, EachKindOfFailureHasACodeOfItsOwn) {
  std::set<int> codes;
  for (auto kind = FailureKind::none; kind <= FailureKind::exchange;
       kind = static_cast<FailureKind>(static_cast<int>(kind) + 1)) {
    EXPECT_TRUE(codes.insert(code_of(kind)).second) << static_cast<int>(kind);
  }
  EXPECT_EQ(code_of(FailureKind::none), LAPI_SUCCESS);
  EXPECT_EQ(code_of(FailureKind::setting), LAPI_ERR_SET_VAL);
  EXPECT_EQ(code_of(FailureKind::message_interfaces), LAPI_ERR_MSG_API);
  EXPECT_EQ(code_of(FailureKind::packet_size), LAPI_ERR_UDP_PKT_SZ);
  EXPECT_EQ(code_of(FailureKind::network_statement), LAPI_ERR_NO_NETSTR_SET);
  EXPECT_EQ(code_of(FailureKind::transport), LAPI_ERR_CSS_LOAD_FAILED);
}

TEST(OpenError, KeepsTheTextOfTheFailure) {
  OpenError error;
  EXPECT_FALSE(fail(error, OpenFailure{FailureKind::port, "port_no is 0"}));
  EXPECT_EQ(error.code, LAPI_ERR_UDP_PORT_INFO);
  EXPECT_EQ(error.text, "port_no is 0");
}

TEST(OpenError, TransportsOfUserSpaceAreDevicesOfLapi) {
  EXPECT_EQ(device_of("verbs"), LAPI_DEV_VERBS);
  EXPECT_EQ(device_of("dpdk"), LAPI_DEV_DPDK);
  EXPECT_EQ(device_of("tomorrow's"), LAPI_DEV_NONE);
}

}  // namespace
}  // namespace openlapi
