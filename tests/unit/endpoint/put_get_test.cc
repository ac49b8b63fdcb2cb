// Puts, gets and read-modify-writes over a reliable transport: every length at the edges of a packet and of the copy
// limit, full queues, attach mode and its refusal.
#include <gtest/gtest.h>

#include <numeric>

#include "dataplane/sync/collectives.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

std::vector<unsigned char> pattern(std::size_t length, unsigned seed) {
  std::vector<unsigned char> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + seed);
  return bytes;
}

class TransferOf : public testing::TestWithParam<std::tuple<std::size_t, bool>> {
 protected:
  TransferOf() : job_(2, small_copies()) {
    if (std::get<1>(GetParam())) {
      job_.task(0).transport.make_readable();
      job_.task(1).transport.make_readable();
    }
    job_.start();
  }
  std::size_t length() const { return std::get<0>(GetParam()); }

  Job job_;
  int target_ = 0, origin_ = 0, completion_ = 0;
};

TEST_P(TransferOf, PutArrivesOnceWithItsCounters) {
  auto source = pattern(length(), 1);
  const auto original = source;
  std::vector<unsigned char> sink(length() + 16, 0xee);
  ASSERT_EQ(job_[0].put({1, address(sink.data() + 8), source.data(), length(), address(&target_), address(&origin_),
                         address(&completion_)}),
            Submit::accepted);
  if (length() <= 4000) {
    EXPECT_EQ(origin_, 1) << "the origin buffer must be free when the call returns";
    std::fill(source.begin(), source.end(), 0);
  }
  EXPECT_EQ(target_, 0);
  EXPECT_EQ(completion_, 0);
  job_.settle();
  EXPECT_TRUE(std::vector(sink.begin() + 8, sink.end() - 8) == original);
  EXPECT_EQ(sink[7], 0xee);
  EXPECT_EQ(sink[length() + 8], 0xee);
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(origin_, 1);
  EXPECT_EQ(completion_, 1);
  EXPECT_TRUE(job_[0].drained());
  EXPECT_EQ(job_[0].statistics(StatisticsPath::shared_memory).data_sent, length());
  EXPECT_EQ(job_[1].statistics(StatisticsPath::shared_memory).data_received, length());
}

TEST_P(TransferOf, GetBringsTheBytes) {
  const auto source = pattern(length(), 2);
  std::vector<unsigned char> sink(length() + 1, 0xee);
  ASSERT_EQ(job_[0].get({1, address(source.data()), sink.data(), length(), address(&target_), address(&origin_)}),
            Submit::accepted);
  job_.settle();
  EXPECT_TRUE(std::vector(sink.begin(), sink.end() - 1) == source);
  EXPECT_EQ(sink[length()], 0xee);
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(origin_, 1);
  // Also when the origin has read the memory by itself.
  EXPECT_EQ(job_[1].statistics(StatisticsPath::shared_memory).data_sent, length());
  EXPECT_EQ(job_[0].statistics(StatisticsPath::shared_memory).data_received, length());
}

TEST_P(TransferOf, PutToOneselfIsALocalCopy) {
  const auto source = pattern(length(), 3);
  std::vector<unsigned char> sink(length());
  ASSERT_EQ(job_[0].put({0, address(sink.data()), source.data(), length(), address(&target_), address(&origin_),
                         address(&completion_)}),
            Submit::accepted);
  EXPECT_TRUE(sink == source);
  EXPECT_EQ(target_ + origin_ + completion_, 3);
  EXPECT_EQ(job_[0].statistics(StatisticsPath::local).data_sent, length());
  EXPECT_EQ(job_[0].statistics(StatisticsPath::local).packets_sent, 0u);
}

INSTANTIATE_TEST_SUITE_P(Lengths, TransferOf,
                         testing::Combine(testing::Values(0, 1, 8, 991, 992, 993, 1000, 1024, 2000, 3999, 4000, 4001,
                                                          10'000, 300'000, 3'000'000),
                                          testing::Bool()));

TEST(Put, AFullQueueCopiesAndThenSaysBusy) {
  Job job(2, small_copies());
  job.task(1).transport.set_room(2);
  job.start();
  std::vector<int> sink(20);
  int value = 0, origin = 0;
  int accepted = 0;
  for (; accepted < 20; ++accepted) {
    value = accepted + 1;
    if (job[0].put({1, address(&sink[accepted]), &value, sizeof(value), 0, address(&origin), 0}) == Submit::busy) break;
    value = -1;
  }
  EXPECT_EQ(accepted, 2 + 2) << "two in the queue, two of four copies for one peer";
  EXPECT_EQ(origin, accepted);
  job.settle();
  for (int i = 0; i < accepted; ++i) EXPECT_EQ(sink[i], i + 1);
  EXPECT_EQ(sink[accepted], 0) << "what was answered busy must leave no trace";
}

TEST(Put, TheNumberOfCopiesIsAsConfigured) {
  for (const std::uint32_t copies : {1u, 2u, 30u, 300u}) {
    EndpointConfig config = small_copies();
    config.copy_buffers = copies;
    Job job(2, config);
    job.task(1).transport.set_room(0);
    job.start();
    std::uint32_t accepted = 0;
    int value = 0, sink = 0;
    while (job[0].put({1, address(&sink), &value, sizeof(value), 0, 0, 0}) != Submit::busy) ++accepted;
    EXPECT_EQ(accepted, (copies + 2) / 3) << "one peer gets a third of " << copies;
  }
}

TEST(Put, AttachIsOnlyForMessagesAboveTheCopyLimit) {
  Job job(2, small_copies());
  job.task(1).transport.make_readable();
  job.task(0).transport.make_readable();
  job.start();
  const auto source = pattern(5000, 1);
  std::vector<unsigned char> sink(5000);
  job[0].put({1, address(sink.data()), source.data(), 4000, 0, 0, 0});
  job.settle();
  EXPECT_EQ(job.task(1).transport.reads(), 0u);
  job[0].put({1, address(sink.data()), source.data(), 4001, 0, 0, 0});
  job.settle();
  EXPECT_EQ(job.task(1).transport.reads(), 1u);
}

TEST(Put, MemoryThatCannotBeReadComesInPackets) {
  for (const std::size_t good_pieces : {0u, 1u}) {
    Job job(2, small_copies());
    job.task(0).transport.make_readable();
    job.task(1).transport.make_readable(good_pieces);
    job.start();
    const auto source = pattern(3'000'000, 9);
    std::vector<unsigned char> sink(source.size());
    int origin = 0, target = 0;
    job[0].put({1, address(sink.data()), source.data(), source.size(), address(&target), address(&origin), 0});
    job.settle();
    EXPECT_TRUE(sink == source);
    EXPECT_EQ(origin, 1);
    EXPECT_EQ(target, 1);
    EXPECT_EQ(job[0].statistics(StatisticsPath::shared_memory).retransmitted_packets, 1u);
  }
}

// Only this message's memory: the next one is offered and read again.
TEST(Put, MemoryThatCannotBeReadOnceIsTriedAgain) {
  Job job(2, small_copies());
  job.task(0).transport.make_readable();
  job.task(1).transport.make_readable(0);
  job.start();
  const auto source = pattern(5000, 9);
  std::vector<unsigned char> sink(source.size());
  const auto put = [&] {
    std::fill(sink.begin(), sink.end(), 0);
    job[0].put({1, address(sink.data()), source.data(), source.size(), 0, 0, 0});
    job.settle();
    EXPECT_TRUE(sink == source);
  };
  put();
  EXPECT_EQ(job.task(1).transport.reads(), 0u);
  job.task(1).transport.make_readable();
  put();
  EXPECT_EQ(job.task(1).transport.reads(), 1u);
  EXPECT_EQ(job[0].statistics(StatisticsPath::shared_memory).retransmitted_packets, 1u);
}

TEST(Put, APeerThatCannotReadAtAllIsNotOfferedMore) {
  Job job(2, small_copies());
  job.task(0).transport.make_readable();
  job.task(1).transport.make_readable();
  job.start();
  job.task(1).transport.close_peers();
  const auto source = pattern(5000, 9);
  std::vector<unsigned char> sink(source.size());
  for (int round = 0; round < 3; ++round) {
    std::fill(sink.begin(), sink.end(), 0);
    job[0].put({1, address(sink.data()), source.data(), source.size(), 0, 0, 0});
    job.settle();
    EXPECT_TRUE(sink == source);
  }
  EXPECT_EQ(job[0].statistics(StatisticsPath::shared_memory).retransmitted_packets, 1u) << "offered once";
}

TEST(Get, MemoryThatCannotBeReadComesInPackets) {
  Job job(2, small_copies());
  job.task(0).transport.make_readable(1);
  job.start();
  const auto source = pattern(3'000'000, 4);
  std::vector<unsigned char> sink(source.size());
  int origin = 0, target = 0;
  job[0].get({1, address(source.data()), sink.data(), source.size(), address(&target), address(&origin)});
  job.settle();
  EXPECT_TRUE(sink == source);
  EXPECT_EQ(origin, 1);
  EXPECT_EQ(target, 1);
}

TEST(ReadModifyWriteRemote, GivesThePreviousValueAndCounts) {
  Job job(2);
  job.start();
  std::uint64_t word = 40;
  std::uint64_t previous = 0;
  int origin = 0;
  job[0].read_modify_write(
      {1, wire::RmwOperation::fetch_and_add, 8, address(&word), 2, 0, &previous, address(&origin)});
  EXPECT_EQ(word, 40u);
  job.settle();
  EXPECT_EQ(word, 42u);
  EXPECT_EQ(previous, 40u);
  EXPECT_EQ(origin, 1);

  std::uint32_t narrow[2] = {7, 8};
  std::uint32_t narrow_previous[2] = {0, 99};
  job[0].read_modify_write(
      {1, wire::RmwOperation::compare_and_swap, 4, address(&narrow[0]), 7, 11, &narrow_previous[0], address(&origin)});
  job.settle();
  EXPECT_EQ(narrow[0], 11u);
  EXPECT_EQ(narrow[1], 8u);
  EXPECT_EQ(narrow_previous[0], 1u);
  EXPECT_EQ(narrow_previous[1], 99u);

  job[0].read_modify_write({1, wire::RmwOperation::swap, 8, address(&word), 1, 0, nullptr, address(&origin)});
  job.settle();
  EXPECT_EQ(word, 1u);
  EXPECT_EQ(origin, 3);
}

TEST(Fence, WaitsForPutsGetsAndLongMessages) {
  Job job(3, small_copies());
  job.start();
  const auto source = pattern(50'000, 5);
  std::vector<unsigned char> sink(source.size()), other(source.size());
  job[0].put({1, address(sink.data()), source.data(), source.size(), 0, 0, 0});
  job[0].get({2, address(source.data()), other.data(), source.size(), 0, 0});
  const FenceTicket ticket = job[0].fences().begin();
  unsigned steps = 0;
  while (job[0].fences().state(ticket) == FenceState::pending) {
    ASSERT_LT(++steps, 10'000u);
    for (PeerIndex i = 0; i < 3; ++i) job[i].progress();
  }
  EXPECT_TRUE(sink == source);
  EXPECT_TRUE(other == source);
}

TEST(Fence, OfWhomNobodyAsksIsForgotten) {
  Job job(2);
  job.start();
  unsigned char byte = 7, sink = 0;
  ASSERT_EQ(job[0].put({1, address(&sink), &byte, 1, 0, 0, 0}), Submit::accepted);
  const FenceTicket forgotten = job[0].fences().begin();
  const FenceTicket ticket = job[0].fences().begin();
  ASSERT_EQ(job[0].fences().state(forgotten), FenceState::pending);
  job[0].fences().forget(forgotten);
  for (int step = 0; step < 100; ++step) {
    for (PeerIndex i = 0; i < 2; ++i) job[i].progress();
  }
  EXPECT_EQ(job[0].fences().state(ticket), FenceState::done) << "the answers to both have come";
  EXPECT_EQ(sink, 7);
  EXPECT_EQ(job[0].deadline(), UINT64_MAX) << "nothing is watched any more";
}

TEST(Fence, IsDoneAtOnceWhenNothingWasSent) {
  Job job(2);
  job.start();
  EXPECT_EQ(job[0].fences().state(job[0].fences().begin()), FenceState::done);
}

TEST(Faults, APeerThatIsGoneReleasesWhoeverWaits) {
  Job job(2);
  job.start();
  std::uint64_t word = 0;
  job[0].read_modify_write({1, wire::RmwOperation::swap, 8, address(&word), 1, 0, nullptr, 0});
  const FenceTicket ticket = job[0].fences().begin();
  job[0].collectives().begin_barrier();
  job.task(0).transport.set_gone(1);
  job.clock.advance(kSecond);
  for (int i = 0; i < 100'000 && job.task(0).host.faults.empty(); ++i) job[0].progress();
  ASSERT_EQ(job.task(0).host.faults.size(), 1u);
  EXPECT_EQ(job.task(0).host.faults[0], std::make_pair(Fault::no_connectivity, PeerIndex{1}));
  EXPECT_NE(job[0].fences().state(ticket), FenceState::pending);
  EXPECT_EQ(job[0].collectives().state(), CollectiveState::peer_lost);
}

TEST(Faults, WhatAPeerSentBeforeItEndedStillCounts) {
  EndpointConfig config;
  config.idle_loops_between_timers = 1;
  Job job(2, config);
  job.start();
  int value = 1, sink = 0;
  for (int i = 0; i < 40; ++i)
    ASSERT_EQ(job[1].put({0, address(&sink), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
  job[1].collectives().begin_barrier();
  job[0].collectives().begin_barrier();
  job.task(0).transport.set_gone(1);
  for (int i = 0; i < 10; ++i) {
    job.clock.advance(kSecond);
    job[0].progress();
  }
  EXPECT_EQ(job[0].collectives().state(), CollectiveState::done);
  EXPECT_TRUE(job.task(0).host.faults.empty());
}

// Task 1 has everything that it needs of the barrier and ends; task 0 still waits for task 2.
TEST(Faults, APeerThatEndsInOrderDoesNotBreakABarrierThatWaitsForOthers) {
  for (const bool in_order : {true, false}) {
    EndpointConfig config;
    config.idle_loops_between_timers = 1;
    Job job(3, config);
    job.start();
    int value = 1, sink = 0;
    ASSERT_EQ(job[0].put({1, address(&sink), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
    job[0].collectives().begin_barrier();
    job.task(0).transport.set_gone(1, in_order);
    for (int i = 0; i < 10; ++i) {
      job.clock.advance(kSecond);
      job[0].progress();
    }
    EXPECT_EQ(job.task(0).host.faults.empty(), in_order);
    EXPECT_EQ(job[0].collectives().state(), in_order ? CollectiveState::pending : CollectiveState::peer_lost);
  }
}

TEST(Faults, APeerThatTakesNothingForTheWholeTimeOutIsLost) {
  EndpointConfig config = small_copies();
  config.timeout = 10 * kSecond;
  Job job(2, config);
  job.task(1).transport.set_room(1);
  job.start();
  int value = 1, sink = 0;
  for (int i = 0; i < 3; ++i) job[0].put({1, address(&sink), &value, sizeof(value), 0, 0, 0});
  const auto pass = [&](Nanoseconds time) {
    for (Nanoseconds passed = 0; passed < time; passed += kSecond / 2) {
      job.clock.advance(kSecond / 2);
      for (int i = 0; i < 20'000; ++i) job[0].progress();
    }
  };
  pass(10 * kSecond);
  EXPECT_TRUE(job.task(0).host.faults.empty()) << "before the time-out is over";
  pass(2 * kSecond);
  ASSERT_EQ(job.task(0).host.faults.size(), 1u);
  EXPECT_EQ(job.task(0).host.faults[0].first, Fault::timeout);
}

}  // namespace
}  // namespace openlapi
