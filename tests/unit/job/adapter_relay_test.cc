#include "control/job/pmix/adapter_relay.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

using namespace std::chrono_literals;
using Clock = AdapterRelay::Clock;

AdapterAddress address(std::size_t number) {
  AdapterAddress bytes{};
  bytes[0] = static_cast<std::uint8_t>(number);
  bytes[1] = static_cast<std::uint8_t>(number >> 8);
  return bytes;
}
AdapterEvent down(std::size_t number) { return {{{address(number), false}}}; }
AdapterEvent up(std::size_t number) { return {{{address(number), true}}}; }

class AdapterRelayTest : public testing::Test {
 protected:
  AdapterRelay relay_{};
  Clock::time_point now_{1000s};
};

TEST_F(AdapterRelayTest, NewsGoOnOnce) {
  EXPECT_FALSE(relay_.take(0, up(1), now_)) << "nobody has said anything else";
  EXPECT_EQ(relay_.take(0, down(1), now_), down(1));
  EXPECT_FALSE(relay_.take(1, down(1), now_)) << "another task of the node sees the same";
  EXPECT_EQ(relay_.take(1, (AdapterEvent{{{address(1), false}, {address(2), false}}}), now_), down(2));
  EXPECT_EQ(relay_.take(1, up(1), now_), up(1));
  EXPECT_FALSE(relay_.take(0, up(1), now_));
}

TEST_F(AdapterRelayTest, ATaskThatStormsIsHeardNoFaster) {
  unsigned passed = 0;
  for (unsigned n = 0; n < 1000; ++n) passed += relay_.take(0, n % 2 == 0 ? down(1) : up(1), now_).has_value();
  EXPECT_EQ(passed, AdapterRelay::kMostAtOnce);
  EXPECT_TRUE(relay_.take(1, down(2), now_)) << "others are";
  EXPECT_FALSE(relay_.take(0, down(3), now_ + AdapterRelay::kPause - 1ms));
  EXPECT_TRUE(relay_.take(0, down(3), now_ + AdapterRelay::kPause));
  EXPECT_FALSE(relay_.take(0, down(4), now_ + AdapterRelay::kPause));
  passed = 0;
  for (unsigned n = 0; n < 1000; ++n) passed += relay_.take(0, n % 2 == 0 ? down(5) : up(5), now_ + 1h).has_value();
  EXPECT_EQ(passed, AdapterRelay::kMostAtOnce) << "what was not used is no credit for ever";
}

TEST_F(AdapterRelayTest, RemembersSoManyAdaptersAndNoMore) {
  for (std::size_t n = 0; n < AdapterRelay::kMostAdapters; ++n) {
    now_ += AdapterRelay::kPause;
    EXPECT_TRUE(relay_.take(0, down(n), now_)) << n;
  }
  now_ += AdapterRelay::kPause;
  EXPECT_FALSE(relay_.take(0, down(AdapterRelay::kMostAdapters), now_));
  EXPECT_TRUE(relay_.take(0, up(7), now_ + AdapterRelay::kPause)) << "of those that are known the news go on";
}

}  // namespace
}  // namespace openlapi
