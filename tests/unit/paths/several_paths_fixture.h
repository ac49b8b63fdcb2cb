// Channels between two tasks that reach each other over two transports, of which each may go silent in each direction.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/channel_side.h"

namespace openlapi {

using Bytes = ChannelSide::Bytes;

class SeveralPathsTest : public testing::Test {
 protected:
  SeveralPathsTest() : a_(0, config(), clock_), b_(1, config(), clock_) {
    for (ChannelSide* side : {&a_, &b_}) {
      side->other_transport.make_lossy(0, 1);
      for (MemoryTransport* transport : {&side->transport, &side->other_transport}) transport->set_room(10'000);
    }
    ChannelSide::connect_over_both(a_, b_);
  }
  static EndpointConfig config() {
    EndpointConfig config;
    config.timeout = 10 * kSecond;
    config.key_may_differ = true;
    return config;
  }

  void silence(MemoryTransport& sender, bool on = true) { sender.make_lossy(on ? 1 : 0, 1); }
  void send(unsigned char what) {
    ASSERT_TRUE(a_.send(Bytes(8, what)));
    sent_.insert(sent_.end(), 8, what);
  }
  // What is on the way arrives, and is answered.
  void exchange() {
    for (int i = 0; i < 4; ++i) {
      for (ChannelSide* side : {&b_, &a_}) {
        side->set.receive();
        side->transmit();
      }
    }
  }
  void pass(Nanoseconds time) {
    clock_.advance(time);
    for (ChannelSide* side : {&a_, &b_}) side->set.run_timers(clock_.now());
    exchange();
  }
  // Several records may share a packet.
  bool all_delivered() const {
    Bytes all;
    for (const Bytes& packet : b_.delivered) all.insert(all.end(), packet.begin(), packet.end());
    return all == sent_;
  }
  void expect_all_delivered() {
    exchange();
    pass(kMillisecond);
    EXPECT_TRUE(all_delivered());
    EXPECT_TRUE(a_.set.settled());
  }
  // Until the time-out of the path, which was used before, has surely run out.
  void let_time_out() { pass(tuning::kShortestRetransmitTimeout); }
  // Where packets have come before; what was sent meanwhile has arrived over the second one.
  void lose_the_first_path() {
    send(1);
    expect_all_delivered();
    silence(a_.transport);
    send(2);
    let_time_out();
    expect_all_delivered();
  }
  // Longer than the time-out, while the answer to a packet is under way.
  void be_away() {
    silence(b_.transport);
    send(2);
    pass(kMillisecond);
    silence(b_.transport, false);
    pass(11 * kSecond);
  }
  void expect_next_over_the_first() {
    const std::uint64_t before = arrived_over_second();
    send(3);
    expect_all_delivered();
    EXPECT_EQ(arrived_over_second(), before);
  }
  std::uint64_t arrived_over_second() const { return b_.other_transport.counters().packets_received; }

  TurnedClock clock_;
  ChannelSide a_, b_;
  Bytes sent_;
};

}  // namespace openlapi
