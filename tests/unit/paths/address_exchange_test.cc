#include "dataplane/paths/address_exchange.h"

#include <gtest/gtest.h>

#include <array>

#include "dataplane/tuning.h"

namespace openlapi {
namespace {

PeerAddress address(unsigned char value, std::uint32_t length = 6) {
  PeerAddress made;
  made.length = length;
  for (std::uint32_t i = 0; i != length; ++i) made.bytes[i] = std::byte{value};
  return made;
}

TEST(AddressNewsTest, ArriveAsTheyWereSent) {
  for (const std::uint32_t length : {1u, 6u, 8u, 32u}) {
    AddressNews sent{.changes = 5, .taken = 1'000'000};
    for (unsigned char n = 0; n != 8; ++n) sent.addresses.push_back({address(n, length), address(n + 100u, length)});
    alignas(8) std::array<std::byte, AddressNews::kMostBytes> bytes;
    const std::size_t size = sent.encode(bytes);
    EXPECT_EQ(size % 8, 0u);
    AddressNews received;
    ASSERT_TRUE(received.decode({bytes.data(), size}));
    EXPECT_EQ(received.changes, 5u);
    EXPECT_EQ(received.taken, 1'000'000u);
    ASSERT_EQ(received.addresses.size(), 8u) << "all adapters of a task";
    EXPECT_EQ(received.addresses[7].published, address(7, length));
    EXPECT_EQ(received.addresses[7].present, address(107, length));
    for (std::size_t shorter = 0; shorter != size; ++shorter) {
      const bool whole = received.decode({bytes.data(), shorter});
      EXPECT_TRUE(!whole || received.addresses.size() < 8) << shorter;
    }
  }
}

TEST(AddressNewsTest, AddressesHaveALength) {
  std::array<std::byte, 96> bytes{};
  AddressNews news;
  EXPECT_FALSE(news.decode(std::span(bytes).first(24))) << "of none";
  bytes[8] = std::byte{PeerAddress::kCapacity + 1};
  bytes[9] = std::byte{1};
  EXPECT_FALSE(news.decode(bytes));
  EXPECT_FALSE(news.decode(std::span(bytes).first(7)));
}

TEST(AddressExchangeTest, TellsUntilItIsTakenIn) {
  AddressExchange exchange;
  EXPECT_EQ(exchange.due(), UINT64_MAX);
  exchange.tell(1);
  EXPECT_EQ(exchange.due(), 1u);
  exchange.sent(1);
  EXPECT_EQ(exchange.due(), 1 + tuning::kFirstProbePause);
  EXPECT_FALSE(exchange.take({.changes = 0, .taken = 1}, 2, 5)) << "the one before";
  EXPECT_TRUE(exchange.tells());
  EXPECT_FALSE(exchange.take({.changes = 0, .taken = 2}, 2, 6));
  EXPECT_FALSE(exchange.tells());
  EXPECT_EQ(exchange.due(), UINT64_MAX);
}

TEST(AddressExchangeTest, GoesOnWhileSomethingWaits) {
  AddressExchange exchange;
  exchange.tell(1);
  Nanoseconds now = 1;
  for (unsigned tries = 0; tries != tuning::kMostAddressTries; ++tries) exchange.sent(now = exchange.due());
  EXPECT_EQ(exchange.due(), UINT64_MAX);
  EXPECT_LT(now, 10 * tuning::kLongestProbePause);
  exchange.go_on(now + 7);
  EXPECT_EQ(exchange.due(), now + 7);
}

TEST(AddressExchangeTest, TakesWhatIsNewAndAnswersWhateverItIs) {
  AddressExchange exchange;
  const AddressNews first{.changes = UINT32_MAX - 1, .addresses = {{address(1), address(2)}}};
  const AddressNews second{.changes = 2, .addresses = {{address(1), address(3)}}};
  EXPECT_TRUE(exchange.take({.changes = INT32_MAX, .addresses = first.addresses}, 0, 1));
  EXPECT_TRUE(exchange.take(first, 0, 1));
  EXPECT_TRUE(exchange.take(second, 0, 2)) << "the number has come round";
  exchange.sent(2);
  EXPECT_EQ(exchange.due(), UINT64_MAX) << "nothing of ours is told";
  EXPECT_FALSE(exchange.take(first, 0, 3)) << "older";
  EXPECT_EQ(exchange.due(), 3u) << "the sender waits for an answer";
  EXPECT_EQ(exchange.taken(), 2u);
  exchange.begin_anew();
  EXPECT_TRUE(exchange.take({.changes = 1, .addresses = first.addresses}, 0, 4)) << "of another incarnation";
}

}  // namespace
}  // namespace openlapi
