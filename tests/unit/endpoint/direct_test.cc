// Operations that reach a peer's memory without a message: what is complete when the call returns, what takes a message
// nevertheless, and what the other side learns of both.
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"
#include "tests/support/scripted_direct_memory.h"

namespace openlapi {
namespace {

class Direct : public testing::Test {
 protected:
  Direct() : job_(2, small_copies()) {
    for (PeerIndex task = 0; task < 2; ++task) job_.task(task).transport.set_direct_memory(&memory_[task]);
    job_.start();
  }

  Submit put(std::uint64_t length = 8) {
    return job_[0].put({1, address(sink_.data()), source_.data(), length, address(&target_), address(&origin_),
                        address(&completion_)});
  }
  Submit get(std::uint64_t length = 8) {
    return job_[0].get({1, address(source_.data()), sink_.data(), length, address(&target_), address(&origin_)});
  }
  Submit fetch_and_add(std::uint64_t where, std::uint8_t width = 8) {
    return job_[0].read_modify_write({.target = 1,
                                      .operation = wire::RmwOperation::fetch_and_add,
                                      .width = width,
                                      .target_address = where,
                                      .input = 5,
                                      .swap_value = 0,
                                      .previous = &previous_,
                                      .origin_counter = address(&origin_)});
  }
  // `blocks` of 4 bytes: every third word of one side, every second one of the other.
  static StridedCursor words_of(std::vector<unsigned char>& bytes, std::uint64_t words, std::uint64_t blocks) {
    return StridedCursor({address(bytes.data()), 4, 4 * words, blocks});
  }
  Submit put_blocks(std::uint64_t blocks) {
    StridedCursor source = words_of(source_, 3, blocks), destination = words_of(sink_, 2, blocks);
    return job_[0].put_layout({1, &source, &destination, address(&target_), address(&origin_), address(&completion_)});
  }
  Submit get_blocks(std::uint64_t blocks) {
    StridedCursor source = words_of(source_, 3, blocks), destination = words_of(sink_, 2, blocks);
    return job_[0].get_layout({1, &source, &destination, address(&target_), address(&origin_)});
  }
  void expect_blocks(std::uint64_t blocks) const {
    for (std::uint64_t byte = 0; byte < 8 * blocks + 8; ++byte) {
      const bool moved = byte / 8 < blocks && byte % 8 < 4;
      ASSERT_EQ(sink_[byte], moved ? source_[byte / 8 * 12 + byte % 8] : 0) << byte;
    }
  }

  MessageStatistics told(PeerIndex task) { return job_[task].statistics(StatisticsPath::shared_memory); }

  Job job_;
  ScriptedDirectMemory memory_[2];
  std::vector<unsigned char> source_ = std::vector<unsigned char>(20000, 7), sink_ = std::vector<unsigned char>(20000);
  int target_ = 0, origin_ = 0, completion_ = 0;
  std::uint64_t previous_ = 0;
};

TEST_F(Direct, PutIsCompleteWhenItReturns) {
  ASSERT_EQ(put(), Submit::accepted);
  EXPECT_EQ(memory_[0].puts, 1u);
  EXPECT_EQ(sink_[7], 7);
  EXPECT_EQ(sink_[8], 0);
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(origin_, 1);
  EXPECT_EQ(completion_, 1);
  EXPECT_EQ(told(0).data_sent, 8u);
  EXPECT_EQ(told(0).packets_sent, 0u);
  EXPECT_EQ(job_[0].completed().sends, 1u);
}

TEST_F(Direct, GetIsCompleteWhenItReturns) {
  CompletionRun ran{};
  job_.task(0).host.on_completion = [&](const CompletionRun& run, bool) {
    EXPECT_EQ(origin_, 1) << "first the counter, then the handler";
    ran = run;
    return true;
  };
  GetRequest request{1, address(source_.data()), sink_.data(), 8, address(&target_), address(&origin_)};
  request.completion_handler.function = this;  // any but null
  ASSERT_EQ(job_[0].get(request), Submit::accepted);
  EXPECT_EQ(memory_[0].gets, 1u);
  EXPECT_EQ(sink_[7], 7);
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(origin_, 1);
  EXPECT_EQ(ran.source, 1u);
  EXPECT_EQ(told(0).data_received, 8u);
  EXPECT_EQ(job_[0].completed().receives, 1u);
  EXPECT_EQ(job_[0].unfinished().not_answered, 0u);
}

TEST_F(Direct, ReadModifyWriteIsCompleteWhenItReturns) {
  alignas(8) std::uint64_t word = 37;
  ASSERT_EQ(fetch_and_add(address(&word)), Submit::accepted);
  EXPECT_EQ(memory_[0].changes, 1u);
  EXPECT_EQ(word, 42u);
  EXPECT_EQ(previous_, 37u);
  EXPECT_EQ(origin_, 1);
  EXPECT_EQ(job_[0].completed().sends, 1u);
}

// A previous value of four bytes leaves the four behind it alone.
TEST_F(Direct, ShortWordsReturnShortValues) {
  alignas(8) std::uint32_t words[2] = {37, 1};
  previous_ = ~std::uint64_t{0};
  ASSERT_EQ(fetch_and_add(address(&words[0]), 4), Submit::accepted);
  EXPECT_EQ(words[0], 42u);
  EXPECT_EQ(words[1], 1u);
  EXPECT_EQ(previous_, 0xffffffff00000000u | 37u);
}

TEST_F(Direct, WhatCannotBeReachedGoesByMessage) {
  memory_[0].reaches = false;
  alignas(8) std::uint64_t word = 37;
  ASSERT_EQ(put(), Submit::accepted);
  ASSERT_EQ(fetch_and_add(address(&word)), Submit::accepted);
  EXPECT_EQ(target_, 0);
  EXPECT_EQ(word, 37u);
  job_.settle();
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(completion_, 1);
  EXPECT_EQ(word, 42u);
  EXPECT_EQ(previous_, 37u);
}

TEST_F(Direct, PiecesAreInPlaceWhenItReturns) {
  std::iota(source_.begin(), source_.end(), static_cast<unsigned char>(1));
  ASSERT_EQ(put_blocks(20), Submit::accepted);
  expect_blocks(20);
  EXPECT_EQ(memory_[0].puts, 1u);
  EXPECT_EQ(completion_, 1);
  EXPECT_EQ(told(0).data_sent, 80u);
  sink_.assign(sink_.size(), 0);
  ASSERT_EQ(get_blocks(20), Submit::accepted);
  expect_blocks(20);
  EXPECT_EQ(memory_[0].gets, 1u);
  EXPECT_EQ(told(0).data_received, 80u);
  EXPECT_EQ(target_, 2);
  EXPECT_EQ(origin_, 2);
  EXPECT_EQ(job_[0].unfinished().not_answered, 0u);
}

// The message of a get is as long as its source, that of a put as its shorter side.
TEST_F(Direct, SidesOfAnyLayoutGoTogether) {
  std::iota(source_.begin(), source_.end(), static_cast<unsigned char>(1));
  const std::uint64_t lengths[] = {3, 0, 5, 2},
                      addresses[] = {address(&source_[9]), 0, address(&source_[1]), address(&source_[9])};
  const std::array<unsigned char, 10> moved{10, 11, 12, 2, 3, 4, 5, 6, 10, 11};
  ListCursor pieces(PieceList::of_arrays(addresses, lengths, 8, 4));
  StridedCursor whole(address(sink_.data()), 100);
  ASSERT_EQ(job_[0].put_layout({1, &pieces, &whole, 0, 0, 0}), Submit::accepted);
  EXPECT_TRUE(std::equal(moved.begin(), moved.end(), sink_.begin()));
  EXPECT_EQ(sink_[10], 0);
  StridedCursor first(address(&sink_[50]), 7);
  ASSERT_EQ(job_[0].get_layout({1, &pieces, &first, 0, 0}), Submit::accepted);
  EXPECT_TRUE(std::equal(moved.begin(), moved.begin() + 7, sink_.begin() + 50));
  EXPECT_EQ(sink_[57], 0);
  EXPECT_EQ(told(0).data_received, 10u);
  EXPECT_EQ(memory_[0].puts + memory_[0].gets, 2u);
}

TEST_F(Direct, LaterPiecesLieOverEarlierOnes) {
  std::iota(source_.begin(), source_.end(), static_cast<unsigned char>(1));
  StridedCursor source(address(source_.data()), 8);
  const std::uint64_t lengths[] = {4, 4}, addresses[] = {address(&sink_[0]), address(&sink_[2])};
  ListCursor overlapping(PieceList::of_arrays(addresses, lengths, 8, 2));
  ASSERT_EQ(job_[0].put_layout({1, &source, &overlapping, 0, 0, 0}), Submit::accepted);
  EXPECT_EQ(memory_[0].puts, 1u);
  EXPECT_EQ((std::vector(sink_.begin(), sink_.begin() + 7)), (std::vector<unsigned char>{1, 2, 5, 6, 7, 8, 0}));
}

TEST_F(Direct, ManyPiecesNonePiecesAndUnreachableOnesGoByMessage) {
  std::iota(source_.begin(), source_.end(), static_cast<unsigned char>(1));
  put_blocks(DirectMemory::kMostPieces + 1);
  get_blocks(DirectMemory::kMostPieces + 1);
  put_blocks(0);
  get_blocks(0);
  memory_[0].reaches = false;
  put_blocks(3);
  get_blocks(3);
  EXPECT_EQ(memory_[0].puts + memory_[0].gets, 0u);
  job_.settle();
  EXPECT_EQ(target_, 6);
  EXPECT_EQ(origin_, 6);
  EXPECT_EQ(completion_, 3);
  expect_blocks(DirectMemory::kMostPieces + 1);
  memory_[0].reaches = true;
  put_blocks(DirectMemory::kMostPieces);
  get_blocks(DirectMemory::kMostPieces);
  EXPECT_EQ(memory_[0].puts + memory_[0].gets, 2u);
}

// What is asked for is each piece, whatever the message looks like; what is long is not worth it.
TEST_F(Direct, TargetLearnsOfPiecesThatCameByMessage) {
  memory_[0].reaches = false;
  const std::uint64_t lengths[] = {4, 4}, addresses[] = {address(&sink_[9]), address(&sink_[2])};
  ListCursor pieces(PieceList::of_arrays(addresses, lengths, 8, 2));
  StridedCursor source(address(source_.data()), 8);
  put_blocks(2);
  job_[0].put_layout({1, &source, &pieces, 0, 0, 0});
  get_blocks(2);
  job_.settle();
  EXPECT_EQ(memory_[1].asked_pieces, (std::vector{address(&sink_[0]), address(&sink_[8]), addresses[0], addresses[1],
                                                  address(&source_[0]), address(&source_[12])}));
  EXPECT_EQ(memory_[1].asked, (std::vector{address(&target_), address(&target_)}));
  memory_[1].asked_pieces.clear();
  put_blocks(1025);
  get_blocks(1025);
  job_.settle();
  EXPECT_TRUE(memory_[1].asked_pieces.empty());
}

// The same mistakes as by message: of a put it is the call's, and nothing is done; of a get the origin's own, later.
TEST_F(Direct, PiecesOfMissingMemoryAreToldAsByMessage) {
  catch_memory_faults();
  job_[0].guard_layouts(true);
  const std::uint64_t lengths[] = {4, 4}, addresses[] = {address(&sink_[0]), 16};
  for (const bool direct : {true, false}) {
    memory_[0].reaches = direct;
    memory_[0].puts = memory_[0].gets = 0;
    origin_ = target_ = 0;
    job_.task(0).host.faults.clear();
    ListCursor missing(PieceList::of_arrays(addresses, lengths, 8, 2));
    StridedCursor there(address(&source_[0]), 8);
    EXPECT_EQ(job_[0].put_layout({1, &missing, &there, address(&target_), address(&origin_), 0}),
              Submit::origin_memory);
    EXPECT_EQ(job_[0].get_layout({1, &there, &missing, address(&target_), address(&origin_)}), Submit::accepted);
    job_.settle();
    EXPECT_EQ(memory_[0].gets, direct ? 1u : 0u);
    EXPECT_EQ(memory_[0].puts, 0u);
    ASSERT_EQ(job_.task(0).host.faults.size(), 1u);
    EXPECT_EQ(job_.task(0).host.faults[0].first, Fault::origin_vector);
    EXPECT_EQ(origin_, 1);
    EXPECT_EQ(target_, 1);
    EXPECT_EQ(sink_[3], 7);
  }
}

// Their addresses, so that they may be opened; what is long is not worth it.
TEST_F(Direct, TargetLearnsWhatCameByMessage) {
  memory_[0].reaches = false;
  alignas(8) std::uint64_t word = 37;
  put();
  get();
  fetch_and_add(address(&word));
  job_.settle();
  EXPECT_EQ(memory_[1].asked, (std::vector{address(sink_.data()), address(&target_), address(source_.data()),
                                           address(&target_), address(&word)}));
  memory_[1].asked.clear();
  put(6000);
  get(6000);
  job_.settle();
  EXPECT_TRUE(memory_[1].asked.empty());
}

TEST_F(Direct, LongAndEmptyTransfersAndUnalignedWordsGoByMessage) {
  alignas(8) unsigned char words[16] = {};
  put(0);
  put(DirectMemory::kMostBytes + 1);
  get(0);
  get(DirectMemory::kMostBytes + 1);
  fetch_and_add(address(words + 1));
  EXPECT_EQ(memory_[0].puts + memory_[0].gets + memory_[0].changes, 0u);
  job_.settle();
  EXPECT_EQ(target_, 4);
  EXPECT_EQ(words[1], 5);
  put(DirectMemory::kMostBytes);
  get(DirectMemory::kMostBytes);
  EXPECT_EQ(memory_[0].puts + memory_[0].gets, 2u);
}

TEST_F(Direct, NothingOvertakesAMessageThatWaitsHere) {
  memory_[0].reaches = false;
  job_.task(1).transport.set_room(0);
  ASSERT_EQ(put(), Submit::accepted);
  memory_[0].reaches = true;
  ASSERT_EQ(put(), Submit::accepted);
  ASSERT_EQ(get(), Submit::accepted);
  EXPECT_EQ(memory_[0].puts + memory_[0].gets, 0u);
  job_.task(1).transport.set_room(64);
  job_.settle();
  EXPECT_EQ(target_, 3);
  ASSERT_EQ(put(), Submit::accepted);
  EXPECT_EQ(memory_[0].puts, 1u);
}

TEST_F(Direct, PurgedTasksAreLeftAlone) {
  ASSERT_EQ(put(), Submit::accepted);
  job_[0].purge(1);
  EXPECT_EQ(put(), Submit::purged);
  EXPECT_EQ(memory_[0].puts, 1u);
  EXPECT_EQ(target_, 1);
}

TEST_F(Direct, FencesNeedNotWaitForIt) {
  ASSERT_EQ(put(), Submit::accepted);
  const FenceTicket ticket = job_[0].fences().begin();
  EXPECT_EQ(job_[0].fences().state(ticket), FenceState::done);
}

// Programs may rely on its having run when the counter of the answer has moved, and the origin's buffers being free.
TEST_F(Direct, SendHandlersRunBeforeTheAnswersCounterMoves) {
  int runs = 0, changed = 0;
  job_.task(0).host.on_send_completion = [&](const SendCompletion& completion) {
    EXPECT_EQ(completion.target, 1u);
    EXPECT_EQ(origin_, 1);
    EXPECT_EQ(completion_, runs == 0 ? 0 : 1);
    EXPECT_EQ(changed, 0);
    ++runs;
  };
  PutRequest request{1, address(sink_.data()), source_.data(), 8, 0, address(&origin_), address(&completion_)};
  request.send_handler.function = this;  // any but null
  ASSERT_EQ(job_[0].put(request), Submit::accepted);
  alignas(8) std::uint64_t word = 37;
  RmwRequest change{.target = 1,
                    .operation = wire::RmwOperation::swap,
                    .width = 8,
                    .target_address = address(&word),
                    .input = 5,
                    .swap_value = 0,
                    .previous = nullptr,
                    .origin_counter = address(&changed)};
  change.send_handler.function = this;
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(completion_, 1);
  ASSERT_EQ(job_[0].read_modify_write(change), Submit::accepted);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(word, 5u);
  EXPECT_EQ(memory_[0].puts + memory_[0].changes, 2u);
}

// It may be begun by a handler: its own handler runs when that has returned, and those who wait are told.
TEST_F(Direct, SendHandlersOfHandlersRunInTheNextStep) {
  int runs = 0;
  PutRequest request{1, address(sink_.data()), source_.data(), 8, 0, 0, address(&completion_)};
  request.send_handler.function = this;
  job_.task(0).host.on_send_completion = [&](const SendCompletion&) {
    if (++runs == 1) {
      EXPECT_EQ(job_[0].put(request), Submit::accepted);
      EXPECT_EQ(completion_, 0);
    }
  };
  ASSERT_EQ(job_[0].put(request), Submit::accepted);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(completion_, 1);
  EXPECT_EQ(job_[0].progress(), 1u);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(completion_, 2);
}

// Who waits for one has to look at it again.
TEST_F(Direct, CountersThatPeersMoveAreProgress) {
  EXPECT_EQ(job_[1].progress(), 0u);
  memory_[1].moved = true;
  EXPECT_EQ(job_[1].progress(), 1u);
  EXPECT_EQ(job_[1].progress(), 0u);
}

TEST_F(Direct, TargetCountsWhatPeersHaveDone) {
  memory_[1].done = {.puts = 3, .put_bytes = 24, .gets = 2, .got_bytes = 16};
  EXPECT_EQ(job_[1].completed().receives, 3u);
  EXPECT_EQ(job_[1].completed().sends, 2u);
  EXPECT_EQ(told(1).data_received, 24u);
  EXPECT_EQ(told(1).data_sent, 16u);
  EXPECT_EQ(job_[1].statistics(StatisticsPath::network).data_received, 0u);
}

// Nobody would notice otherwise: each operation is complete when it returns.
TEST_F(Direct, WhoseMemoryIsUsedIsAskedWhetherItLives) {
  const auto watch = [&] {
    job_.clock.advance(tuning::kWatchPeers);
    for (int step = 0; step < 20'000; ++step) job_[0].progress();
  };
  ASSERT_EQ(put(), Submit::accepted);
  job_.task(0).transport.set_gone(1);
  for (const bool in_use : {false, true}) {
    memory_[0].in_use = in_use;
    watch();
    const unsigned before = memory_[0].puts;
    EXPECT_TRUE(job_.task(0).host.faults.empty());
    ASSERT_EQ(put(), Submit::accepted);
    EXPECT_EQ(memory_[0].puts - before, in_use ? 0u : 1u);
  }
  watch();
  EXPECT_EQ(job_.task(0).host.faults.size(), 1u) << "of the message";
}

TEST_F(Direct, WatchedCountersAreNotLeftToPeers) {
  job_[1].counters().watch(true);
  EXPECT_FALSE(memory_[1].counters_are_left);
  job_[1].counters().watch(false);
  EXPECT_TRUE(memory_[1].counters_are_left);
}

}  // namespace
}  // namespace openlapi
