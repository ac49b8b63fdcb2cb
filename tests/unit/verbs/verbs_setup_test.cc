// What a machine without the wanted device says. tests/beds/verbs_devices_test.cc has the rest, on real devices.
#include <gtest/gtest.h>

#include "nic/verbs/verbs_ports.h"
#include "nic/verbs/verbs_transport.h"

namespace openlapi {
namespace {

TEST(VerbsSetup, SaysThatThereIsNoSuchDevice) {
  VerbsConfig config;
  config.port.device = "no_such_device";
  VerbsSetupError error;
  EXPECT_EQ(open_verbs_transport(config, error), nullptr);
  EXPECT_EQ(error.kind, VerbsSetupError::Kind::no_device);
  EXPECT_NE(error.text.find("no RDMA device"), std::string::npos) << error.text;
}

TEST(VerbsSetup, RefusesAnMtuThatIsTooSmall) {
  VerbsConfig config;
  config.mtu = 1000;
  VerbsSetupError error;
  EXPECT_EQ(open_verbs_transport(config, error), nullptr);
  EXPECT_EQ(error.kind, VerbsSetupError::Kind::bad_size);
  EXPECT_EQ(error.text, "MTU 1000: at least 1024 is needed");
}

TEST(VerbsSetup, ReportsPortsOrSaysThatThereAreNone) {
  std::string reason;
  const bool none = verbs::report_ports({}, reason).empty();
  EXPECT_EQ(none, !reason.empty()) << reason;
}

}  // namespace
}  // namespace openlapi
