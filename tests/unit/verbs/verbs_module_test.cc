#include "nic/verbs/verbs_module.h"

#include <gtest/gtest.h>

namespace openlapi::verbs {
namespace {

PortWish parsed(const std::string& text) {
  PortWish wish;
  std::string reason;
  EXPECT_TRUE(parse_wish(text, wish, reason)) << text << ": " << reason;
  return wish;
}

void expect_wish(const std::string& text, const std::string& device, std::uint32_t port, std::int32_t gid_index) {
  const PortWish wish = parsed(text);
  EXPECT_EQ(wish.device, device) << text;
  EXPECT_EQ(wish.port, port) << text;
  EXPECT_EQ(wish.gid_index, gid_index) << text;
}

TEST(VerbsWish, IsADeviceAndPerhapsItsPortAndGid) {
  expect_wish("", "", 0, -1);
  expect_wish("mlx5_0", "mlx5_0", 0, -1);
  expect_wish("mlx5_0:2", "mlx5_0", 2, -1);
  expect_wish("mlx5_0:1:0", "mlx5_0", 1, 0);
  expect_wish("rxe1:255:65535", "rxe1", 255, 65535);
}

TEST(VerbsWish, ThatIsWrongIsExplained) {
  for (const char* text : {":", ":1", "rxe0:", "rxe0:0", "rxe0:256", "rxe0:x", "rxe0:1:", "rxe0:1:-1", "rxe0:1:65536",
                           "rxe0:1:3:4", "rxe0: 1", "rxe0::1"}) {
    PortWish wish{.device = "before"};
    std::string reason;
    EXPECT_FALSE(parse_wish(text, wish, reason)) << text;
    EXPECT_NE(reason.find(text), std::string::npos) << reason;
    EXPECT_NE(reason.find("DEVICE:PORT:GID_INDEX"), std::string::npos) << reason;
    EXPECT_EQ(wish.device, "before") << "nothing is changed";
  }
}

TEST(VerbsModule, RefusesADeviceThatIsNotHere) {
  VerbsModule module;
  const ModuleTransport opened = module.open({.device = "no_such_device", .arguments = {}});
  EXPECT_EQ(opened.transport, nullptr);
  EXPECT_NE(opened.reason, "");
  EXPECT_NE(module.open({.device = "rxe0:1:x", .arguments = {}}).reason.find("'rxe0:1:x'"), std::string::npos);
}

}  // namespace
}  // namespace openlapi::verbs
