#include "api/context/path_report.h"

#include <gtest/gtest.h>

#include "api/wiring/job_paths.h"

namespace openlapi {
namespace {

TEST(PathReport, IsALine) {
  PathReport report{.path = "adapter 1 (udp, 10.0.1.1 to 10.0.1.2 port 40000)",
                    .state = "for long messages",
                    .share = 0.126,
                    .packets = 10,
                    .bytes = 1000,
                    .again = 2,
                    .lost = 3,
                    .round_trip = 45.25};
  EXPECT_EQ(
      to_text(report),
      "adapter 1 (udp, 10.0.1.1 to 10.0.1.2 port 40000): for long messages, 13 % of the bytes, 1000 in 10 packets, "
      "2 of them again, 3 lost, round trip 45.2 us");
  report.read = 5'000'000'000;
  EXPECT_TRUE(to_text(report).ends_with("2 of them again, 3 lost, 5000000000 bytes read in bulk, round trip 45.2 us"));
  report.failures = 1;
  EXPECT_NE(to_text(report).find(" 3 lost, failed 1 time, 5000000000"), std::string::npos) << to_text(report);
  report.failures = 2;
  EXPECT_NE(to_text(report).find(" 3 lost, failed 2 times, 5000000000"), std::string::npos) << to_text(report);
  report.round_trip = 0;
  EXPECT_TRUE(to_text(report).ends_with(", round trip not measured"));
}

std::vector<Notice> told;

std::string said(const FailoverMeans& means, const Settings& settings) {
  told.clear();
  testing::internal::CaptureStderr();
  say_what_can_fail_over(means, settings, [](Notice notice, int, const std::string&) { told.push_back(notice); });
  return testing::internal::GetCapturedStderr();
}

TEST(FailoverMeans, OfOneAdapterAreSaidIfSeveralWereAskedFor) {
  Settings settings;
  settings.info_level = kLevelWarning;
  const FailoverMeans one{.task = 3, .adapters = 1, .adapter = "eth0", .adapter_name = nullptr};
  EXPECT_EQ(said(one, settings), "");
  EXPECT_TRUE(told.empty());
  settings.instances = 2;
  EXPECT_NE(said(one, settings).find("what task 3 has is all on one adapter, eth0"), std::string::npos)
      << said(one, settings);
  EXPECT_TRUE(told.empty());
  settings.device = "eth0";
  EXPECT_EQ(said(one, settings), "");
  EXPECT_EQ(told, std::vector(1, Notice::failover_with_named_adapter));
  settings.device = "sn0";
  EXPECT_NE(said(one, settings).find("all on one adapter, eth0"), std::string::npos) << "it names none";
  settings.device = "sn_all";
  settings.instances = 0;
  EXPECT_NE(said(one, settings), "");
  settings.info_level = kLevelError;
  EXPECT_EQ(said(one, settings), "");
}

TEST(FailoverMeans, OfSeveralAdaptersAreProbes) {
  Settings settings;
  settings.info_level = kLevelInformation;
  EXPECT_EQ(said({.adapters = 2, .adapter = "eth0", .adapter_name = nullptr}, settings), "");
  EXPECT_EQ(told, std::vector(1, Notice::failover_without_matrix));
  EXPECT_EQ(said({.adapters = 2, .adapter = "eth0", .adapter_name = nullptr, .followed = true}, settings), "");
  EXPECT_TRUE(told.empty()) << "a daemon has the matrix";
}

}  // namespace
}  // namespace openlapi
