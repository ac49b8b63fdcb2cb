// What a step says that it has moved, when the next one has something to do, and until when none has: whoever waits
// polls, or sleeps, by these.
#include <gtest/gtest.h>

#include "tests/support/bulk_pair.h"

namespace openlapi {
namespace {

constexpr std::size_t kLong = 6 * tuning::kAttachPiece;

// Task 1 is the one whose steps are looked at. Its header handler drops what comes as long as `drops_`.
class Steps : public testing::Test {
 protected:
  Steps() : job_(2, small_copies()) {
    for (PeerIndex i = 0; i < 2; ++i) job_.task(i).transport.make_readable();
    job_.start();
    job_.task(1).host.on_header = [&](const ArrivedMessage&) {
      ++asked_;
      return HeaderVerdict{drops_ ? Delivery::drop : Delivery::bury};
    };
  }
  Endpoint& mine() { return job_[1]; }
  Nanoseconds now() const { return job_.clock.now(); }

  void send_message() {
    ASSERT_EQ(job_[0].active_message({1, 1, nullptr, 0, source_.data(), 8, 0, 0, 0}), Submit::accepted);
  }
  // Is read by task 1, a piece in each step.
  void begin_long_put() {
    ASSERT_EQ(job_[0].put({1, address(sink_.data()), source_.data(), kLong, 0, 0, 0}), Submit::accepted);
    EXPECT_NE(mine().progress(), 0u);
    EXPECT_TRUE(mine().has_work());
  }
  void put_back(std::size_t room) {
    job_.task(0).transport.set_room(room);
    ASSERT_EQ(mine().put({0, address(&word_), source_.data(), 8, 0, 0, 0}), Submit::accepted);
  }

  Job job_;
  std::vector<unsigned char> source_ = pattern(kLong), sink_ = std::vector<unsigned char>(kLong);
  std::uint64_t word_ = 0;
  bool drops_ = false;
  unsigned asked_ = 0;
};

TEST_F(Steps, AnIdleOneMovesNothing) {
  EXPECT_EQ(mine().progress(), 0u);
  mine().hold_arrivals(true);
  send_message();
  EXPECT_EQ(mine().progress(), 0u);
  EXPECT_EQ(asked_, 0u);
  mine().hold_arrivals(false);
  EXPECT_EQ(mine().progress(), 1u);
  EXPECT_EQ(asked_, 1u);
  EXPECT_EQ(mine().progress(), 0u);
  EXPECT_FALSE(mine().has_work());
  EXPECT_EQ(mine().deadline(), UINT64_MAX);
}

TEST_F(Steps, ARefusedMessageIsOfferedWhenSomethingArrivesOrItIsTime) {
  drops_ = true;
  send_message();
  mine().progress();
  EXPECT_FALSE(mine().has_work()) << "all were offered";
  EXPECT_EQ(mine().deadline(), now() + tuning::kRetryRefused);
  const auto asked_in = [&](int steps) {
    asked_ = 0;
    for (int step = 0; step < steps; ++step) EXPECT_EQ(mine().progress(), 0u);
    return asked_;
  };
  asked_in(1);
  EXPECT_EQ(asked_in(10), 0u);
  job_.clock.advance(tuning::kRetryRefused - 1);
  EXPECT_EQ(asked_in(10), 0u);
  job_.clock.advance(1);
  EXPECT_EQ(asked_in(10), 1u);
  job_.clock.advance(tuning::kRetryRefused);
  EXPECT_EQ(asked_in(10), 1u);
  ASSERT_EQ(job_[0].put({1, address(&word_), source_.data(), 8, 0, 0, 0}), Submit::accepted);
  asked_ = 0;
  EXPECT_EQ(mine().progress(), 1u);
  EXPECT_EQ(asked_, 1u);
  drops_ = false;
  job_.clock.advance(tuning::kRetryRefused);
  EXPECT_EQ(mine().progress(), 1u);
  EXPECT_EQ(mine().deadline(), UINT64_MAX);
}

// More than a step offers: the next one has work at once.
TEST_F(Steps, RefusedMessagesThatWereNotOfferedYetAreWork) {
  job_.task(1).transport.set_room(1000);
  drops_ = true;
  const unsigned many = static_cast<unsigned>(tuning::kRetriesPerStep) + 36;
  for (unsigned i = 0; i < many; ++i) send_message();
  for (unsigned step = 0; step < 20; ++step) mine().progress();
  asked_ = 0;
  job_.clock.advance(tuning::kRetryRefused);
  mine().progress();
  EXPECT_EQ(asked_, tuning::kRetriesPerStep);
}

// Two things that move are no nothing.
TEST_F(Steps, CountWhatIsReadBesideWhatLeavesOrIsDelivered) {
  drops_ = true;
  send_message();
  put_back(0);
  begin_long_put();
  job_.clock.advance(tuning::kRetryRefused);
  EXPECT_EQ(mine().progress(), 1u) << "a piece";
  job_.clock.advance(tuning::kRetryRefused);
  drops_ = false;
  EXPECT_EQ(mine().progress(), 2u) << "a piece, and a message delivered";
  job_.task(0).transport.set_room(10);
  EXPECT_EQ(mine().progress(), 2u) << "a piece, and a record that has found room";
  EXPECT_EQ(mine().progress(), 1u);
}

TEST_F(Steps, ARecordThatWaitsForRoomIsLookedAtSoon) {
  put_back(0);
  EXPECT_EQ(mine().progress(), 0u);
  EXPECT_FALSE(mine().has_work()) << "nothing moves as long as the peer takes nothing";
  EXPECT_EQ(mine().deadline(), now() + tuning::kLookForRoom);
  job_.task(0).transport.set_room(10);
  EXPECT_EQ(mine().progress(), 1u);
  EXPECT_EQ(mine().deadline(), UINT64_MAX) << "nothing waits any more";
}

// Who has slept makes a single step, and looks after those who owe it an answer.
TEST_F(Steps, OneStepAfterSleepingLooksAfterPeers) {
  ASSERT_EQ(mine().get({0, address(&word_), source_.data(), 8, 0, 0}), Submit::accepted);
  job_.task(1).transport.set_gone(0);
  for (int look = 0; look < 3 && job_.task(1).host.faults.empty(); ++look) {
    EXPECT_EQ(mine().deadline(), now() + tuning::kWatchPeers);
    job_.clock.advance(tuning::kWatchPeers);
    mine().progress();
  }
  EXPECT_EQ(job_.task(1).host.faults, std::vector(1, std::pair(Fault::no_connectivity, PeerIndex{0})));
}

TEST_F(Steps, ALossIsSomethingThatMoved) {
  ASSERT_EQ(mine().get({0, address(&word_), source_.data(), 8, 0, 0}), Submit::accepted);
  job_.task(1).transport.set_gone(0);
  bool told = false;
  for (int look = 0; look < 3 && !told; ++look) {
    mine().deadline();
    job_.clock.advance(tuning::kWatchPeers);
    const unsigned moved = mine().progress();
    told = !job_.task(1).host.faults.empty();
    EXPECT_EQ(moved, told ? 1u : 0u);
  }
  EXPECT_TRUE(told);
}

// The adapter's endings, each as one, and the look for them.
TEST(BulkSteps, AReadThatEndsIsSomethingThatMoved) {
  BulkPair pair(true);
  pair.adapters[1].holds_endings = true;
  pair.adapters[1].longest = 25'000;
  pair.job.start();
  const std::vector<unsigned char> source = pattern(50'000);
  std::vector<unsigned char> sink(source.size());
  ASSERT_EQ(pair.job[0].put({1, address(sink.data()), source.data(), source.size(), 0, 0, 0}), Submit::accepted);
  pair.job.settle();
  Endpoint& reader = pair.job[1];
  EXPECT_EQ(reader.deadline(), pair.job.clock.now() + tuning::kLookForEndings);
  ASSERT_EQ(pair.adapters[1].under_way.size(), 2u);
  EXPECT_EQ(reader.progress(), 0u);
  pair.adapters[1].end(0, true);
  EXPECT_EQ(reader.progress(), 1u);
  pair.adapters[1].end(0, true);
  EXPECT_EQ(reader.progress(), 2u) << "and the message";
  EXPECT_EQ(reader.progress(), 0u);
  pair.job.settle();
  EXPECT_TRUE(sink == source);
}

}  // namespace
}  // namespace openlapi
