// What an endpoint tells of itself: which operations are complete, what a peer takes of it, how a fence has ended, and
// until when whoever sleeps may sleep.
#include <gtest/gtest.h>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/sync/collectives.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

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
    completed_ = {job_[0].completed().sends, job_[0].completed().receives};
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

// With the origin as sent, with the target as received.
TEST_F(ToldState, EachMessageIsCompleteOnceOnBothSides) {
  for (const PeerIndex target : {0, 1}) {
    job_.task(target).host.on_header = [this](const ArrivedMessage&) {
      return HeaderVerdict{Delivery::deliver, CompletionStyle::thread, &word_, nullptr, nullptr};
    };
    StridedCursor source(address(&data_), 8);
    for (const bool layout : {false, true}) {
      const std::uint64_t sent = job_[0].completed().sends, received = job_[target].completed().receives;
      const Submit answer = layout ? job_[0].layout_message({target, 1, nullptr, 0, &source, false, 0, 0, 0})
                                   : job_[0].active_message({target, 1, nullptr, 0, &data_, 8, 0, 0, 0});
      ASSERT_EQ(answer, Submit::accepted);
      job_.settle();
      EXPECT_EQ(job_[0].completed().sends, sent + 1) << "message to " << target;
      EXPECT_EQ(job_[target].completed().receives, received + 1) << "message to " << target;
    }
  }
}

TEST_F(ToldState, PacketsAreCountedByWhoSendsAndByWhoReceivesThem) {
  for (std::uint64_t sent = 1; sent <= 3; ++sent) {
    ASSERT_EQ(job_[0].put({1, address(&word_), &data_, 8, 0, 0, 0}), Submit::accepted);
    job_.settle();
    EXPECT_EQ(job_[0].statistics(StatisticsPath::shared_memory).packets_sent, sent);
    EXPECT_EQ(job_[1].statistics(StatisticsPath::shared_memory).packets_received, sent);
  }
}

// A fence waits for messages to oneself that had to wait before it began, and for none after it.
TEST_F(ToldState, WhichOwnMessagesAFenceWaitsFor) {
  std::size_t accepted = 0;
  job_.task(0).host.on_header = [&](const ArrivedMessage& message) {
    const Delivery delivery = message.length <= accepted ? Delivery::deliver : Delivery::drop;
    return HeaderVerdict{delivery, CompletionStyle::thread, &word_, nullptr, nullptr};
  };
  const auto retry = [&](std::size_t up_to) {
    accepted = up_to;
    job_.clock.advance(tuning::kRetryRefused);
    job_.settle();
  };
  ASSERT_EQ(job_[0].active_message({0, 1, nullptr, 0, &data_, 4, 0, 0, 0}), Submit::accepted);
  const FenceTicket fence = job_[0].fences().begin();
  ASSERT_EQ(job_[0].active_message({0, 1, nullptr, 0, &data_, 8, 0, 0, 0}), Submit::accepted);
  retry(0);
  EXPECT_EQ(job_[0].fences().state(fence), FenceState::pending);
  retry(4);
  EXPECT_EQ(job_[0].fences().state(fence), FenceState::done);
  retry(8);
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
    const MemoryTransport::Copies packets = job_.task(1).transport.take_waiting();
    EXPECT_EQ(packets, MemoryTransport::Copies(1));
    const OutgoingPacket empty{{}, 0};
    job_.task(0).transport.send_burst(1, {&empty, 1});
    job_[1].progress();
  }
  EXPECT_EQ(job_[1].statistics(StatisticsPath::shared_memory).packets_received, 3u);
  job_[0].expect_no_more_from(1);
}

// Of a fence that waits for the answer of a lost peer, and of one that does not.
TEST_F(ToldState, WhoseFenceALossHasEnded) {
  ASSERT_EQ(job_[0].put({2, address(&word_), &data_, 8, 0, 0, 0}), Submit::accepted);
  const FenceTicket other = job_[0].fences().begin();
  ASSERT_EQ(job_[0].put({1, address(&word_), &data_, 8, 0, 0, 0}), Submit::accepted);
  const FenceTicket lost = job_[0].fences().begin();
  job_.task(0).transport.set_gone(1);
  for (int step = 0; step < 100; ++step) {
    job_.clock.advance(tuning::kWatchPeers);
    job_[0].progress();
  }
  for (int step = 0; step < 100; ++step) {
    job_[2].progress();
    job_[0].progress();
  }
  EXPECT_EQ(job_[0].fences().state(lost), FenceState::peer_lost);
  EXPECT_EQ(job_[0].fences().state(other), FenceState::done);
}

// Of two fences, the later of which waits for more.
TEST_F(ToldState, WhomAFenceWaitsFor) {
  const auto put = [&](PeerIndex target) {
    ASSERT_EQ(job_[0].put({target, address(&word_), &data_, 8, 0, 0, 0}), Submit::accepted);
  };
  const auto awaited = [&](const FenceTicket& ticket) {
    PeerIndex peer = kUnknownPeer;
    EXPECT_EQ(job_[0].fences().state(ticket, &peer), FenceState::pending);
    return peer;
  };
  put(2);
  const FenceTicket early = job_[0].fences().begin();
  put(1);
  const FenceTicket late = job_[0].fences().begin();
  EXPECT_EQ(awaited(early), 2u);
  job_[2].progress();
  job_[0].progress();
  EXPECT_EQ(job_[0].fences().state(early), FenceState::done);
  EXPECT_EQ(awaited(late), 1u);
  ASSERT_EQ(job_[0].get({1, address(&word_), &data_, 8, 0, 0}), Submit::accepted);
  const FenceTicket of_get = job_[0].fences().begin();
  EXPECT_EQ(awaited(of_get), 1u) << "also for the put";
  job_.settle();
  for (const FenceTicket& ticket : {late, of_get}) EXPECT_EQ(job_[0].fences().state(ticket), FenceState::done);
  EXPECT_EQ(job_[0].fences().state(job_[0].fences().begin()), FenceState::done) << "all is known to be in place";
  ASSERT_EQ(job_[0].get({1, address(&word_), &data_, 8, 0, 0}), Submit::accepted);
  EXPECT_EQ(awaited(job_[0].fences().begin()), kUnknownPeer) << "it waits for an answer to a get";
}

TEST_F(ToldState, AFenceWaitsForAMessageToOneself) {
  Delivery delivery = Delivery::drop;
  job_.task(0).host.on_header = [&](const ArrivedMessage&) { return HeaderVerdict{delivery}; };
  ASSERT_EQ(job_[0].active_message({0, 1, nullptr, 0, &data_, 8, 0, 0, 0}), Submit::accepted);
  const FenceTicket fence = job_[0].fences().begin();
  EXPECT_EQ(job_[0].fences().state(fence), FenceState::pending);
  delivery = Delivery::bury;
  job_.clock.advance(tuning::kRetryRefused);
  job_[0].progress();
  EXPECT_EQ(job_[0].fences().state(fence), FenceState::done);
}

TEST_F(ToldState, ExpectationsNest) {
  for (int i = 0; i < 2; ++i) job_[0].expect_from(1);
  job_[0].expect_no_more_from(1);
  EXPECT_EQ(job_[0].deadline(), job_.clock.now() + tuning::kWatchPeers);
  for (int i = 0; i < 2; ++i) {
    job_[0].expect_no_more_from(1);
    EXPECT_EQ(job_[0].deadline(), UINT64_MAX) << "once too often is nothing";
  }
  job_[0].expect_from(0);
  EXPECT_EQ(job_[0].deadline(), UINT64_MAX) << "nobody waits for himself";
}

// Not a nanosecond before, and also when it is set anew.
TEST_F(ToldState, ATimeOutLastsAsLongAsItIsSet) {
  constexpr Nanoseconds kTimeOut = 5 * kSecond;
  job_[0].set_timeout(kTimeOut);
  job_.task(1).transport.set_room(0);
  ASSERT_EQ(job_[0].put({1, address(&word_), &data_, 8, 0, 0, 0}), Submit::accepted);
  job_[0].progress();  // sees that it waits
  job_.clock.advance(kTimeOut - 1);
  job_[0].progress();
  EXPECT_TRUE(job_.task(0).host.faults.empty());
  job_.clock.advance(tuning::kWatchPeers);
  job_[0].progress();
  EXPECT_EQ(job_.task(0).host.faults, std::vector(1, std::pair(Fault::timeout, PeerIndex{1})));
}

// A peer that left in order owes nothing that it knows of; what it is asked all the same, and what a collective needs
// of it, will not come.
TEST_F(ToldState, WhoLeavesInOrderIsLostToThoseWhoWaitForIt) {
  job_.task(0).transport.set_gone(2, true);
  const auto pass = [&] {
    for (int step = 0; step < 10; ++step) {
      job_.clock.advance(tuning::kWatchPeers);
      job_[0].progress();
    }
  };
  auto& faults = job_.task(0).host.faults;
  job_[0].expect_from(1);
  job_[0].collectives().begin_barrier();  // waits for task 2
  pass();
  EXPECT_EQ(faults, std::vector(1, std::pair(Fault::no_connectivity, PeerIndex{2})));
  faults.clear();
  ASSERT_EQ(job_[0].get({2, address(&word_), &data_, 8, 0, 0}), Submit::accepted);
  pass();
  EXPECT_EQ(faults, std::vector(1, std::pair(Fault::no_connectivity, PeerIndex{2})));
}

// Whoever sleeps has to look now and then after one that owes an answer, whatever else there is.
TEST_F(ToldState, APeerThatOwesAnAnswerIsLookedAfter) {
  EXPECT_EQ(job_[0].deadline(), UINT64_MAX);
  ASSERT_EQ(job_[0].get({1, address(&word_), &data_, 8, 0, 0}), Submit::accepted);
  EXPECT_LE(job_[0].deadline(), job_.clock.now() + tuning::kWatchPeers);
  job_.settle();
  EXPECT_EQ(job_[0].deadline(), UINT64_MAX);
}

TEST_F(ToldState, ThereIsAlwaysRoomForAnswersToOneself) { EXPECT_TRUE(job_[0].reply_has_room(0)); }

}  // namespace
}  // namespace openlapi
