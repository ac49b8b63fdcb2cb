// A send window as a test drives it: what is added, leaves and is acknowledged.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "dataplane/reliability/send_window.h"

namespace openlapi {

inline constexpr std::uint32_t kLength = 100;
inline constexpr std::uint64_t kWide = UINT64_MAX;

class SendWindowTest : public testing::Test, private PathTimings {
 protected:
  void add(unsigned count) {
    for (unsigned i = 0; i < count; ++i) window_.add(pool_.take(), kLength, nullptr, 0, ++tag_);
  }

  std::vector<Sequence> transmit(Nanoseconds now, std::uint64_t limit = kWide) {
    std::array<Transmission, 64> burst;
    const std::size_t count = window_.collect(limit, burst);
    window_.transmitted({burst.data(), count}, now);
    std::vector<Sequence> sequences;
    for (std::size_t i = 0; i < count; ++i) sequences.push_back(burst[i].sequence);
    return sequences;
  }

  // What an acknowledgement told of all packets, and of the only path.
  struct Told : AckOutcome, PathNews {};
  Told acknowledge(Sequence cumulative, std::uint64_t selective, Nanoseconds now) {
    return acknowledge(window_, cumulative, selective, now);
  }
  Told acknowledge(SendWindow& window, Sequence cumulative, std::uint64_t selective, Nanoseconds now) {
    const AckOutcome outcome = window.acknowledge(cumulative, selective, {}, timing(now));
    return {outcome, window.news()};
  }
  Told give_up_overtaken(Nanoseconds now) {
    window_.give_up_overtaken(timing(now));
    return {{}, window_.news()};
  }

  AckTiming timing(Nanoseconds now) const { return {.now = now, .paths = *this}; }
  PathTiming timing_of(unsigned) const override {
    return {.shortest_round_trip = shortest_, .reorder_time = kMillisecond, .patience = 2 * kMillisecond};
  }

  std::vector<std::uint64_t> completed(bool acknowledged = true) {
    std::vector<std::uint64_t> tags;
    for (CompletedPacket done; window_.take_completed(done);) {
      EXPECT_EQ(done.acknowledged, acknowledged);
      tags.push_back(done.tag);
    }
    return tags;
  }

  PacketPool pool_{1024, 2048};
  SendWindow window_{pool_};
  std::uint64_t tag_ = 0;
  Nanoseconds shortest_ = 0;
};

using Sequences = std::vector<Sequence>;
using Tags = std::vector<std::uint64_t>;

}  // namespace openlapi
