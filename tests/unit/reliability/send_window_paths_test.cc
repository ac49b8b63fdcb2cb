// A send window whose packets leave over several paths: each path has its own order, flight and losses.
#include <array>
#include <vector>

#include "tests/unit/reliability/send_window_fixture.h"

namespace openlapi {
namespace {

class SendWindowPaths : public SendWindowTest {
 protected:
  SendWindowPaths() {
    window_.add_path();
    window_.add_path();
  }

  Sequences transmit_over(unsigned path, std::size_t most, Nanoseconds now, std::uint64_t limit = kWide) {
    std::array<Transmission, 64> burst;
    const std::size_t count = window_.collect(limit, std::span(burst).first(most), path);
    window_.transmitted({burst.data(), count}, now, path);
    Sequences sequences;
    for (std::size_t i = 0; i < count; ++i) sequences.push_back(burst[i].sequence);
    return sequences;
  }
};

TEST_F(SendWindowPaths, EachPathHasAFlightOfItsOwn) {
  add(5);
  EXPECT_EQ(transmit_over(0, 2, 0), (Sequences{0, 1}));
  EXPECT_EQ(transmit_over(2, 64, 1), (Sequences{2, 3, 4}));
  EXPECT_EQ(window_.in_flight_bytes(0), 2 * kLength);
  EXPECT_EQ(window_.in_flight_bytes(1), 0u);
  EXPECT_EQ(window_.in_flight_bytes(2), 3 * kLength);
  EXPECT_EQ(window_.outstanding_bytes(), 5 * kLength);
  acknowledge(3, 0, 50);
  EXPECT_EQ(window_.in_flight_bytes(0), 0u);
  EXPECT_EQ(window_.in_flight_bytes(2), 2 * kLength);
  EXPECT_EQ(window_.news(0).bytes, 2 * kLength);
  EXPECT_EQ(window_.news(0).round_trip, 50u);
  EXPECT_EQ(window_.news(1).bytes, 0u);
  EXPECT_EQ(window_.news(2).bytes, kLength);
  EXPECT_EQ(window_.news(2).round_trip, 49u);
}

TEST_F(SendWindowPaths, EachPathHasAWindowOfItsOwn) {
  add(6);
  EXPECT_EQ(transmit_over(0, 64, 0, 2 * kLength), (Sequences{0, 1}));
  EXPECT_FALSE(window_.has_transmission(2 * kLength, 0));
  EXPECT_TRUE(window_.has_transmission(2 * kLength, 1));
  EXPECT_EQ(transmit_over(1, 64, 0, 3 * kLength), (Sequences{2, 3, 4}));
}

TEST_F(SendWindowPaths, WhatArrivedOverAnotherPathHasOvertakenNothing) {
  add(8);
  transmit_over(0, 1, 0);
  transmit_over(1, 64, 0);
  const Told told = acknowledge(0, 0b1111111, 10);
  EXPECT_FALSE(told.lost);
  EXPECT_EQ(told.recheck_at, UINT64_MAX) << "not even after a while";
  EXPECT_FALSE(window_.anything_unsent());
}

TEST_F(SendWindowPaths, ArrivalsAreCountedForTheirPath) {
  add(9);
  for (unsigned i = 0; i < 9; ++i) transmit_over(i % 3, 1, 0);
  // Path 0 has 0, 3, 6, and so on: 0 and 1 are missing, and too little of their paths has arrived for a loss.
  Told told = acknowledge(0, 0b11111110, 10);
  EXPECT_FALSE(told.lost);
  EXPECT_FALSE(window_.anything_unsent());
  add(3);
  for (unsigned i = 0; i < 3; ++i) transmit_over(i % 3, 1, 0);
  told = acknowledge(0, 0b1'1111'1110, 20);  // 9, of path 0
  EXPECT_TRUE(told.lost);
  EXPECT_FALSE(window_.news(1).lost);
  EXPECT_EQ(transmit_over(1, 64, 30), (Sequences{0})) << "again, over any path";
  EXPECT_EQ(acknowledge(12, 0, 40).bytes, 0u);
  EXPECT_EQ(window_.news(1).bytes, 3 * kLength)
      << "0, 1, 10: what was sent again counts for the path that took it last";
  EXPECT_EQ(window_.news(2).bytes, kLength);
}

TEST_F(SendWindowPaths, ATimeOutOfOnePathLosesNothingOfTheOthers) {
  add(6);
  for (unsigned i = 0; i < 6; ++i) transmit_over(i % 2, 1, i);
  EXPECT_TRUE(window_.waits_for(0));
  EXPECT_FALSE(window_.waits_for(1));
  EXPECT_TRUE(window_.timed_out(3, 1));
  EXPECT_EQ(window_.in_flight_bytes(0), 3 * kLength);
  EXPECT_EQ(transmit_over(0, 64, 10), (Sequences{1, 3})) << "5 was sent later";
  EXPECT_FALSE(window_.timed_out(10, 2)) << "it has nothing on the way";
}

TEST_F(SendWindowPaths, TheOldestPacketTimesOutOnItsPathWheneverItWasSent) {
  add(2);
  transmit_over(1, 1, 100);
  transmit_over(0, 1, 0);
  EXPECT_FALSE(window_.timed_out(50, 2));
  EXPECT_TRUE(window_.timed_out(50, 1));
  EXPECT_FALSE(window_.timed_out(50, 1)) << "it waits to be sent again";
  EXPECT_TRUE(window_.timed_out(50, 0));
  EXPECT_EQ(transmit_over(2, 64, 200), (Sequences{0, 1}));
  EXPECT_TRUE(window_.waits_for(2));
}

// Also while the oldest of them waits to be sent again.
TEST_F(SendWindowPaths, AllThatAPathHasInFlightIsLostWhenItIsGivenUp) {
  add(5);
  transmit_over(0, 64, 0);
  ASSERT_TRUE(window_.timed_out(0, 0));
  EXPECT_EQ(transmit_over(0, 3, 10), (Sequences{0, 1, 2}));
  ASSERT_TRUE(window_.timed_out(5, 0)) << "the oldest one, and none of the others";
  EXPECT_EQ(window_.in_flight_bytes(0), 2 * kLength);
  window_.give_up_path(0);
  EXPECT_EQ(window_.in_flight_bytes(0), 0u);
  EXPECT_EQ(transmit_over(1, 64, 20), (Sequences{0, 1, 2, 3, 4}));
}

TEST_F(SendWindowPaths, WhatIsLostIsCountedForThePathThatHasLostIt) {
  add(4);
  transmit_over(0, 3, 0);
  transmit_over(1, 1, 0);
  ASSERT_TRUE(window_.timed_out(0, 0));
  EXPECT_EQ(window_.traffic(0).lost, 3u);
  EXPECT_EQ(transmit_over(1, 64, 10), (Sequences{0, 1, 2}));
  window_.give_up_path(1);
  EXPECT_EQ(window_.traffic(0).lost, 3u);
  EXPECT_EQ(window_.traffic(1).lost, 4u);
  EXPECT_EQ(window_.traffic(1).again, 3u);
  EXPECT_EQ(transmit_over(2, 64, 20), (Sequences{0, 1, 2, 3}));
  window_.resend_all();
  EXPECT_EQ(window_.traffic(2).lost, 0u) << "it was turned away";
}

TEST_F(SendWindowPaths, ACutOfOneWindowIsNoneOfTheOthers) {
  add(10);
  for (unsigned i = 0; i < 10; ++i) transmit_over(i % 2, 1, 0);
  acknowledge(0, 0b1'0101'0100, 10);  // 3, 5, 7, 9 have arrived, 1 not
  EXPECT_TRUE(window_.news(1).lost);
  EXPECT_FALSE(window_.news(0).lost);
  window_.mark_recovery(1);
  acknowledge(0, 0b1'1111'1110, 20);  // all but 0 and 1
  EXPECT_TRUE(window_.news(0).lost);
  EXPECT_FALSE(window_.news(1).lost);
}

// Where a link on the way takes no long packets.
TEST_F(SendWindowPaths, ShortPacketsDoNotShowThatAPathCarriesLongOnes) {
  const auto send_over_first = [&](std::uint32_t length, Nanoseconds now) {
    window_.add(pool_.take(), length, nullptr, 0, ++tag_);
    transmit_over(0, 1, now);
  };
  send_over_first(kLength, 0);
  EXPECT_TRUE(acknowledge(1, 0, 10).carried);
  send_over_first(kLength, 20);
  window_.give_up_path(0);
  EXPECT_EQ(transmit_over(1, 1, 30), (Sequences{1}));
  send_over_first(kLength - 1, 30);
  EXPECT_FALSE(acknowledge(3, 0, 40).carried);
  EXPECT_NE(window_.news(0).round_trip, 0u);
  send_over_first(kLength, 50);
  EXPECT_TRUE(acknowledge(4, 0, 60).carried);
  send_over_first(kLength - 1, 70);
  EXPECT_TRUE(acknowledge(5, 0, 80).carried);
}

TEST_F(SendWindowPaths, NewsAreOfThePathsThatCarried) {
  add(3);
  transmit_over(1, 1, 0);
  transmit_over(2, 1, 0);
  acknowledge(1, 0, 10);
  EXPECT_EQ(window_.told(), 0b011u) << "the first one always";
  acknowledge(2, 0, 20);
  EXPECT_EQ(window_.told(), 0b101u);
  transmit_over(1, 1, 30);
  acknowledge(3, 0, 40);
  EXPECT_EQ(window_.told(), 0b011u);
  EXPECT_EQ(window_.news(1).bytes, kLength) << "of this acknowledgement alone";
  EXPECT_EQ(window_.news(1).in_flight, kLength) << "before it";
}

TEST_F(SendWindowPaths, AbandoningForgetsAllFlights) {
  add(4);
  for (unsigned i = 0; i < 4; ++i) transmit_over(i % 2, 1, 0);
  window_.abandon();
  EXPECT_EQ(window_.in_flight_bytes(0), 0u);
  EXPECT_EQ(window_.in_flight_bytes(1), 0u);
  add(1);
  EXPECT_EQ(transmit_over(1, 64, 10), (Sequences{4}));
  EXPECT_EQ(window_.in_flight_bytes(1), kLength);
}

}  // namespace
}  // namespace openlapi
