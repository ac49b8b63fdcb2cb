// What a lost peer took of this task is given back, all of it: however often peers are lost, as much is accepted
// towards them and others as the first time.
#include <gtest/gtest.h>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/message/record_bytes.h"
#include "dataplane/sync/fences.h"
#include "tests/support/bulk_pair.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kTimeOut = 10 * kSecond;
constexpr std::size_t kPieces = 5000;

enum class What { copies, requests, lists, long_messages };

class GivenBack : public testing::TestWithParam<What> {
 protected:
  GivenBack() : job_(3, config()) {
    job_.start();
    for (std::size_t i = 0; i < kPieces; ++i) {
      here_.push_back(address(&source_[2 * i]));
      there_.push_back(address(&sink_[2 * i]));
    }
  }
  static EndpointConfig config() {
    EndpointConfig config = small_copies();
    config.copy_buffers = 12;
    config.timeout = kTimeOut;
    config.idle_loops_between_timers = 1;
    return config;
  }

  Submit begin(PeerIndex target) {
    ListCursor from(PieceList::of_arrays(here_.data(), lengths_.data(), 8, kPieces));
    ListCursor to(PieceList::of_arrays(there_.data(), lengths_.data(), 8, kPieces));
    switch (GetParam()) {
      case What::copies:
        return job_[0].put({target, address(sink_.data()), source_.data(), 8, 0, 0, 0});
      case What::requests:
        return job_[0].get({target, address(source_.data()), sink_.data(), 8, 0, 0});
      case What::lists:
        return job_[0].get_layout({target, &from, &to, 0, 0});
      case What::long_messages:
        return job_[0].put({target, address(sink_.data()), source_.data(), source_.size(), 0, 0, 0});
    }
    return Submit::unreachable;
  }
  int accepted(PeerIndex target) {
    int count = 0;
    while (count < 100'000 && begin(target) == Submit::accepted) ++count;
    return count;
  }
  void pass(Nanoseconds time) {
    for (Nanoseconds passed = 0; passed < time; passed += tuning::kWatchPeers) {
      job_.clock.advance(tuning::kWatchPeers);
      job_[0].progress();
    }
  }
  static std::uint64_t sum(const PeerLoad& load) {
    return load.requests + load.owed_counters + load.copies + load.kept_bytes + load.backlog + load.things +
           load.bytes + load.early_rounds;
  }

  std::vector<unsigned char> source_ = pattern(2 * kPieces), sink_ = std::vector<unsigned char>(2 * kPieces);
  std::vector<std::uint64_t> here_, there_, lengths_ = std::vector<std::uint64_t>(kPieces, 1);
  Job job_;
};

TEST_P(GivenBack, AsOftenAsAPeerIsLost) {
  int first = 0, first_of_other = 0;
  for (std::size_t losses = 0; losses < 4; ++losses) {
    SCOPED_TRACE(losses);
    for (const PeerIndex peer : {1, 2}) job_.task(peer).transport.set_room(0);
    const int of_victim = accepted(1), of_other = accepted(2);
    if (losses == 0) first = of_victim, first_of_other = of_other;
    EXPECT_GT(of_victim, 0);
    EXPECT_EQ(of_victim, first);
    EXPECT_EQ(of_other, first_of_other);
    EXPECT_GT(sum(job_[0].load(1)), 0u);
    pass(kTimeOut - kSecond);
    EXPECT_EQ(job_.task(0).host.faults.size(), 2 * losses) << "the time-out begins anew with each";
    pass(2 * kSecond);
    EXPECT_EQ(job_.task(0).host.faults.size(), 2 * losses + 2);
    for (const PeerIndex peer : {1, 2}) EXPECT_EQ(sum(job_[0].load(peer)), 0u);
    EXPECT_EQ(job_[0].unfinished().not_taken, 0u);
    EXPECT_TRUE(job_[0].drained());
  }
}

TEST_P(GivenBack, WhenItIsAnswered) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2; ++i) ASSERT_EQ(begin(1), Submit::accepted);
    job_.settle();
    EXPECT_EQ(sum(job_[0].load(1)), 0u);
    EXPECT_EQ(job_[0].unfinished().not_taken, 0u);
  }
}

constexpr const char* kNames[] = {"copies", "requests", "lists", "long_messages"};
INSTANTIATE_TEST_SUITE_P(Of, GivenBack, testing::Values(What::copies, What::requests, What::lists, What::long_messages),
                         [](const auto& info) { return kNames[static_cast<int>(info.param)]; });

class GivenBackToo : public testing::Test {
 protected:
  GivenBackToo() : job_(2, small_copies()) { job_.start(); }

  void send_to_0(const RecordBytes& record) {
    const ConstBuffer piece = record.piece();
    const OutgoingPacket packet{{&piece, 1}, record.length()};
    ASSERT_EQ(job_.task(1).transport.send_burst(0, {&packet, 1}), 1u);
    job_[0].progress();
  }
  std::uint64_t ghosts(PeerIndex task) { return job_[task].statistics(StatisticsPath::network).ghost_packets; }

  Job job_;
  std::vector<unsigned char> source_ = pattern(50'000), sink_ = std::vector<unsigned char>(50'000);
};

// Its fence waits for a message that does not end.
TEST_F(GivenBackToo, WhatAPeerAskedFor) {
  RecordBytes first(wire::RecordKind::put, wire::PutBody{address(sink_.data()), 0, 0});
  first.extend({100, 0, 7, 0}, wire::kFlagLong);
  send_to_0(first);
  EXPECT_EQ(job_[0].load(1).things, 1u);
  send_to_0(RecordBytes(wire::RecordKind::fence_request, wire::FenceBody{1, 5}));
  EXPECT_EQ(job_[0].load(1).things, 2u);
  MemoryTransport& peer = job_.task(1).transport;
  peer.purge_peer(0);
  peer.resume_peer(0);
  send_to_0(RecordBytes(wire::RecordKind::request_refused,
                        wire::RequestRefusedBody{peer.era_with(0), wire::RefusalReason::begins_anew}));
  EXPECT_EQ(job_[0].load(1).things, 0u);
  EXPECT_EQ(peer.waiting(), 1u) << "it begins anew as well";
  send_to_0(RecordBytes(wire::RecordKind::fence_request, wire::FenceBody{0, 6}));
  EXPECT_EQ(peer.waiting(), 2u) << "nothing of its next incarnation is under way";
}

TEST_F(GivenBackToo, AFenceThatWasAnswered) {
  RecordBytes first(wire::RecordKind::put, wire::PutBody{address(sink_.data()), 0, 0});
  first.extend({8, 0, 7, 0}, wire::kFlagLong);
  send_to_0(first);
  for (std::uint32_t ticket = 5; ticket < 8; ++ticket) {
    send_to_0(RecordBytes(wire::RecordKind::fence_request, wire::FenceBody{1, ticket}));
  }
  EXPECT_EQ(job_[0].load(1).things, 4u);
  EXPECT_EQ(job_.task(1).transport.waiting(), 0u);
  RecordBytes rest(wire::RecordKind::data, wire::DataBody{7, 0, 0});
  rest.payload_length(8);
  const ConstBuffer pieces[] = {rest.piece(), {source_.data(), 8}};
  const OutgoingPacket packet{pieces, rest.length() + 8};
  ASSERT_EQ(job_.task(1).transport.send_burst(0, {&packet, 1}), 1u);
  job_[0].progress();
  EXPECT_EQ(job_.task(1).transport.waiting(), 3u) << "an answer to each";
  EXPECT_EQ(job_[0].load(1).things, 0u);
}

// It is asked for once, however many messages begin after it.
TEST_F(GivenBackToo, AFenceThatHadToWait) {
  const auto put = [&] { return job_[0].put({1, address(sink_.data()), source_.data(), source_.size(), 0, 0, 0}); };
  job_.task(1).transport.set_room(2);
  ASSERT_EQ(put(), Submit::accepted);
  ASSERT_EQ(put(), Submit::accepted);
  const FenceTicket ticket = job_[0].fences().begin();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(put(), Submit::accepted);
  job_.settle();
  EXPECT_EQ(job_[0].fences().state(ticket), FenceState::done);
  EXPECT_EQ(ghosts(0), 0u) << "an answer that nobody waited for";
  EXPECT_TRUE(sink_ == source_);
}

// Nor does the next incarnation of a peer hear of a fence that its former one was to be asked for.
TEST_F(GivenBackToo, AFenceThatWasNotAskedFor) {
  job_[0].set_timeout(kTimeOut);
  job_.task(1).transport.set_room(1);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(job_[0].put({1, address(sink_.data()), source_.data(), source_.size(), 0, 0, 0}), Submit::accepted);
  }
  const FenceTicket ticket = job_[0].fences().begin();
  for (int look = 0; look < 200; ++look) {
    job_[0].deadline();
    job_.clock.advance(tuning::kWatchPeers);
    job_[0].progress();
  }
  EXPECT_EQ(job_[0].fences().state(ticket), FenceState::peer_lost);
  job_.task(1).transport.forget_waiting();
  job_.task(1).transport.set_room(64);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(job_[0].put({1, address(sink_.data()), source_.data(), source_.size(), 0, 0, 0}), Submit::accepted);
  }
  job_.settle();
  EXPECT_TRUE(sink_ == source_);
  EXPECT_EQ(ghosts(0), 0u);
}

}  // namespace
}  // namespace openlapi
