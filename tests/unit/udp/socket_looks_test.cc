// A socket that is silent beside another one is not looked at in every poll, and heard again soon when it is not.
#include "nic/udp/socket_looks.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"
#include "tests/unit/udp/udp_pair.h"

namespace openlapi::test {
namespace {

using udp::SocketLooks;
using udp::SocketsOfContext;

// Two sockets of a context that are polled in turn.
class SilentSocket : public testing::Test {
 protected:
  // `heard` finds something in each poll, the other one nothing.
  void poll(unsigned times, SocketLooks* heard) {
    for (unsigned i = 0; i != times; ++i) {
      for (SocketLooks* looks : {&first_, &second_}) {
        if (looks->is_due()) looks->found(looks == heard);
      }
    }
  }
  std::uint64_t looks_at_second(unsigned times, SocketLooks* heard) {
    const std::uint64_t before = second_.count();
    poll(times, heard);
    return second_.count() - before;
  }

  ManualClock clock_;
  const std::shared_ptr<SocketsOfContext> sockets_ = std::make_shared<SocketsOfContext>();
  SocketLooks first_{sockets_, &clock_};
  SocketLooks second_{sockets_, &clock_};
};

TEST_F(SilentSocket, IsLookedAtAfterPauses) {
  EXPECT_EQ(looks_at_second(SocketLooks::kSilentAfter, &first_), SocketLooks::kSilentAfter);
  EXPECT_EQ(looks_at_second(1000, &first_), 1u);
  clock_.advance(SocketLooks::kPause - 1);
  EXPECT_EQ(looks_at_second(1000, &first_), 0u);
  clock_.advance(1);
  EXPECT_EQ(looks_at_second(1000, &first_), 1u);
}

TEST_F(SilentSocket, IsLookedAtAlwaysByWhoPollsSeldom) {
  poll(SocketLooks::kSilentAfter, &first_);
  for (unsigned i = 0; i != 10; ++i) {
    clock_.advance(SocketLooks::kPause);
    EXPECT_EQ(looks_at_second(1, &first_), 1u);
  }
}

TEST_F(SilentSocket, IsLookedAtAlwaysOnceItHasBroughtSomething) {
  poll(2 * SocketLooks::kSilentAfter, &first_);
  clock_.advance(SocketLooks::kPause);
  poll(1, &second_);
  EXPECT_EQ(looks_at_second(SocketLooks::kSilentAfter - 1, &first_), SocketLooks::kSilentAfter - 1);
}

TEST_F(SilentSocket, IsLookedAtAlwaysWhenTheOtherIsSilentToo) {
  poll(2 * SocketLooks::kSilentAfter, &first_);
  poll(SocketLooks::kSilentAfter, nullptr);
  EXPECT_EQ(looks_at_second(1000, nullptr), 1000u);
}

TEST_F(SilentSocket, IsLookedAtAlwaysWhenNothingHasComeYet) { EXPECT_EQ(looks_at_second(1000, nullptr), 1000u); }

TEST_F(SilentSocket, IsLookedAtAtOnceByWhoHasSlept) {
  poll(2 * SocketLooks::kSilentAfter, &first_);
  second_.look_soon();
  EXPECT_EQ(looks_at_second(1, &first_), 1u);
}

TEST_F(SilentSocket, DoesNotAskOneThatIsGone) {
  {
    SocketLooks third(sockets_, &clock_);
    third.found(true);
  }
  EXPECT_EQ(sockets_->heard_last, nullptr);
}

TEST(LoneSocket, IsLookedAtAlways) {
  for (const auto& sockets : {std::shared_ptr<SocketsOfContext>(), std::make_shared<SocketsOfContext>()}) {
    const ManualClock clock;
    SocketLooks looks(sockets, &clock);
    looks.found(true);
    for (unsigned i = 0; i != 2 * SocketLooks::kSilentAfter; ++i) {
      ASSERT_TRUE(looks.is_due());
      looks.found(false);
    }
  }
}

// Over real sockets: task 1 is reached at the busy one, task 2 at the silent one.
class SilentTransport : public testing::Test {
 protected:
  void SetUp() override {
    UdpConfig config;
    config.sockets = std::make_shared<SocketsOfContext>();
    busy = open_on_loopback(config);
    silent = open_on_loopback(config);
    introduce(*sender, 1, *busy);
    introduce(*sender, 2, *silent);
  }

  std::unique_ptr<UdpTransport> busy, silent;
  const std::unique_ptr<UdpTransport> sender = open_on_loopback();
  std::array<IncomingPacket, 1> packet;
};

// The transport that carries nothing makes a system call per pause, not per poll.
TEST_F(SilentTransport, IsReadSeldomAndHeardSoon) {
  const MonotonicClock clock;
  std::uint64_t looks_before = 0;
  Nanoseconds began = 0;
  constexpr unsigned kExchanges = 10'000;
  for (unsigned i = 0; i != kExchanges + SocketLooks::kSilentAfter; ++i) {
    if (i == SocketLooks::kSilentAfter) {
      looks_before = silent->looks();
      began = clock.now();
    }
    ASSERT_TRUE(send_one(*sender, 1, packet_bytes(i, 8)));
    ASSERT_EQ(receive_copies(*busy, 1).size(), 1u);
    ASSERT_EQ(silent->receive_burst(packet), 0u);
  }
  EXPECT_LE(silent->looks() - looks_before, (clock.now() - began) / SocketLooks::kPause + 1);
  ASSERT_TRUE(send_one(*sender, 2, packet_bytes(0, 8)));
  EXPECT_EQ(receive_copies(*silent, 1).size(), 1u);
}

// Who sleeps is told that something waits, and takes it in with the next poll.
TEST_F(SilentTransport, IsHeardByWhoIsAboutToSleep) {
  for (unsigned i = 0; i != 2 * SocketLooks::kSilentAfter; ++i) silent->receive_burst(packet);
  ASSERT_TRUE(send_one(*sender, 1, packet_bytes(0, 8)));
  ASSERT_EQ(receive_copies(*busy, 1).size(), 1u);
  silent->receive_burst(packet);  // begins a pause
  ASSERT_TRUE(send_one(*sender, 2, packet_bytes(1, 8)));
  EXPECT_FALSE(silent->capabilities().wake_source->arm());
  ASSERT_EQ(silent->receive_burst(packet), 1u);
  silent->release(1);
}

}  // namespace
}  // namespace openlapi::test
