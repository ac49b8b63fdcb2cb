// Two tasks that share memory; one takes no step for longer than the time-out of the other, is given up, and goes on.
// Whatever was under way then: it learns of it, nothing waits for ever, and nothing of before is carried out any more.
#include <gtest/gtest.h>

#include <numeric>

#include "dataplane/counter/counters.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

constexpr PeerIndex kSurvivor = 0;
constexpr PeerIndex kStopped = 1;

enum class Kind { put, get, rmw, message };

struct Case {
  Kind kind;
  std::size_t bytes;
  bool readable;
};

// One operation of each side with all that it moves.
struct Side {
  explicit Side(std::size_t bytes) : source(bytes), sink(bytes) {
    std::iota(source.begin(), source.end(), static_cast<unsigned char>(1));
  }
  std::vector<unsigned char> source, sink;
  std::uint64_t word = 0;
  int target = 0, completion = 0;
};

class StoppedSharer : public testing::TestWithParam<Case> {
 protected:
  StoppedSharer() : job_(2, config()) {
    for (PeerIndex i = 0; i < 2; ++i) {
      job_.task(i).transport.set_room(4);
      if (GetParam().readable) job_.task(i).transport.make_readable();
      job_.task(i).host.on_header = [this, i](const ArrivedMessage&) {
        return HeaderVerdict{Delivery::deliver, CompletionStyle::thread, here_[i]->sink.data(), nullptr, nullptr};
      };
    }
    job_.start();
  }

  static EndpointConfig config() {
    EndpointConfig config = small_copies();
    config.copy_buffers = 32;
    config.timeout = 10 * kSecond;
    config.idle_loops_between_timers = 1;
    return config;
  }

  // From `from` to the other one, whose memory is `there`.
  void begin(PeerIndex from, Side& mine, Side& there) {
    const auto [kind, bytes, readable] = GetParam();
    const PeerIndex to = 1 - from;
    here_[to] = &there;
    Endpoint& engine = job_[from];
    switch (kind) {
      case Kind::put:
        ASSERT_EQ(engine.put({to, address(there.sink.data()), mine.source.data(), bytes, address(&there.target), 0,
                              address(&mine.completion)}),
                  Submit::accepted);
        return;
      case Kind::get:
        ASSERT_EQ(engine.get({to, address(there.source.data()), mine.sink.data(), bytes, address(&there.target),
                              address(&mine.completion)}),
                  Submit::accepted);
        return;
      case Kind::rmw:
        ASSERT_EQ(engine.read_modify_write({to, wire::RmwOperation::fetch_and_add, 8, address(&there.word), 1, 0,
                                            nullptr, address(&mine.completion)}),
                  Submit::accepted);
        return;
      case Kind::message:
        ASSERT_EQ(engine.active_message({to, 1, nullptr, 0, mine.source.data(), bytes, address(&there.target), 0,
                                         address(&mine.completion)}),
                  Submit::accepted);
        return;
    }
  }

  // A question that only the other one's steps answer: what it owes is noticed.
  void ask(PeerIndex from) {
    ASSERT_EQ(job_[from].read_modify_write(
                  {1 - from, wire::RmwOperation::fetch_and_add, 8, address(&asked_), 1, 0, nullptr, 0}),
              Submit::accepted);
  }

  void run(Nanoseconds time, bool both) {
    for (Nanoseconds passed = 0; passed < time; passed += 10 * kMillisecond) {
      for (unsigned step = 0; step < (both ? 20 : 1); ++step) {
        job_[kSurvivor].progress();
        if (both) job_[kStopped].progress();
      }
      job_.clock.advance(10 * kMillisecond);
    }
  }

  bool ended(PeerIndex of, const Side& side) {
    return side.completion != 0 || job_[of].counters().loss_of(address(&side.completion)) == CounterLoss::peer_lost;
  }

  // What both begin now is as between two of which nothing is known.
  void expect_fresh_operations_complete() {
    Side mine(GetParam().bytes), there(GetParam().bytes);
    for (const PeerIndex from : {kSurvivor, kStopped}) {
      mine.completion = there.target = 0;
      begin(from, mine, there);
      const FenceTicket fence = job_[from].fences().begin();
      run(2 * kSecond, true);
      EXPECT_EQ(mine.completion, 1) << "of task " << from;
      EXPECT_EQ(job_[from].fences().state(fence), FenceState::done) << "of task " << from;
      EXPECT_TRUE(job_[from].drained());
    }
  }

  Job job_;
  std::uint64_t asked_ = 0;
  Side* here_[2] = {};  // the memory of each task that messages go to
};

TEST_P(StoppedSharer, LearnsThatItWasGivenUpAndNothingHangs) {
  const std::size_t bytes = GetParam().bytes;
  Side before(bytes), before_there(bytes), owed(bytes), owed_there(bytes);
  begin(kStopped, before, before_there);  // as much of it leaves as there is room for
  begin(kSurvivor, owed, owed_there);
  job_[kStopped].progress();
  // It stops.
  run(kSecond, false);
  begin(kSurvivor, owed, owed_there);
  ask(kSurvivor);
  job_[kSurvivor].fences().begin();
  run(12 * kSecond, false);
  const auto& faults = job_.task(kSurvivor).host.faults;
  ASSERT_EQ(faults, std::vector(1, std::pair(Fault::timeout, kStopped)));
  EXPECT_TRUE(ended(kSurvivor, owed));
  const Side given_up = before_there;
  const std::uint64_t word = before_there.word;

  // The survivor and the stopped one, before it knows, begin something.
  Side fresh(bytes), fresh_there(bytes), late(bytes), late_there(bytes);
  begin(kSurvivor, fresh, fresh_there);
  begin(kStopped, late, late_there);
  const FenceTicket fence = job_[kStopped].fences().begin();
  const FenceTicket survivors_fence = job_[kSurvivor].fences().begin();
  run(5 * kSecond, true);

  const auto& told = job_.task(kStopped).host.faults;
  ASSERT_FALSE(told.empty()) << "it has not learned it";
  EXPECT_EQ(told.front().second, kSurvivor);
  EXPECT_NE(job_[kStopped].fences().state(fence), FenceState::pending);
  EXPECT_EQ(job_[kSurvivor].fences().state(survivors_fence), FenceState::done);
  EXPECT_TRUE(ended(kStopped, before));
  EXPECT_TRUE(ended(kStopped, late));
  EXPECT_EQ(fresh.completion, 1) << "it was begun after the other was given up";
  EXPECT_EQ(faults.size(), 1u) << "given up once";
  EXPECT_EQ(before_there.sink, given_up.sink) << "carried out after it was given up";
  EXPECT_EQ(before_there.target, given_up.target);
  EXPECT_EQ(before_there.word, word);
  EXPECT_EQ(late_there.target, 0);
  EXPECT_EQ(late_there.word, 0u);
  for (PeerIndex i = 0; i < 2; ++i) EXPECT_TRUE(job_[i].drained()) << i;
  expect_fresh_operations_complete();
}

// What the one says of its new era is lost with all that it has sent.
TEST_P(StoppedSharer, BothGiveEachOtherUpAtOnce) {
  const std::size_t bytes = GetParam().bytes;
  Side mine(bytes), there(bytes), others(bytes), others_there(bytes);
  job_[kSurvivor].hold_arrivals(true);
  begin(kStopped, mine, there);
  begin(kSurvivor, others, others_there);
  for (PeerIndex i = 0; i < 2; ++i) ask(i);
  run(12 * kSecond, false);
  job_[kSurvivor].hold_arrivals(false);
  // The other one does so before it can see that; its engine ends the rest as soon as it does.
  job_.task(kStopped).transport.give_up_peer(kSurvivor);
  run(5 * kSecond, true);
  for (PeerIndex i = 0; i < 2; ++i) {
    ASSERT_FALSE(job_.task(i).host.faults.empty());
    EXPECT_EQ(job_.task(i).host.faults.front().second, 1 - i);
  }
  EXPECT_TRUE(ended(kStopped, mine));
  EXPECT_TRUE(ended(kSurvivor, others));
  EXPECT_EQ(there.target + others_there.target, 0);
  EXPECT_EQ(there.word + others_there.word, 0u);
  expect_fresh_operations_complete();
}

// The survivor gives it up again and again; of what it begins in between only the latest counts.
TEST_P(StoppedSharer, MayBeGivenUpManyTimes) {
  const std::size_t bytes = GetParam().bytes;
  std::vector<Side> sides(6, Side(bytes)), there(6, Side(bytes));
  begin(kStopped, sides[0], there[0]);
  for (std::size_t i = 1; i < sides.size(); ++i) {
    begin(kSurvivor, sides[i], there[i]);
    ask(kSurvivor);
    if (i + 1 != sides.size()) run(12 * kSecond, false);
  }
  run(5 * kSecond, true);
  EXPECT_EQ(job_.task(kSurvivor).host.faults.size(), sides.size() - 2);
  EXPECT_EQ(sides.back().completion, 1);
  EXPECT_TRUE(ended(kStopped, sides[0]));
  for (std::size_t i = 1; i + 1 < sides.size(); ++i) EXPECT_TRUE(ended(kSurvivor, sides[i])) << i;
  expect_fresh_operations_complete();
}

// A message without counters, sent before it knows: its fence finds nothing to wait for, and nobody else misses it.
TEST_P(StoppedSharer, HearsOfALossThatNobodyWaitsFor) {
  ask(kStopped);
  run(kSecond, true);
  ask(kSurvivor);
  run(12 * kSecond, false);
  ASSERT_EQ(job_.task(kSurvivor).host.faults.size(), 1u);
  std::uint64_t there = 0;
  const std::uint64_t value = 7;
  ASSERT_EQ(job_[kStopped].put({kSurvivor, address(&there), &value, sizeof value, 0, 0, 0}), Submit::accepted);
  run(5 * kSecond, true);
  EXPECT_EQ(there, 0u);
  EXPECT_EQ(job_.task(kStopped).host.faults, std::vector(1, std::pair(Fault::no_connectivity, kSurvivor)));
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  constexpr const char* kNames[] = {"put", "get", "rmw", "message"};
  const auto& [kind, bytes, readable] = info.param;
  return kNames[static_cast<int>(kind)] + std::to_string(bytes) + (readable ? "readable" : "");
}

std::vector<Case> cases() {
  std::vector<Case> all{{Kind::rmw, 8, false}};
  for (const Kind kind : {Kind::put, Kind::get, Kind::message}) {
    for (const std::size_t bytes : {8, 2'000, 20'000, 1'000'000}) {
      all.push_back({kind, bytes, false});
      if (bytes > 2'000) all.push_back({kind, bytes, true});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ways, StoppedSharer, testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace openlapi
