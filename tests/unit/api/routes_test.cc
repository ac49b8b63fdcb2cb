#include "api/wiring/routes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace openlapi {
namespace {

PublishedAddress some_address() {
  PublishedAddress published;
  published.epoch = 0x060501020304;
  published.tags = true;
  std::memcpy(published.address.bytes.data(), "abcdef", 6);
  published.address.length = 6;
  return published;
}

TEST(PublishedAddress, CarriesEpochAndTagsInFrontOfTheAddress) {
  const std::vector<std::byte> bytes = encode(some_address());
  ASSERT_EQ(bytes.size(), 15u);
  EXPECT_EQ(std::memcmp(bytes.data(), "\4\3\2\1\5\6\0\0\1abcdef", 15), 0);
  PublishedAddress read;
  std::string reason;
  ASSERT_TRUE(decode(bytes, read, reason));
  EXPECT_EQ(read.epoch, 0x060501020304u);
  EXPECT_TRUE(read.tags);
  ASSERT_EQ(read.address.length, 6u);
  EXPECT_EQ(std::memcmp(read.address.bytes.data(), "abcdef", 6), 0);
}

TEST(PublishedAddress, RefusesWhatHoldsNoAddressOrTooLongOne) {
  PublishedAddress read;
  std::string reason;
  for (const std::size_t length : {std::size_t{0}, std::size_t{3}, PeerAddress::kCapacity + 10}) {
    reason.clear();
    EXPECT_FALSE(decode(std::vector<std::byte>(length), read, reason)) << length;
    EXPECT_NE(reason.find(std::to_string(length) + " bytes"), std::string::npos) << reason;
  }
  EXPECT_TRUE(decode(std::vector<std::byte>(PeerAddress::kCapacity + 9), read, reason));
  EXPECT_EQ(read.address.length, PeerAddress::kCapacity);
}

TEST(PublishedAddress, SaysThatTheTaskHasNone) {
  PublishedAddress read;
  std::string reason;
  EXPECT_FALSE(decode(encode({.epoch = 7, .address = {}, .tags = true}), read, reason));
  EXPECT_EQ(reason, "the task has none");
}

TEST(ContextRoutes, SaysOnceThatThereIsNoWay) {
  const std::map<std::string, const char*> environment{{"MP_CHILD", "0"}, {"MP_PROCS", "2"}, {"MP_PARTITION", "7"}};
  const auto read = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second;
  };
  std::string error;
  bool missing = false;
  const std::shared_ptr<Bootstrap> task = open_standalone_bootstrap(read, std::nullopt, error, missing);
  ASSERT_TRUE(task) << error;
  testing::internal::CaptureStderr();
  {
    ContextRoutes routes(task, {}, {}, {}, 0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(routes.resolve(1).count, 0u);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "openlapi: task 0 has no way to task 1: the task is on another node and no network transport is open\n");
}

}  // namespace
}  // namespace openlapi
