// Bulk transfers over several adapters: how they share a message, and what happens to the part of one that fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "dataplane/peers/peer_table.h"
#include "dataplane/tuning.h"
#include "tests/support/address.h"
#include "tests/support/bulk_pair.h"

namespace openlapi {
namespace {

constexpr std::size_t kMiB = 1 << 20;

class BulkPaths : public testing::Test {
 protected:
  static constexpr PeerIndex kOrigin = 0, kTarget = 1;
  static constexpr std::uint64_t kItsOrigin = 77;  // of another adapter of the other task

  explicit BulkPaths(bool crossed = false) : job_(2, BulkPair::config()) {
    job_.add_paths();
    for (unsigned path = 0; path < 2; ++path) {
      ScriptedBulkMemory::connect(of(kOrigin, path), kOrigin, of(kTarget, crossed ? 1 - path : path), kTarget);
      for (const PeerIndex task : {kOrigin, kTarget}) {
        transport(task, path).set_bulk_memory(&of(task, path));
        transport(task, path).make_lossy(0, 1);
        of(task, path).longest = 64 * kMiB;
      }
    }
    job_.start();
    set_length(2 * kMiB);
  }

  ScriptedBulkMemory& of(PeerIndex task, unsigned path) { return adapters_[task][path]; }
  ScriptedBulkMemory& reader(unsigned path) { return of(kTarget, path); }
  MemoryTransport& transport(PeerIndex task, unsigned path) {
    return path == 0 ? job_.task(task).transport : *job_.task(task).others[0];
  }
  void hold_endings(bool hold = true) {
    for (unsigned path = 0; path < 2; ++path) reader(path).holds_endings = hold;
  }
  void set_length(std::size_t length) {
    source_ = pattern(length);
    sink_.assign(length, 0);
  }
  void put() {
    std::fill(sink_.begin(), sink_.end(), 0);
    done_ = 0;
    const PutRequest request{kTarget, address(sink_.data()), source_.data(), sink_.size(), address(&done_), 0, 0};
    ASSERT_EQ(job_[kOrigin].put(request), Submit::accepted);
    settle();
  }
  void get() {
    std::fill(sink_.begin(), sink_.end(), 0);
    done_ = 0;
    ASSERT_EQ(job_[kTarget].get({kOrigin, address(source_.data()), sink_.data(), sink_.size(), 0, address(&done_)}),
              Submit::accepted);
    settle();
  }
  void settle() {
    job_.settle();
    expect_no_place_is_read_twice();
  }
  void pass(Nanoseconds time) {
    job_.clock.advance(time);
    settle();
  }
  // Reads that may write to the same bytes at the same time.
  void expect_no_place_is_read_twice() {
    std::vector<const ScriptedBulkMemory::Read*> all;
    for (unsigned path = 0; path < 2; ++path) {
      for (const auto& read : reader(path).under_way) {
        if (read.local != nullptr) all.push_back(&read);
      }
    }
    for (const auto* a : all) {
      for (const auto* b : all) {
        EXPECT_TRUE(a == b || a->local + a->length <= b->local || b->local + b->length <= a->local);
      }
    }
  }
  // At this task packets of the first path may come from another adapter than reads from the other task do.
  void know_other_end(PeerIndex task) {
    constexpr PeerIndex kOtherEnd = 5;
    transport(task, 0).add_end(kOtherEnd, transport(kOrigin + kTarget - task, 0), kItsOrigin);
    job_.task(task).other_ends = {{&transport(task, 0), kOtherEnd}};
  }
  // They do, and go there.
  void come_from_there(PeerIndex task) { transport(task, 0).set_origins(0, kItsOrigin); }
  void lead_elsewhere(PeerIndex task) {
    know_other_end(task);
    come_from_there(task);
  }
  void end_all(unsigned path, bool done = true) {
    while (!reader(path).under_way.empty()) reader(path).end(0, done);
  }
  // A put over links of these speeds, in MiB per ms; how many ms it takes.
  double put_over(const std::array<double, 2>& speeds) {
    constexpr double kStep = 0.05;   // ms
    std::array<double, 2> credit{};  // bytes
    put();
    double steps = 0;
    for (; done_ == 0 && steps < 100'000; ++steps) {
      for (unsigned path = 0; path < 2; ++path) {
        credit[path] += speeds[path] * kMiB * kStep;
        auto& under_way = reader(path).under_way;
        while (!under_way.empty() && credit[path] >= static_cast<double>(under_way[0].length)) {
          credit[path] -= static_cast<double>(under_way[0].length);
          reader(path).end(0, true);
        }
        if (under_way.empty()) credit[path] = 0;
      }
      pass(static_cast<Nanoseconds>(kStep * kMillisecond));
    }
    EXPECT_TRUE(sink_ == source_);
    return steps * kStep;
  }
  // Over this path, as long as it takes something.
  void let_bring(unsigned path) {
    while (!reader(path).under_way.empty()) {
      reader(path).end(0, true);
      settle();
    }
  }
  void expect_arrived(unsigned messages_by_adapters, unsigned fallbacks) {
    for (PeerIndex task : {kOrigin, kTarget}) job_[task].drained();
    settle();
    EXPECT_EQ(done_, 1);
    EXPECT_TRUE(sink_ == source_);
    const MessageStatistics statistics = job_[kTarget].statistics(StatisticsPath::network);
    EXPECT_EQ(statistics.bulk_received, messages_by_adapters);
    EXPECT_EQ(statistics.bulk_fallbacks, fallbacks);
    for (PeerIndex task : {kOrigin, kTarget}) {
      EXPECT_TRUE(job_[task].drained());
      for (unsigned path = 0; path < 2; ++path) EXPECT_EQ(of(task, path).exposed(), 0u) << task << path;
    }
  }

  std::array<std::array<ScriptedBulkMemory, 2>, 2> adapters_;  // outlive the endpoints
  Job job_;
  std::vector<unsigned char> source_, sink_;
  int done_ = 0;
};

TEST_F(BulkPaths, ShareALongMessage) {
  put();
  expect_arrived(1, 0);
  for (unsigned path = 0; path < 2; ++path) {
    EXPECT_EQ(of(kOrigin, path).exposures, 1u);
    EXPECT_GE(reader(path).begun, 4u);
  }
  get();
  expect_arrived(2, 0);
  for (unsigned path = 0; path < 2; ++path) EXPECT_GE(reader(path).begun, 8u);
  std::uint64_t read = 0;
  for (const PathStatus& status : job_[kTarget].peers().paths_to(kOrigin)) read += status.read;
  EXPECT_EQ(read, 4 * kMiB);
}

TEST_F(BulkPaths, LeaveAMessageThatIsNotLongToOne) {
  set_length(EndpointConfig{}.bulk_shared_minimum - 1);
  put();
  expect_arrived(1, 0);
  EXPECT_EQ(of(kOrigin, 0).exposures, 1u);
  EXPECT_EQ(of(kOrigin, 1).exposures, 0u);
  EXPECT_EQ(reader(0).begun, 1u);
  EXPECT_EQ(reader(1).begun, 0u);
}

class CrossedBulkPaths : public BulkPaths {
 protected:
  CrossedBulkPaths() : BulkPaths(true) {}
};

// The scripted adapters check whose memory they read.
TEST_F(CrossedBulkPaths, FindTheirKeys) {
  put();
  expect_arrived(1, 0);
  for (unsigned path = 0; path < 2; ++path) EXPECT_GE(reader(path).begun, 4u);
}

TEST_F(BulkPaths, AnAdapterThatCannotExposeIsLeftOut) {
  of(kOrigin, 0).refuses_to_expose = true;
  put();
  expect_arrived(1, 0);
  EXPECT_EQ(reader(0).begun, 0u);
  EXPECT_EQ(job_[kOrigin].statistics(StatisticsPath::network).bulk_fallbacks, 0u);
}

// Each reads as fast as its link, and neither is waited for at the end.
TEST_F(BulkPaths, ShareByTheirSpeed) {
  hold_endings();
  set_length(64 * kMiB);
  for (const std::array<double, 2>& speeds : {std::array{1.0, 1.0}, {1.0, 0.1}, {0.1, 1.0}, {0.5, 1.0}}) {
    EXPECT_LT(put_over(speeds), 64 / (speeds[0] + speeds[1]) * 1.06) << speeds[0] << " and " << speeds[1];
  }
}

TEST_F(BulkPaths, AFastOneWithoutRoomIsNotWaitedFor) {
  hold_endings();
  put_over({1, 0.5});
  reader(0).room = 0;
  put();
  let_bring(1);
  expect_arrived(2, 0);
}

// What has failed is begun anew only when it has ended.
TEST_F(BulkPaths, WhatOneHasNotBroughtAnotherBrings) {
  hold_endings();
  put();
  ASSERT_EQ(reader(0).under_way.size(), tuning::kBulkReadsPerPath);
  reader(0).end(1, false);
  let_bring(1);
  EXPECT_EQ(done_, 0);
  ASSERT_EQ(reader(0).under_way.size(), 1u) << "one that has failed begins nothing more";
  reader(0).end(0, true);
  settle();
  let_bring(1);
  expect_arrived(1, 0);
}

TEST_F(BulkPaths, ALinkThatIsDownHoldsNobodyUp) {
  hold_endings();
  put();
  transport(kTarget, 0).say_of_link(false);
  pass(kMillisecond);
  EXPECT_EQ(reader(0).stops, 0u) << "the other one has enough to do";
  let_bring(1);
  EXPECT_EQ(reader(0).stops, 1u);
  EXPECT_EQ(done_, 0) << "its reads have not ended";
  end_all(0, false);
  settle();
  let_bring(1);
  EXPECT_EQ(reader(0).stops, 1u);
  expect_arrived(1, 0);
}

TEST_F(BulkPaths, ALinkThatIsWronglySaidToBeDownIsWaitedFor) {
  transport(kTarget, 0).say_of_link(false);
  put();
  expect_arrived(1, 0);
  for (int n = 0; n < 100; ++n) pass(kMillisecond);  // it answers a probe
  hold_endings();
  put();
  ASSERT_FALSE(reader(0).under_way.empty());
  let_bring(1);
  pass(tuning::kBulkPatience / 2);
  EXPECT_EQ(reader(0).stops, 0u);
  end_all(0);
  settle();
  let_bring(1);
  expect_arrived(2, 0);
}

TEST_F(BulkPaths, WhatOnlyOneReadsComesInPacketsWhenItsLinkIsDown) {
  set_length(200'000);
  hold_endings();
  put();
  ASSERT_EQ(reader(0).under_way.size(), 1u);
  transport(kTarget, 0).say_of_link(false);
  pass(2 * kMillisecond);
  EXPECT_EQ(reader(0).stops, 1u);
  EXPECT_EQ(done_, 0) << "its reads have not ended";
  end_all(0, false);
  settle();
  expect_arrived(0, 1);
}

TEST_F(BulkPaths, OneThatGoesSilentHoldsNobodyUpForLong) {
  hold_endings();
  put();
  let_bring(1);
  pass(tuning::kBulkPatience / 2);
  EXPECT_EQ(reader(0).stops, 0u);
  pass(tuning::kBulkPatience);
  EXPECT_EQ(reader(0).stops, 1u);
  end_all(0, false);
  settle();
  let_bring(1);
  expect_arrived(1, 0);
}

TEST_F(BulkPaths, WhenNoneServesTheDataComesInPackets) {
  hold_endings();
  put();
  end_all(0, false);
  settle();
  end_all(1, false);
  settle();
  expect_arrived(0, 1);
  EXPECT_EQ(job_[kOrigin].statistics(StatisticsPath::network).bulk_fallbacks, 1u);
}

TEST_F(BulkPaths, OneThatHasFailedIsUsedAgainLater) {
  hold_endings();
  put();
  end_all(0, false);
  settle();
  let_bring(1);
  expect_arrived(1, 0);
  hold_endings(false);
  const auto begun = reader(0).begun;
  put();
  expect_arrived(2, 0);
  EXPECT_EQ(reader(0).begun, begun) << "it rests";
  put();
  EXPECT_EQ(reader(0).begun, begun) << "no packet has shown yet that it serves";
  for (int n = 0; n < 10; ++n) pass(tuning::kFirstProbePause);
  put();
  expect_arrived(4, 0);
  EXPECT_GT(reader(0).begun, begun);
}

// It rests for longer each time; a message of which it has read nothing says nothing of it.
TEST_F(BulkPaths, OneThatHasReadNothingHasNotSucceeded) {
  const auto put_messages = [&](unsigned messages) {
    for (unsigned n = 0; n != messages; ++n) put();
  };
  reader(0).begins_until_failure = 0;
  put_messages(1 + 1 + 1 + 3);  // fails, rests for one, fails, rests for three
  reader(0).begins_until_failure = SIZE_MAX;
  reader(0).room = 0;
  put();
  reader(0).room = SIZE_MAX;
  reader(0).begins_until_failure = 0;
  put();
  reader(0).begins_until_failure = SIZE_MAX;
  put_messages(7);
  EXPECT_EQ(reader(0).begun, 0u);
  put();
  EXPECT_GT(reader(0).begun, 0u);
  expect_arrived(16, 0);
}

TEST_F(BulkPaths, OneThatLeadsElsewhereIsNotOffered) {
  lead_elsewhere(kOrigin);
  put();
  const auto exposures = of(kOrigin, 0).exposures;
  put();
  expect_arrived(2, 0);
  EXPECT_EQ(of(kOrigin, 0).exposures, exposures);
  EXPECT_EQ(of(kOrigin, 1).exposures, 2u);
}

TEST_F(BulkPaths, NothingIsReadOverOneThatLeadsElsewhere) {
  lead_elsewhere(kTarget);
  put();
  expect_arrived(1, 0);
  EXPECT_EQ(of(kOrigin, 0).exposures, 1u);
  EXPECT_EQ(reader(0).begun, 0u);
  EXPECT_GT(reader(1).begun, 0u);
}

TEST_F(BulkPaths, OneThatComesToLeadElsewhereBringsNoMore) {
  know_other_end(kTarget);
  set_length(8 * kMiB);
  hold_endings();
  put();
  const std::size_t begun = reader(0).begun;
  ASSERT_GT(begun, 0u);
  come_from_there(kTarget);
  unsigned char small = 7, there = 0;
  ASSERT_EQ(job_[kOrigin].put({kTarget, address(&there), &small, 1, 0, 0, 0}), Submit::accepted);
  settle();
  ASSERT_EQ(there, 7);
  end_all(0);
  settle();
  EXPECT_EQ(reader(0).begun, begun);
  hold_endings(false);
  let_bring(1);
  expect_arrived(1, 0);
  EXPECT_EQ(reader(0).begun, begun);
}

class BulkPathsThatComeBack : public BulkPaths {
 protected:
  // The origin hears nothing over the first path.
  void silence_the_first() {
    transport(kOrigin, 0).make_lossy(1, 1);
    unsigned char small = 7, there = 0;
    ASSERT_EQ(job_[kOrigin].put({kTarget, address(&there), &small, 1, 0, 0, 0}), Submit::accepted);
    for (int n = 0; n < 25; ++n) pass(kMillisecond);
    ASSERT_EQ(there, 7);
  }
  // To one that was silent, while the other one has brought little of it.
  void put_over_the_second() {
    set_length(16 * kMiB);
    hold_endings();
    put();
    ASSERT_EQ(reader(0).begun, 0u);
    ASSERT_EQ(reader(1).under_way.size(), tuning::kBulkReadsPerPath);
  }
  void wait_for_probes() {
    for (int n = 0; n < 100; ++n) pass(kMillisecond);
  }
  void expect_both_bring_the_rest() {
    reader(1).end(0, true);
    settle();
    EXPECT_GT(reader(0).begun, 0u);
    hold_endings(false);
    for (unsigned path = 0; path < 2; ++path) end_all(path);
    settle();
    EXPECT_GT(reader(0).begun, 3u);
    expect_arrived(1, 0);
  }
};

TEST_F(BulkPathsThatComeBack, JoinTheMessageThatIsUnderWay) {
  transport(kTarget, 0).say_of_link(false);
  put_over_the_second();
  transport(kTarget, 0).say_of_link(true);
  wait_for_probes();
  expect_both_bring_the_rest();
}

// As where the first answers are late: the origin cannot know when the reader finds that it serves.
TEST_F(BulkPathsThatComeBack, AreOfferedWhileTheyAreSilent) {
  silence_the_first();
  hold_endings();
  put();
  EXPECT_EQ(of(kOrigin, 0).exposures, 1u);
  EXPECT_FALSE(reader(0).under_way.empty()) << "the reader has sent nothing over it that was lost";
  hold_endings(false);
  for (unsigned path = 0; path < 2; ++path) end_all(path);
  settle();
  expect_arrived(1, 0);
}

TEST_F(BulkPathsThatComeBack, WereNotToBlameForWhatTheOthersDidNotBring) {
  transport(kTarget, 0).say_of_link(false);
  silence_the_first();
  put_over_the_second();
  EXPECT_EQ(of(kOrigin, 0).exposures, 1u);
  end_all(1, false);
  for (int n = 0; n < 2000 && done_ == 0; ++n) pass(kMillisecond);
  expect_arrived(0, 1);
  transport(kOrigin, 0).make_lossy(0, 1);
  transport(kTarget, 0).say_of_link(true);
  wait_for_probes();
  hold_endings(false);
  put();
  EXPECT_EQ(of(kOrigin, 0).exposures, 2u) << "it does not rest";
  EXPECT_EQ(of(kOrigin, 1).exposures, 1u);
  expect_arrived(1, 1);
}

TEST_F(BulkPathsThatComeBack, MakeTheReadsOfTheOnlyOneNoShorterWhileTheyAreSilent) {
  transport(kTarget, 0).say_of_link(false);
  set_length(4 * kMiB);
  put();
  EXPECT_EQ(reader(0).begun, 0u);
  EXPECT_EQ(reader(1).begun, 4 * kMiB / tuning::kLongestBulkChunk);
  expect_arrived(1, 0);
}

TEST_F(BulkPathsThatComeBack, DoNotBringWhatTheOthersDoNotWhileTheyAreSilent) {
  transport(kTarget, 0).say_of_link(false);
  put_over_the_second();
  end_all(1, false);
  settle();
  EXPECT_EQ(reader(0).begun, 0u);
  expect_arrived(0, 1);
}

// As where memory cannot be pinned: packets pass as before.
TEST_F(BulkPaths, MemoryThatAnAdapterCannotReadIntoIsNoReasonToDoubtThePath) {
  reader(0).begins_until_failure = 0;
  put();
  expect_arrived(1, 0);
  for (const PathStatus& path : job_[kTarget].peers().paths_to(kOrigin)) EXPECT_EQ(path.silent_since, 0u);
}

// The origin knows it, too, and does not offer what cannot be read.
TEST_F(BulkPaths, OneWhoseLinkIsDownIsNotOffered) {
  put();
  transport(kOrigin, 0).say_of_link(false);
  pass(kMillisecond);
  put();
  expect_arrived(2, 0);
  EXPECT_EQ(of(kOrigin, 0).exposures, 1u);
  EXPECT_EQ(of(kOrigin, 1).exposures, 2u);
  transport(kOrigin, 0).say_of_link(true);
  for (int n = 0; n < 100; ++n) pass(10 * kMillisecond);
  put();
  expect_arrived(3, 0);
  EXPECT_EQ(of(kOrigin, 0).exposures, 2u);
}

}  // namespace
}  // namespace openlapi
