#include "api/context/path_report.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

TEST(PathReport, IsALine) {
  PathReport report{.path = "adapter 1 (udp, 10.0.1.1 to 10.0.1.2 port 40000)",
                    .state = "standby",
                    .share = 0.126,
                    .packets = 10,
                    .bytes = 1000,
                    .again = 2,
                    .round_trip = 45.25};
  EXPECT_EQ(
      to_text(report),
      "adapter 1 (udp, 10.0.1.1 to 10.0.1.2 port 40000): standby, 13 % of the bytes, 10 packets, 2 of them again, "
      "round trip 45.2 us");
  report.round_trip = 0;
  EXPECT_TRUE(to_text(report).ends_with(", round trip not measured"));
}

}  // namespace
}  // namespace openlapi
