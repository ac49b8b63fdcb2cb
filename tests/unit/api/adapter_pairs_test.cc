// Which adapters of two tasks are the ends of a path, where their nodes do not have the same ones.
#include "api/wiring/adapter_pairs.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace openlapi {
namespace {

using Adapters = std::vector<ChosenAdapter>;
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

ChosenAdapter adapter(const char* address, const char* mask = "255.255.255.0") {
  return {{inet_addr(address)}, {inet_addr(mask)}};
}

// As the task with the lower number finds them; the other one finds the same.
Pairs pairs(const Adapters& lower, const Adapters& higher) {
  Pairs found, found_there;
  for (const AdapterPair& pair : pair_adapters(lower, higher, true)) found.emplace_back(pair.here, pair.there);
  for (const AdapterPair& pair : pair_adapters(higher, lower, false)) found_there.emplace_back(pair.there, pair.here);
  EXPECT_EQ(found, found_there);
  return found;
}

TEST(AdapterPairs, AreOfTheSameNumberOnLikeNodes) {
  EXPECT_EQ(pairs({adapter("10.0.0.1"), adapter("10.0.1.1")}, {adapter("10.0.0.2"), adapter("10.0.1.2")}),
            (Pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(pairs({adapter("10.0.0.1"), adapter("10.0.0.2")}, {adapter("10.0.0.3"), adapter("10.0.0.4")}),
            (Pairs{{0, 0}, {1, 1}}));
}

TEST(AdapterPairs, AreOfOneNetworkWhereANodeLacksOne) {
  EXPECT_EQ(pairs({adapter("10.0.0.1"), adapter("10.0.1.1")}, {adapter("10.0.1.2")}), (Pairs{{1, 0}}));
  EXPECT_EQ(pairs({adapter("10.0.1.2")}, {adapter("10.0.0.1"), adapter("10.0.1.1")}), (Pairs{{0, 1}}));
  EXPECT_EQ(pairs({adapter("172.17.0.1"), adapter("192.168.1.1")}, {adapter("192.168.1.2"), adapter("192.168.2.2")}),
            (Pairs{{1, 0}, {0, 1}}));
}

TEST(AdapterPairs, GoByOrderBetweenNetworksThatOnlyRoutersConnect) {
  EXPECT_EQ(pairs({adapter("10.0.0.1"), adapter("10.0.1.1")}, {adapter("10.1.0.1"), adapter("10.1.1.1")}),
            (Pairs{{0, 0}, {1, 1}}));
  const char* const alone = "255.255.255.255";
  EXPECT_EQ(pairs({adapter("10.0.0.1", alone)}, {adapter("10.0.0.2", alone)}), (Pairs{{0, 0}}));
}

TEST(AdapterPairs, GoByOrderBetweenAdaptersThatTellNoNetwork) {
  const ChosenAdapter unknown{};
  EXPECT_EQ(pairs({adapter("10.0.0.1"), unknown}, {unknown, unknown}), (Pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(pairs({unknown, unknown}, {unknown, adapter("10.0.0.1")}), (Pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(pairs({adapter("10.0.0.1"), unknown}, {unknown, adapter("10.0.0.2")}), (Pairs{{0, 1}, {1, 0}}));
  const ChosenAdapter infiniband{{}, {}, {0xfe, 0x80}};
  EXPECT_EQ(pairs({unknown, infiniband}, {infiniband, unknown}), (Pairs{{1, 0}, {0, 1}}));
}

TEST(AdapterPairs, AreTheSameForBothWhereMasksDiffer) {
  const Adapters wide = {adapter("10.0.0.1", "255.0.0.0"), adapter("10.0.1.1", "255.0.0.0")};
  EXPECT_EQ(pairs(wide, {adapter("10.0.1.2"), adapter("10.0.0.2")}), (Pairs{{0, 1}, {1, 0}}));
  EXPECT_EQ(pairs({adapter("10.0.1.2"), adapter("10.0.0.2")}, wide), (Pairs{{0, 1}, {1, 0}}));
}

TEST(ChosenAdapters, AreReadAsTheyWereWritten) {
  const Adapters written = {adapter("10.0.0.1"), adapter("192.168.7.9", "255.255.0.0")};
  Adapters read;
  std::string reason;
  ASSERT_TRUE(decode(encode(written), read, reason));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].address.s_addr, written[1].address.s_addr);
  EXPECT_EQ(read[1].mask.s_addr, written[1].mask.s_addr);
}

TEST(ChosenAdapters, OfNoneOrOfTooManyAreRefused) {
  Adapters read;
  for (const std::size_t bytes : {0u, 7u, 12u, 72u}) {
    std::string reason;
    EXPECT_FALSE(decode(std::vector<std::byte>(bytes), read, reason));
    EXPECT_EQ(reason, "the task published adapters of " + std::to_string(bytes) + " bytes");
  }
}

}  // namespace
}  // namespace openlapi
