// The numbers that an endpoint tells of itself: what others have not taken, what they take of it, how long messages and
// packets may be, and what was sent in which way.
#include <gtest/gtest.h>

#include <functional>

#include "dataplane/message/record_bytes.h"
#include "dataplane/sync/collectives.h"
#include "dataplane/sync/fences.h"
#include "tests/support/bulk_pair.h"

namespace openlapi {
namespace {

constexpr std::uint32_t kMaxPacket = 1023;  // no multiple of 8: records are

class ToldNumbers : public testing::TestWithParam<bool> {
 protected:
  ToldNumbers() : job_(3, small_copies(), kMaxPacket) {
    for (PeerIndex i = 0; i < 3; ++i) {
      if (!reliable()) job_.task(i).transport.make_lossy(0, 1);
      job_.task(i).epoch_of_peers = 1;
    }
    job_.start();
  }
  static bool reliable() { return GetParam(); }

  Submit put(PeerIndex target, std::size_t length = 8, std::uint64_t completion = 0) {
    return job_[0].put({target, address(sink_.data()), source_.data(), length, 0, 0, completion});
  }
  MessageStatistics told(PeerIndex task) {
    return job_[task].statistics(reliable() ? StatisticsPath::shared_memory : StatisticsPath::network);
  }

  Job job_;
  std::vector<unsigned char> source_ = pattern(100'000), sink_ = std::vector<unsigned char>(100'000);
  std::uint64_t word_ = 0;
};

TEST_P(ToldNumbers, HowLongIsWhatFitsAPacket) {
  const std::uint32_t record = reliable() ? kMaxPacket / 8 * 8 : kMaxPacket / 8 * 8 - 56;
  EXPECT_EQ(job_[0].sizes().packet_payload, record - 32);
  EXPECT_EQ(job_[0].sizes().user_header, std::min((record - 56) / 8 * 8, tuning::kMaxUserHeader));
  EXPECT_EQ(job_[0].sizes().packets_out, reliable() ? tuning::kDirectPacketsOut : tuning::kMostPacketsInFlight);
  const std::uint64_t before = told(0).packets_sent;
  ASSERT_EQ(put(1, record - 32), Submit::accepted);
  job_[0].flush();
  EXPECT_EQ(told(0).packets_sent - before, 1u);
  job_.settle();
  ASSERT_EQ(put(1, record - 31), Submit::accepted);
  job_[0].progress();
  EXPECT_EQ(told(0).packets_sent - before, 3u);
}

TEST_P(ToldNumbers, WhatNobodyHasTaken) {
  EXPECT_EQ(job_[0].unfinished().not_taken, 0u);
  for (const PeerIndex peer : {1, 2}) job_.task(peer).transport.set_room(0);
  ASSERT_EQ(put(1), Submit::accepted);
  EXPECT_EQ(job_[0].unfinished().not_taken, 1u);
  ASSERT_EQ(put(1), Submit::accepted);
  ASSERT_EQ(put(2), Submit::accepted);
  EXPECT_EQ(job_[0].unfinished().not_taken, 3u);
  EXPECT_FALSE(job_[0].drained());
  for (const PeerIndex peer : {1, 2}) job_.task(peer).transport.set_room(1000);
  job_.settle();
  for (const PeerIndex peer : {1, 2}) EXPECT_TRUE(job_[peer].drained()) << "and acknowledges";
  job_.settle();
  EXPECT_EQ(job_[0].unfinished().not_taken, 0u);
  EXPECT_TRUE(job_[0].drained());
}

TEST_P(ToldNumbers, WhatAPeerTakes) {
  job_.task(1).transport.set_room(0);
  ASSERT_EQ(put(1, 8, address(&word_)), Submit::accepted);
  ASSERT_EQ(put(1), Submit::accepted);
  ASSERT_EQ(job_[0].get({1, address(source_.data()), sink_.data(), 8, 0, 0}), Submit::accepted);
  EXPECT_EQ(job_[0].load(1).owed_counters, 1u);
  EXPECT_EQ(job_[0].load(1).requests, 1u);
  EXPECT_EQ(job_[0].load(1).backlog, reliable() ? 3u : 0u);
  EXPECT_EQ(job_[0].load(2).owed_counters + job_[0].load(2).requests + job_[0].load(2).backlog, 0u);
  job_.task(1).transport.set_room(1000);
  job_.settle();
  EXPECT_EQ(job_[0].load(1).owed_counters + job_[0].load(1).requests + job_[0].load(1).backlog, 0u);
  EXPECT_EQ(word_ & UINT32_MAX, 1u);
}

// A message that its header handler drops, and a round of a collective that has not begun here.
TEST_P(ToldNumbers, WhatIsKeptForAPeer) {
  job_.task(1).host.on_header = [](const ArrivedMessage&) { return HeaderVerdict{Delivery::drop}; };
  for (const std::size_t length : {8u, 500u}) {
    ASSERT_EQ(job_[0].active_message({1, 1, nullptr, 0, source_.data(), length, 0, 0, 0}), Submit::accepted);
  }
  job_[0].collectives().begin_barrier();
  job_[0].progress();
  job_[1].progress();
  EXPECT_EQ(job_[1].load(0).things, 2u);
  EXPECT_GE(job_[1].load(0).bytes, 508u);
  EXPECT_LE(job_[1].load(0).bytes, 508u + 1000u);
  EXPECT_EQ(job_[1].load(0).early_rounds, 1u);
  EXPECT_EQ(job_[1].load(2).things + job_[1].load(2).bytes + job_[1].load(2).early_rounds, 0u);
  job_.task(1).host.on_header = [](const ArrivedMessage&) { return HeaderVerdict{Delivery::bury}; };
  for (const PeerIndex task : {1, 2}) job_[task].collectives().begin_barrier();
  job_.clock.advance(tuning::kRetryRefused);
  job_.settle();
  EXPECT_EQ(job_[1].load(0).things + job_[1].load(0).bytes + job_[1].load(0).early_rounds, 0u);
}

// Who is waited for, and has been heard, is asked for a sign of life now and then.
TEST_P(ToldNumbers, HowOftenASilentPeerIsAsked) {
  ASSERT_EQ(put(1), Submit::accepted);
  job_.settle();
  const std::uint64_t before = told(0).packets_sent;
  job_[0].expect_from(1);
  for (Nanoseconds passed = 0; passed < 10 * tuning::kProbeSilentPeer; passed += tuning::kWatchPeers) {
    job_.clock.advance(tuning::kWatchPeers);
    for (PeerIndex i = 0; i < 2; ++i) job_[i].deadline(), job_[i].progress();
  }
  EXPECT_GE(told(0).packets_sent - before, 5u);
  EXPECT_LE(told(0).packets_sent - before, 21u) << "and acknowledgements";
}

// What only LAPI_Term waits for.
TEST_P(ToldNumbers, WhatIsNotAnsweredAndWhatItRefusesOfItsOwn) {
  job_.task(0).host.on_header = [](const ArrivedMessage&) { return HeaderVerdict{Delivery::drop}; };
  ASSERT_EQ(job_[0].active_message({0, 1, nullptr, 0, source_.data(), 8, 0, 0, 0}), Submit::accepted);
  EXPECT_EQ(job_[0].unfinished().not_accepted_of_own, 1u);
  EXPECT_EQ(job_[0].unfinished().not_answered, 0u);
  ASSERT_EQ(job_[0].get({1, address(source_.data()), sink_.data(), 8, 0, 0}), Submit::accepted);
  ASSERT_EQ(job_[0].read_modify_write({1, wire::RmwOperation::fetch_and_add, 8, address(&word_), 1, 0, nullptr, 0}),
            Submit::accepted);
  EXPECT_EQ(job_[0].unfinished().not_answered, 2u);
  job_.settle();
  EXPECT_EQ(job_[0].unfinished().not_answered, 0u);
  EXPECT_EQ(job_[0].unfinished().not_accepted_of_own, 1u);
  EXPECT_TRUE(job_[0].drained()) << "others have all";
  job_.task(0).host.on_header = [](const ArrivedMessage&) { return HeaderVerdict{Delivery::bury}; };
  job_.clock.advance(tuning::kRetryRefused);
  job_.settle();
  EXPECT_EQ(job_[0].unfinished().not_accepted_of_own, 0u);
}

// Answers to nothing that was asked: each is one, whichever way it comes.
TEST_P(ToldNumbers, AnswersThatNobodyWaitsFor) {
  if (!reliable()) return;
  const RecordBytes wrong[] = {RecordBytes(wire::RecordKind::fence_reply, wire::FenceBody{1, 77}),
                               RecordBytes(wire::RecordKind::attach_done, wire::AttachDoneBody{77, {}})};
  std::uint64_t count = 0;
  for (const RecordBytes& record : wrong) {
    const ConstBuffer piece = record.piece();
    const OutgoingPacket packet{{&piece, 1}, record.length()};
    job_.task(1).transport.send_burst(0, {&packet, 1});
    job_[0].progress();
    EXPECT_EQ(job_[0].statistics(StatisticsPath::network).ghost_packets, ++count);
    EXPECT_EQ(job_[0].statistics(StatisticsPath::shared_memory).ghost_packets, 0u);
  }
}

TEST_P(ToldNumbers, TheWordThatShowsTheNextArrival) {
  job_.settle();
  const ArrivalWord quiet = job_[0].arrival_word();
  EXPECT_EQ(quiet.word != nullptr, reliable());
  job_.task(1).transport.set_room(0);
  ASSERT_EQ(put(1), Submit::accepted);
  EXPECT_EQ(job_[0].arrival_word().word, nullptr) << "something else waits to be moved";
  if (!reliable()) return;
  ASSERT_EQ(job_[2].put({0, address(&word_), &word_, 8, 0, 0, 0}), Submit::accepted);
  EXPECT_NE(quiet.word->load(), quiet.empty);
}

// What tells a call whether it may leave its step to later ones.
TEST_P(ToldNumbers, StepsThatWouldFindNothingButTimers) {
  job_.settle();
  EXPECT_EQ(nothing_arrives(job_[0].arrival_word()), reliable());
  job_.task(1).transport.set_room(0);
  ASSERT_EQ(put(1), Submit::accepted);
  EXPECT_FALSE(nothing_arrives(job_[0].arrival_word())) << "something waits to be moved";
  if (!reliable()) return;
  ASSERT_TRUE(nothing_arrives(job_[2].arrival_word()));
  ASSERT_EQ(job_[0].put({2, address(&word_), &word_, 8, 0, 0, 0}), Submit::accepted);
  EXPECT_FALSE(nothing_arrives(job_[2].arrival_word())) << "a packet has arrived";
  job_.settle();
  EXPECT_TRUE(nothing_arrives(job_[2].arrival_word()));
}

INSTANTIATE_TEST_SUITE_P(Ways, ToldNumbers, testing::Bool(),
                         [](const auto& info) { return info.param ? "reliable" : "channel"; });

TEST(ToldNumbersOf, ATaskWithoutTransports) {
  TurnedClock clock;
  Task task(0, 1024);
  Endpoint alone({}, {}, clock, task, task.host);
  EXPECT_EQ(alone.sizes().packet_payload, EndpointConfig{}.copy_limit);
  EXPECT_EQ(alone.sizes().packets_out, tuning::kDirectPacketsOut);
  EXPECT_EQ(alone.arrival_word().word, nullptr);
  EXPECT_EQ(alone.progress(), 0u);
  for (const StatisticsPath path : {StatisticsPath::network, StatisticsPath::shared_memory, StatisticsPath::local}) {
    const MessageStatistics told = alone.statistics(path);
    EXPECT_EQ(std::memcmp(&told, std::vector<std::byte>(sizeof(told)).data(), sizeof(told)), 0)
        << "nothing has happened";
  }
  EXPECT_EQ(alone.unfinished().not_taken, 0u);
  EXPECT_TRUE(alone.drained());
}

TEST(ToldNumbersOf, TransportsOfWhichNoneIsTheOnlyOne) {
  TurnedClock clock;
  Task task(0, 1024);
  MemoryTransport shorter(0, 800);
  Transport* const both[] = {&task.transport, &shorter};
  Endpoint endpoint({}, both, clock, task, task.host);
  EXPECT_EQ(endpoint.arrival_word().word, nullptr);
  EXPECT_EQ(endpoint.sizes().packet_payload, 800u - 32u) << "of any of them";
}

// Over a channel small records wait for company; these calls, after which a task waits, let them go.
TEST(HalfFilledPackets, LeaveWhenSomebodyWillWait) {
  const std::vector<std::function<void(Endpoint&)>> calls{
      [](Endpoint& task) { task.flush(); }, [](Endpoint& task) { task.fences().begin(); },
      [](Endpoint& task) { task.drained(); }, [](Endpoint& task) { task.collectives().begin_barrier(); },
      [](Endpoint& task) { task.collectives().begin_exchange(7); }};
  for (const auto& call : calls) {
    Job job(2);
    for (PeerIndex i = 0; i < 2; ++i) {
      job.task(i).transport.make_lossy(0, 1);
      job.task(i).epoch_of_peers = 1;
    }
    job.start();
    std::uint64_t word = 1, sink = 0;
    for (unsigned n = 0; n < 2 + tuning::kPacketsBeforePacking; ++n) {
      ASSERT_EQ(job[0].put({1, address(&sink), &word, 8, 0, 0, 0}), Submit::accepted);
    }
    EXPECT_EQ(job.task(1).transport.waiting(), tuning::kPacketsBeforePacking);
    call(job[0]);
    EXPECT_EQ(job.task(1).transport.waiting(), 1 + tuning::kPacketsBeforePacking) << &call - calls.data();
  }
}

TEST(LostPackets, OfAllPeersAreSentAgain) {
  Job job(3);
  for (PeerIndex i = 0; i < 3; ++i) {
    job.task(i).transport.make_lossy(0, 1);
    job.task(i).epoch_of_peers = 1;
  }
  job.start();
  std::uint64_t word = 1, sinks[3] = {};
  for (const PeerIndex peer : {1, 2}) {
    ASSERT_EQ(job[0].put({peer, address(&sinks[peer]), &word, 8, 0, 0, 0}), Submit::accepted);
    job.task(peer).transport.forget_waiting();
  }
  job.clock.advance(kSecond);
  job[0].progress();
  for (const PeerIndex peer : {1, 2}) {
    job[peer].progress();
    EXPECT_EQ(sinks[peer], 1u) << peer;
  }
}

// What lies elsewhere and is being read, and what an adapter reads.
TEST(NotTaken, IsAlsoWhatIsStillToBeRead) {
  Job job(2, small_copies());
  for (PeerIndex i = 0; i < 2; ++i) job.task(i).transport.make_readable();
  job.start();
  const std::vector<unsigned char> source = pattern(5 * tuning::kAttachPiece);
  std::vector<unsigned char> sink(source.size()), other(source.size());
  for (auto* to : {&sink, &other}) {
    ASSERT_EQ(job[0].put({1, address(to->data()), source.data(), source.size(), 0, 0, 0}), Submit::accepted);
  }
  EXPECT_EQ(job[0].unfinished().not_taken, 2u);
  job[1].progress();
  EXPECT_EQ(job[1].unfinished().not_taken, 2u);
  EXPECT_TRUE(job[1].has_work());
  EXPECT_FALSE(job[1].drained());
  EXPECT_EQ(job[1].arrival_word().word, nullptr);
  job.settle();
  EXPECT_EQ(job[0].unfinished().not_taken + job[1].unfinished().not_taken, 0u);
  EXPECT_TRUE(sink == source && other == source);
}

TEST(NotTaken, IsAlsoWhatAnAdapterStillReads) {
  BulkPair pair(true);
  pair.adapters[1].holds_endings = true;
  pair.job.start();
  const std::vector<unsigned char> source = pattern(50'000);
  std::vector<unsigned char> sink(source.size());
  ASSERT_EQ(pair.job[0].put({1, address(sink.data()), source.data(), source.size(), 0, 0, 0}), Submit::accepted);
  pair.job.settle();
  EXPECT_EQ(pair.job[0].unfinished().not_taken, 1u);
  EXPECT_EQ(pair.job[1].unfinished().not_taken, 1u);
  EXPECT_EQ(pair.job[1].arrival_word().word, nullptr);
  EXPECT_LE(pair.job[1].deadline(), pair.job.clock.now() + tuning::kLookForEndings);
  pair.adapters[1].end(0, true);
  pair.job.settle();
  pair.expect_clean();
  EXPECT_EQ(pair.job[1].deadline(), UINT64_MAX);
}

}  // namespace
}  // namespace openlapi
