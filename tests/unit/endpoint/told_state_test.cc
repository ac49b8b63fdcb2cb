// What an endpoint tells of itself: which operations are complete, what a peer takes of it, how a fence has ended, and
// until when whoever sleeps may sleep.
#include <gtest/gtest.h>

#include "dataplane/layout/vector_cursor.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

std::uint64_t address(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

EndpointConfig config() {
  EndpointConfig config = small_copies();
  config.idle_loops_between_timers = 1;
  return config;
}

class ToldState : public testing::Test {
 protected:
  ToldState() : job_(3, config()) { job_.start(); }

  // Since this was asked before.
  std::pair<std::uint64_t, std::uint64_t> newly_completed() {
    const std::pair before = completed_;
    completed_ = {job_[0].sends_completed(), job_[0].receives_completed()};
    return {completed_.first - before.first, completed_.second - before.second};
  }

  Job job_;
  std::uint64_t word_ = 0, data_ = 1;

 private:
  std::pair<std::uint64_t, std::uint64_t> completed_{};
};

using Sums = std::pair<std::uint64_t, std::uint64_t>;

TEST_F(ToldState, EachOperationIsCompleteOnce) {
  for (const PeerIndex target : {0, 1}) {
    const std::uint64_t self = target == 0;
    ASSERT_EQ(job_[0].put({target, address(&word_), &data_, 8, 0, 0, 0}), Submit::accepted);
    job_.settle();
    EXPECT_EQ(newly_completed(), Sums(1, self)) << "put to " << target;
    ASSERT_EQ(job_[0].get({target, address(&word_), &data_, 8, 0, 0}), Submit::accepted);
    job_.settle();
    EXPECT_EQ(newly_completed().second, 1u) << "get from " << target;
    ASSERT_EQ(
        job_[0].read_modify_write({target, wire::RmwOperation::fetch_and_add, 8, address(&word_), 1, 0, nullptr, 0}),
        Submit::accepted);
    job_.settle();
    EXPECT_EQ(newly_completed().first, 1u) << "read-modify-write of " << target;
    void* from[] = {&data_};
    void* to[] = {&word_};
    const unsigned long lengths[] = {8};
    ListCursor source(PieceList::of_arrays(from, lengths, sizeof(long), 1));
    ListCursor destination(PieceList::of_arrays(to, lengths, sizeof(long), 1));
    ASSERT_EQ(job_[0].put_layout({target, &source, &destination, 0, 0, 0}), Submit::accepted);
    job_.settle();
    EXPECT_EQ(newly_completed(), Sums(1, self)) << "vector to " << target;
    ASSERT_EQ(job_[0].get_layout({target, &destination, &source, 0, 0}), Submit::accepted);
    job_.settle();
    EXPECT_EQ(newly_completed().second, 1u) << "vector from " << target;
  }
}

TEST_F(ToldState, WhatAPeerTakes) {
  job_.task(1).transport.set_room(0);
  std::vector<unsigned char> large(100'000);
  ASSERT_EQ(job_[0].put({1, address(&word_), &data_, 8, 0, 0, 0}), Submit::accepted);
  EXPECT_EQ(job_[0].load(1).copies, 1u);
  EXPECT_EQ(job_[0].load(2).copies, 0u);
  ASSERT_EQ(job_[0].put({1, address(large.data()), large.data(), large.size(), 0, 0, 0}), Submit::accepted);
  EXPECT_GT(job_[0].load(1).kept_bytes, 0u);
  EXPECT_EQ(job_[0].load(2).kept_bytes, 0u);
  job_.task(1).transport.set_room(1000);
  job_.settle();
  EXPECT_EQ(job_[0].load(1).copies, 0u);
  EXPECT_EQ(job_[0].load(1).kept_bytes, 0u);
}

// A packet that carries nothing, and only asks whether the peer takes it, is one all the same.
TEST_F(ToldState, EmptyPacketsAreCounted) {
  job_[0].expect_from(1);
  const auto sent = [&] { return job_[0].statistics(StatisticsPath::shared_memory).packets_sent; };
  for (std::uint64_t asked = 1; asked <= 3; ++asked) {
    job_.clock.advance(tuning::kProbeSilentPeer);
    job_[0].progress();
    EXPECT_EQ(sent(), asked);
    job_[1].progress();
  }
  EXPECT_EQ(job_[1].statistics(StatisticsPath::shared_memory).packets_received, 3u);
  job_[0].expect_no_more_from(1);
}

// Of a fence that waits for the answer of a lost peer, and of one that does not.
TEST_F(ToldState, WhoseFenceALossHasEnded) {
  ASSERT_EQ(job_[0].put({2, address(&word_), &data_, 8, 0, 0, 0}), Submit::accepted);
  const FenceTicket other = job_[0].begin_fence();
  ASSERT_EQ(job_[0].put({1, address(&word_), &data_, 8, 0, 0, 0}), Submit::accepted);
  const FenceTicket lost = job_[0].begin_fence();
  job_.task(0).transport.set_gone(1);
  for (int step = 0; step < 100; ++step) {
    job_.clock.advance(tuning::kWatchPeers);
    job_[0].progress();
  }
  for (int step = 0; step < 100; ++step) {
    job_[2].progress();
    job_[0].progress();
  }
  EXPECT_EQ(job_[0].fence_state(lost), FenceState::peer_lost);
  EXPECT_EQ(job_[0].fence_state(other), FenceState::done);
}

// Whoever sleeps has to look now and then after one that owes an answer, whatever else there is.
TEST_F(ToldState, APeerThatOwesAnAnswerIsLookedAfter) {
  EXPECT_EQ(job_[0].deadline(), UINT64_MAX);
  ASSERT_EQ(job_[0].get({1, address(&word_), &data_, 8, 0, 0}), Submit::accepted);
  EXPECT_LE(job_[0].deadline(), job_.clock.now() + tuning::kWatchPeers);
  job_.settle();
  EXPECT_EQ(job_[0].deadline(), UINT64_MAX);
}

}  // namespace
}  // namespace openlapi
