// Two tasks over UDP whose users have given them different keys: each is told, and refuses after the time-out. Nobody
// who sends such packets beside a task that has been heard, or is heard in time, can bring that about. Time is virtual.
#include <gtest/gtest.h>

#include <memory>

#include "dataplane/tuning.h"
#include "tests/support/socket_task.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kStep = 20'000'000;
constexpr Nanoseconds kTimeout = EndpointConfig{}.timeout;
constexpr SipKey kOtherKey{3, 4};

class OtherSecret : public testing::Test {
 protected:
  // All who have begun.
  void pass(Nanoseconds time) {
    for (Nanoseconds end = clock_.now() + time; clock_.now() < end; clock_.advance(kStep)) {
      for (SocketTask* task : {&first_, &second_, stranger_.get()}) {
        if (task != nullptr && task->endpoint != nullptr) task->endpoint->progress();
      }
    }
  }

  // Somebody with another key who says that he is task 1.
  void begin_stranger(in_addr_t address) {
    stranger_ = std::make_unique<SocketTask>(address, clock_);
    stranger_->start(1, kOtherKey, *first_.transport);
    stranger_->put_to(0);
  }

  TurnedClock clock_;
  SocketTask first_{kAddresses[0], clock_}, second_{kAddresses[1], clock_};
  std::unique_ptr<SocketTask> stranger_;
};

TEST_F(OtherSecret, BothAreToldOnceAndRefuse) {
  first_.start(0, kKey, *second_.transport);
  second_.start(1, kOtherKey, *first_.transport);
  first_.put_to(1);  // the other one sends nothing, and waits
  pass(2 * kSecond);
  EXPECT_TRUE(first_.host.warnings.empty() && second_.host.warnings.empty()) << "a late packet of a former job";
  pass(10 * kSecond);
  EXPECT_EQ(first_.host.warnings, std::vector<PeerIndex>{1});
  EXPECT_EQ(second_.host.warnings, std::vector<PeerIndex>{0});
  pass(kTimeout - 15 * kSecond);
  EXPECT_TRUE(first_.host.faults.empty() && second_.host.faults.empty());
  pass(10 * kSecond);
  EXPECT_EQ(first_.host.faults, (Faults{{Fault::other_secret, 1}}));
  EXPECT_EQ(second_.host.faults, (Faults{{Fault::other_secret, 0}}));
  EXPECT_EQ(first_.host.warnings.size() + second_.host.warnings.size(), 2u);
}

TEST_F(OtherSecret, WhoWasHeardIsNotDoubted) {
  first_.start(0, kKey, *second_.transport);
  second_.start(1, kKey, *first_.transport);
  first_.put_to(1);
  pass(kSecond);
  begin_stranger(kAddresses[1]);
  pass(200 * kSecond);
  EXPECT_GT(first_.endpoint->statistics(StatisticsPath::network).ghost_packets, 100u);
  EXPECT_TRUE(first_.host.warnings.empty() && first_.host.faults.empty());
}

TEST_F(OtherSecret, WhoHasNotTalkedYetIsAskedAndHeard) {
  first_.start(0, kKey, *second_.transport);
  second_.start(1, kKey, *first_.transport);
  begin_stranger(kAddresses[1]);
  pass(200 * kSecond);
  EXPECT_TRUE(first_.host.warnings.empty() && first_.host.faults.empty());
  EXPECT_TRUE(second_.host.warnings.empty() && second_.host.faults.empty());
}

// A stranger shortens nobody's time to come.
TEST_F(OtherSecret, WhoComesInTimeIsHeardBesideAStranger) {
  first_.start(0, kKey, *second_.transport);
  begin_stranger(kAddresses[1]);
  pass(kTimeout - 10 * kSecond);
  EXPECT_EQ(first_.host.warnings, std::vector<PeerIndex>{1});
  second_.start(1, kKey, *first_.transport);
  second_.put_to(0);
  pass(200 * kSecond);
  EXPECT_TRUE(first_.host.faults.empty());
  EXPECT_TRUE(second_.host.faults.empty() && second_.host.warnings.empty());
}

TEST_F(OtherSecret, TheTimeoutIsTheUsers) {
  first_.start(0, kKey, *second_.transport);
  first_.endpoint->set_timeout(20 * kSecond);
  begin_stranger(kAddresses[1]);
  pass(19 * kSecond);
  EXPECT_TRUE(first_.host.faults.empty());
  pass(2 * kSecond);
  EXPECT_EQ(first_.host.faults, (Faults{{Fault::other_secret, 1}}));
}

TEST_F(OtherSecret, NobodyElsewhereBringsItAbout) {
  first_.start(0, kKey, *second_.transport);
  begin_stranger(kElsewhere);
  pass(200 * kSecond);
  EXPECT_TRUE(first_.host.warnings.empty() && first_.host.faults.empty());
}

TEST_F(OtherSecret, WhereALauncherGivesTheKeyThereAreOnlyStrangers) {
  first_.start(0, kKey, *second_.transport, false);
  begin_stranger(kAddresses[1]);
  pass(200 * kSecond);
  EXPECT_TRUE(first_.host.warnings.empty() && first_.host.faults.empty());
}

}  // namespace
}  // namespace openlapi
