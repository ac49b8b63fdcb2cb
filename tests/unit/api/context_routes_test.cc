#include "api/context_routes.h"

#include <gtest/gtest.h>

#include <cstring>

namespace openlapi {
namespace {

PublishedAddress some_address() {
  PublishedAddress published;
  published.epoch = 0x01020304;
  std::memcpy(published.address.bytes.data(), "abcdef", 6);
  published.address.length = 6;
  return published;
}

TEST(PublishedAddress, CarriesTheEpochInFrontOfTheAddress) {
  const std::vector<std::byte> bytes = encode(some_address());
  ASSERT_EQ(bytes.size(), 10u);
  EXPECT_EQ(std::memcmp(bytes.data(), "\4\3\2\1abcdef", 10), 0);
  PublishedAddress read;
  std::string reason;
  ASSERT_TRUE(decode(bytes, read, reason));
  EXPECT_EQ(read.epoch, 0x01020304u);
  ASSERT_EQ(read.address.length, 6u);
  EXPECT_EQ(std::memcmp(read.address.bytes.data(), "abcdef", 6), 0);
}

TEST(PublishedAddress, RefusesWhatHoldsNoAddressOrTooLongOne) {
  PublishedAddress read;
  std::string reason;
  for (const std::size_t length : {std::size_t{0}, std::size_t{3}, PeerAddress::kCapacity + 5}) {
    reason.clear();
    EXPECT_FALSE(decode(std::vector<std::byte>(length), read, reason)) << length;
    EXPECT_NE(reason.find(std::to_string(length) + " bytes"), std::string::npos) << reason;
  }
  EXPECT_TRUE(decode(std::vector<std::byte>(PeerAddress::kCapacity + 4), read, reason));
  EXPECT_EQ(read.address.length, PeerAddress::kCapacity);
}

TEST(PublishedAddress, SaysThatTheTaskHasNone) {
  PublishedAddress read;
  std::string reason;
  EXPECT_FALSE(decode(encode({.epoch = 7, .address = {}}), read, reason));
  EXPECT_EQ(reason, "the task has none");
}

}  // namespace
}  // namespace openlapi
