#include "nic/dpdk/used_address.h"

#include <gtest/gtest.h>

#include <optional>

namespace openlapi::dpdk {
namespace {

constexpr MacAddress kOne{2, 13, 0, 0, 0, 1}, kOther{2, 13, 0, 0, 0, 2};
constexpr std::uint32_t kAddress = 0x0a000005;  // 10.0.0.5

TEST(UsedAddress, IsOneAdaptersUntilItsEnd) {
  std::string user;
  std::optional<UsedAddress> first(std::in_place);
  UsedAddress second;
  ASSERT_TRUE(first->take(kAddress, kOne, "net_af_packet0", user));
  EXPECT_FALSE(second.take(kAddress, kOther, "net_af_packet1", user));
  EXPECT_EQ(user, "net_af_packet0");
  EXPECT_TRUE(second.take(kAddress + 1, kOther, "net_af_packet1", user));
  first.reset();
  EXPECT_TRUE(second.take(kAddress, kOther, "net_af_packet1", user));
}

TEST(UsedAddress, TwoPortsOfOneInterfaceHaveTheSame) {
  std::string user;
  UsedAddress first, second;
  EXPECT_TRUE(first.take(kAddress, kOne, "net_af_packet0", user));
  EXPECT_TRUE(second.take(kAddress, kOne, "net_af_packet1", user));
}

}  // namespace
}  // namespace openlapi::dpdk
