// Gets that an adapter reads without a message: which ones, what they complete, and what becomes of those that cannot
// be read.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "dataplane/counter/counters.h"
#include "dataplane/sync/fences.h"
#include "tests/support/bulk_pair.h"
#include "tests/support/scripted_one_sided_memory.h"

namespace openlapi {
namespace {

class OneSided : public testing::Test {
 protected:
  OneSided() {
    for (PeerIndex i = 0; i < 2; ++i) job().task(i).transport.set_one_sided_memory(&memories_[i]);
  }

  // Task 0 and task 1 know each other, and nothing is under way.
  void start() {
    job().start();
    ASSERT_EQ(put(), Submit::accepted);
    settle();
    sink_.assign(sink_.size(), 0xee);
    origin_ = target_ = 0;
  }

  Submit put(std::size_t length = 8) {
    return job()[0].put({1, address(place_.data()), source_.data(), length, 0, 0, 0});
  }
  Submit get(std::size_t length = 8, std::uint64_t target_counter = 0, std::size_t from = 3) {
    return job()[0].get(
        {1, address(source_.data() + from), sink_.data() + 1, length, target_counter, address(&origin_)});
  }
  // Acknowledgements too.
  void settle() {
    for (PeerIndex i = 0; i < 2; ++i) {
      job().settle();
      job()[i].drained();
    }
    job().settle();
  }
  void expect_arrived(std::size_t length = 8, std::size_t from = 3) {
    EXPECT_EQ(origin_, 1);
    origin_ = 0;
    EXPECT_EQ(sink_[0], 0xee);
    EXPECT_TRUE(std::equal(sink_.begin() + 1, sink_.begin() + 1 + static_cast<std::ptrdiff_t>(length),
                           source_.begin() + static_cast<std::ptrdiff_t>(from)));
    EXPECT_EQ(sink_[length + 1], 0xee);
    sink_.assign(sink_.size(), 0xee);
    EXPECT_EQ(job()[0].unfinished().not_answered, 0u);
    EXPECT_TRUE(job()[0].drained());
  }
  std::size_t packets_to_target() { return job().task(0).transport.send_calls(); }

  Job& job() { return pair_.job; }
  ScriptedOneSidedMemory& memory() { return memories_[0]; }

  BulkPair pair_{false};
  std::array<ScriptedOneSidedMemory, 2> memories_;
  std::vector<unsigned char> source_ = pattern(1000), sink_ = std::vector<unsigned char>(1000, 0xee),
                             place_ = std::vector<unsigned char>(1000);
  int origin_ = 0, target_ = 0;
};

TEST_F(OneSided, ShortGetsAreReadWithoutAMessage) {
  start();
  const std::size_t before = packets_to_target();
  unsigned expected = 0;
  for (const std::size_t length : {1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 256}) {
    ASSERT_EQ(get(length), Submit::accepted);
    EXPECT_EQ(origin_, 0) << "it is not there yet";
    EXPECT_EQ(job()[0].unfinished().not_answered, 1u);
    job()[0].progress();
    EXPECT_EQ(memory().begun, ++expected) << length;
    expect_arrived(length);
  }
  EXPECT_EQ(packets_to_target(), before);
  EXPECT_EQ(job()[0].completed().receives, expected);
  EXPECT_EQ(pair_.statistics(0).data_received, 1u + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 31 + 256);
}

TEST_F(OneSided, LongAndEmptyOnesAndThoseWithATargetCounterTakeMessages) {
  start();
  for (const std::size_t length : {0, 257}) {
    ASSERT_EQ(get(length), Submit::accepted);
    settle();
    expect_arrived(length);
  }
  ASSERT_EQ(get(8, address(&target_)), Submit::accepted);
  settle();
  expect_arrived();
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(memory().asked, 0u);
}

TEST_F(OneSided, NothingIsOvertaken) {
  start();
  source_[3] = 0;
  const unsigned char news = 77;
  ASSERT_EQ(job()[0].put({1, address(&source_[3]), &news, 1, 0, 0, 0}), Submit::accepted);
  ASSERT_EQ(get(), Submit::accepted);
  EXPECT_EQ(memory().asked, 0u) << "the put may not have arrived";
  settle();
  expect_arrived();
  EXPECT_EQ(source_[3], news);
  ASSERT_EQ(get(), Submit::accepted);
  EXPECT_EQ(memory().begun, 1u) << "everything was acknowledged";
  job()[0].progress();
  expect_arrived();
}

TEST_F(OneSided, WhatTheAdapterDoesNotBeginTakesAMessage) {
  start();
  memory().reaches = false;
  ASSERT_EQ(get(), Submit::accepted);
  settle();
  expect_arrived();
  EXPECT_EQ(memory().asked, 1u);
}

TEST_F(OneSided, WhatIsNotReadIsAskedForOnce) {
  start();
  memory().holds_endings = true;
  for (int n = 0; n < 3; ++n) ASSERT_EQ(get(), Submit::accepted);
  memory().end(1, false);
  memory().end(0, true);
  memory().end(0, false);
  settle();
  EXPECT_EQ(origin_, 3);
  origin_ = 1;
  expect_arrived();
  EXPECT_EQ(memory().begun, 3u);
}

TEST_F(OneSided, AFenceWaitsForThem) {
  start();
  memory().holds_endings = true;
  ASSERT_EQ(get(), Submit::accepted);
  const FenceTicket ticket = job()[0].fences().begin();
  job().settle();
  EXPECT_EQ(job()[0].fences().state(ticket), FenceState::pending);
  EXPECT_NE(job()[0].deadline(), UINT64_MAX) << "nothing wakes who sleeps but the adapter";
  memory().end(0, true);
  job().settle();
  EXPECT_EQ(job()[0].fences().state(ticket), FenceState::done);
  expect_arrived();
}

TEST_F(OneSided, TheHandlerRunsAfterTheCounterAndMayBeginTheNext) {
  start();
  int runs = 0;
  job().task(0).host.on_completion = [&](const CompletionRun& run, bool) {
    EXPECT_EQ(run.source, 1u);
    EXPECT_EQ(sink_[1], source_[3]);
    EXPECT_EQ(origin_, ++runs);
    EXPECT_EQ(get(), Submit::accepted);
    return true;
  };
  GetRequest request{1, address(source_.data() + 3), sink_.data() + 1, 8, 0, address(&origin_)};
  request.completion_handler.function = this;  // any but null
  ASSERT_EQ(job()[0].get(request), Submit::accepted);
  job().settle();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(origin_, 2) << "the one of the handler has none";
  EXPECT_EQ(memory().begun, 2u);
}

TEST_F(OneSided, APurgeEndsThemAndNothingIsWrittenAfterwards) {
  start();
  memory().holds_endings = true;
  ASSERT_EQ(get(), Submit::accepted);
  ASSERT_EQ(get(4), Submit::accepted);
  job()[0].purge(1);
  EXPECT_EQ(memory().parted, std::vector<PeerIndex>{1});
  EXPECT_EQ(job()[0].unfinished().not_answered, 0u);
  memory().end(0, true);
  memory().end(0, false);
  job().settle();
  EXPECT_EQ(origin_, 0);
  EXPECT_EQ(sink_, std::vector<unsigned char>(1000, 0xee));
  EXPECT_EQ(get(), Submit::purged);
  job()[0].resume(1, 5);
  EXPECT_EQ(memory().resumed, std::vector<PeerIndex>{1});
  EXPECT_TRUE(job()[0].drained());
}

// Of the other paths only those that serve.
TEST_F(OneSided, AnotherPathReadsWhereTheBestOneIsBusy) {
  ScriptedOneSidedMemory second;
  ScriptedBulkMemory other[2];
  job().add_paths();
  ScriptedBulkMemory::connect(other[0], 0, other[1], 1);
  for (PeerIndex i = 0; i < 2; ++i) {
    job().task(i).others[0]->make_lossy(0, 7 + i);
    job().task(i).others[0]->set_bulk_memory(&other[i]);
  }
  job().task(0).others[0]->set_one_sided_memory(&second);
  start();
  memory().reaches = false;
  ASSERT_EQ(get(), Submit::accepted);
  job()[0].progress();
  expect_arrived();
  EXPECT_EQ(second.begun, 1u);
  job().task(0).others[0]->say_of_link(false);
  job().clock.advance(kSecond);
  ASSERT_EQ(get(), Submit::accepted);  // sees that something was said of links
  settle();
  expect_arrived();
  const unsigned asked = second.asked;
  ASSERT_EQ(get(), Submit::accepted);
  settle();
  expect_arrived();
  EXPECT_EQ(second.asked, asked) << "its link is down";
}

// Shared memory has other means.
TEST(OneSidedOverReliablePaths, NothingIsRead) {
  BulkPair pair(true);
  ScriptedOneSidedMemory memory;
  pair.job.task(0).transport.set_one_sided_memory(&memory);
  pair.job.start();
  std::uint64_t word = 5, got = 0;
  int origin = 0;
  ASSERT_EQ(pair.job[0].get({1, address(&word), &got, 8, 0, address(&origin)}), Submit::accepted);
  pair.job.settle();
  EXPECT_EQ(origin, 1);
  EXPECT_EQ(got, 5u);
  EXPECT_EQ(memory.asked, 0u);
}

}  // namespace
}  // namespace openlapi
