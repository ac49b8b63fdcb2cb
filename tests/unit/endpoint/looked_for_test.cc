// A transport may need seconds to find out whether it can serve a peer: nobody else waits for that.
#include <gtest/gtest.h>

#include "dataplane/sync/collectives.h"
#include "dataplane/tuning.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

constexpr PeerIndex kSelf = 0, kLookedFor = 1, kOther = 2;

class LookedFor : public testing::Test {
 protected:
  LookedFor() : job_(3, config()) {
    for (PeerIndex i = 0; i < 3; ++i) job_.task(i).transport.make_lossy(0, 1);
    self().looked_for = kLookedFor;
    job_.start();
  }

  static EndpointConfig config() {
    EndpointConfig config;
    config.job_key = {0x1234, 0};
    config.idle_loops_between_timers = 1;
    return config;
  }

  Task& self() { return job_.task(kSelf); }
  void found() { self().looked_for = kUnknownPeer; }
  void not_found() {
    found();
    self().out_of_reach = kLookedFor;
  }
  Submit put(PeerIndex target) {
    return job_[kSelf].put({target, address(&sinks_[target]), &value_, sizeof(value_), 0, 0, 0});
  }
  void run(Nanoseconds time) {
    for (Nanoseconds passed = 0; passed < time; passed += kMillisecond) {
      job_.settle();
      job_.clock.advance(kMillisecond);
    }
  }
  void begin_barrier() {
    for (PeerIndex i = 0; i < 3; ++i) job_[i].collectives().begin_barrier();
  }
  CollectiveState barrier(PeerIndex task) { return job_[task].collectives().state(); }

  Job job_;
  const std::uint64_t value_ = 77;
  std::array<std::uint64_t, 3> sinks_{};
};

TEST_F(LookedFor, IsAskedForAgainWhileOthersAreReached) {
  EXPECT_EQ(put(kLookedFor), Submit::busy);
  ASSERT_EQ(put(kOther), Submit::accepted);
  run(kSecond);
  EXPECT_EQ(sinks_[kOther], value_);
  EXPECT_EQ(put(kLookedFor), Submit::busy);
  found();
  ASSERT_EQ(put(kLookedFor), Submit::accepted);
  run(kSecond);
  EXPECT_EQ(sinks_[kLookedFor], value_);
}

TEST_F(LookedFor, WithoutAWayIsRefusedAsAnyOther) {
  EXPECT_EQ(put(kLookedFor), Submit::busy);
  not_found();
  EXPECT_EQ(put(kLookedFor), Submit::unreachable);
  EXPECT_TRUE(self().host.faults.empty());
}

TEST_F(LookedFor, IsFoundAlthoughNobodyAsksAgain) {
  EXPECT_EQ(put(kLookedFor), Submit::busy);
  EXPECT_LE(job_[kSelf].deadline(), job_.clock.now() + tuning::kLookForPeer) << "who sleeps looks in time";
  found();
  run(10 * kMillisecond);
  EXPECT_TRUE(job_[kSelf].peers().knows(kLookedFor));
  EXPECT_GT(job_[kSelf].deadline(), job_.clock.now() + tuning::kLookForPeer);
}

// What it sends meanwhile comes again.
TEST_F(LookedFor, SendsWhatIsTakenOnceItIsFound) {
  std::uint64_t sink = 0;
  ASSERT_EQ(job_[kLookedFor].put({kSelf, address(&sink), &value_, sizeof(value_), 0, 0, 0}), Submit::accepted);
  run(kSecond);
  EXPECT_EQ(sink, 0u);
  found();
  run(kSecond);
  EXPECT_EQ(sink, value_);
}

TEST_F(LookedFor, GetsTheMessagesOfACollectiveOnceItIsFound) {
  begin_barrier();
  run(2 * kSecond);
  EXPECT_EQ(barrier(kLookedFor), CollectiveState::pending);
  EXPECT_FALSE(job_[kSelf].drained()) << "it has a message for that one";
  found();
  run(kSecond);
  for (PeerIndex i = 0; i < 3; ++i) EXPECT_EQ(barrier(i), CollectiveState::done) << i;
  EXPECT_TRUE(job_[kSelf].drained());
  EXPECT_TRUE(self().host.faults.empty());
}

TEST_F(LookedFor, IsMissedByACollectiveOnceItIsNotFound) {
  begin_barrier();
  run(kSecond);
  EXPECT_EQ(barrier(kSelf), CollectiveState::pending);
  not_found();
  run(kSecond);
  EXPECT_EQ(barrier(kSelf), CollectiveState::peer_lost);
  ASSERT_FALSE(self().host.faults.empty());
  EXPECT_EQ(self().host.faults.front(), std::pair(Fault::no_connectivity, kLookedFor));
  EXPECT_EQ(job_[kSelf].unfinished().not_taken, 0u);
}

TEST_F(LookedFor, IsPurgedAndResumedAsAnyOther) {
  EXPECT_EQ(put(kLookedFor), Submit::busy);
  job_[kSelf].purge(kLookedFor);
  EXPECT_EQ(put(kLookedFor), Submit::purged);
  job_[kSelf].resume(kLookedFor, 8);
  EXPECT_EQ(put(kLookedFor), Submit::busy);
  found();
  EXPECT_EQ(put(kLookedFor), Submit::accepted);
}

}  // namespace
}  // namespace openlapi
