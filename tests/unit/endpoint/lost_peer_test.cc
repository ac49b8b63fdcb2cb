// The borders of a peer's incarnation: who counts as lost, what of it still counts, and what nobody may do for it any
// more.
#include <gtest/gtest.h>

#include "dataplane/base/epoch.h"
#include "dataplane/counter/counters.h"
#include "dataplane/sync/collectives.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

EndpointConfig watchful() {
  EndpointConfig config = small_copies();
  config.job_key = {0x1234, 0};
  config.epoch = 10;
  config.timeout = 10 * kSecond;
  config.idle_loops_between_timers = 1;
  return config;
}

// Task `index` as a new process at its old place.
void bear_again(Job& job, EndpointConfig config, PeerIndex index) {
  Task& task = job.task(index);
  task.endpoint.reset();
  task.transport.forget_waiting();
  config.tasks = 2;
  config.self = index;
  config.epoch = 20;
  Transport* transport = &task.transport;
  task.endpoint = std::make_unique<Endpoint>(config, std::span(&transport, 1), job.clock, task, task.host);
}

TEST(LostPeer, OneThatTakesALittleNowAndThenIsNotLost) {
  Job job(2, watchful());
  job.task(1).transport.set_room(1);
  job.start();
  int value = 1, sink = 0;
  unsigned accepted = 0;
  for (int round = 0; round < 6; ++round) {
    while (job[0].put({1, address(&sink), &value, sizeof(value), 0, 0, 0}) == Submit::accepted) ++accepted;
    for (int step = 0; step < 3; ++step) {
      job.clock.advance(2 * kSecond);
      job[0].progress();
    }
    job[1].progress();
    job[0].progress();
  }
  EXPECT_GE(accepted, 8u) << "it took one in each round";
  EXPECT_TRUE(job.task(0).host.faults.empty()) << "36 seconds, but never more than 6 without progress";
}

TEST(LostPeer, WhatItSentBeforeItEndedCountsAlsoWhenArrivalsAreHeld) {
  Job job(2, watchful());
  job.start();
  int value = 1, sink = 0;
  ASSERT_EQ(job[1].put({0, address(&sink), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
  job[1].collectives().begin_barrier();
  job[0].collectives().begin_barrier();
  job.task(0).transport.set_gone(1);
  const auto run = [&] {
    for (int step = 0; step < 10; ++step) {
      job.clock.advance(kSecond);
      job[0].progress();
    }
  };
  job[0].hold_arrivals(true);
  run();
  EXPECT_TRUE(job.task(0).host.faults.empty());
  EXPECT_EQ(job[0].collectives().state(), CollectiveState::pending);
  job[0].hold_arrivals(false);
  run();
  EXPECT_EQ(sink, 1);
  EXPECT_EQ(job[0].collectives().state(), CollectiveState::done);
  EXPECT_TRUE(job.task(0).host.faults.empty());
}

// Nobody has lost the one that waits, and it loses nobody but the one that holds it up.
TEST(LostPeer, WhoHoldsUpAllOthersIsGivenUp) {
  Job job(3, watchful());
  job.start();
  int value = 1, sink = 0;
  ASSERT_EQ(job[2].put({0, address(&sink), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
  job.task(0).transport.hold_turn(1);
  const auto run = [&](unsigned steps) {
    for (unsigned step = 0; step < steps; ++step) {
      job.clock.advance(100 * kMillisecond);
      job[0].progress();
    }
  };
  run(90);
  EXPECT_TRUE(job.task(0).host.faults.empty());
  EXPECT_EQ(sink, 0);
  run(20);
  ASSERT_EQ(job.task(0).host.faults.size(), 1u);
  EXPECT_EQ(job.task(0).host.faults[0], std::pair(Fault::timeout, PeerIndex{1}));
  EXPECT_EQ(sink, 1);
}

// It ends in order behind one that is about to hand over a packet: what it has sent before is there, and counts.
TEST(LostPeer, WhatItSentBeforeItEndedCountsAlsoBehindAnothersTurn) {
  Job job(3, watchful());
  job.start();
  int value = 7, sink = 0, counter = 0;
  ASSERT_EQ(job[0].get({2, address(&value), &sink, sizeof(sink), 0, address(&counter)}), Submit::accepted);
  job[2].progress();
  job.task(0).transport.hold_turn(1);
  job.task(0).transport.set_gone(2, true);
  for (int step = 0; step < 20; ++step) {
    job.clock.advance(100 * kMillisecond);
    job[0].progress();
  }
  EXPECT_TRUE(job.task(0).host.faults.empty());
  job.task(0).transport.hold_turn(kUnknownPeer);
  for (int step = 0; step < 20; ++step) {
    job.clock.advance(100 * kMillisecond);
    job[0].progress();
  }
  EXPECT_EQ(counter, 1);
  EXPECT_EQ(sink, 7);
  EXPECT_TRUE(job.task(0).host.faults.empty());
}

// Time-outs are looked at once in 8,192 steps, which may be minutes; but not while somebody's turn is awaited.
TEST(LostPeer, WhoHoldsUpAllOthersIsGivenUpInTimeByATaskThatComesHereSeldom) {
  EndpointConfig config = watchful();
  config.idle_loops_between_timers = 8192;
  Job job(3, config);
  job.start();
  job.task(0).transport.hold_turn(1);
  unsigned steps = 0;
  for (; steps < 20'000 && job.task(0).host.faults.empty(); ++steps) {
    job.clock.advance(50 * kMillisecond);
    job[0].progress();
  }
  EXPECT_LE(steps, 8192u + 10'000 / 50 + 10);
}

TEST(LostPeer, ItsEndIsToldAlsoWhileOthersSendWithoutEnd) {
  Job job(3, watchful());
  job.start();
  int value = 7, sink = 0, counter = 0;
  ASSERT_EQ(job[0].get({1, address(&value), &sink, sizeof(sink), 0, address(&counter)}), Submit::accepted);
  job.task(0).transport.set_gone(1);
  for (int step = 0; step < 20; ++step) {
    ASSERT_EQ(job[2].put({0, address(&sink), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
    job[2].progress();
    job.clock.advance(100 * kMillisecond);
    job[0].progress();
  }
  ASSERT_EQ(job.task(0).host.faults.size(), 1u);
  EXPECT_EQ(job.task(0).host.faults[0], std::pair(Fault::no_connectivity, PeerIndex{1}));
}

TEST(LostPeer, WhoHasEndedCostsNothingAfterItIsLost) {
  Job job(2, watchful());
  job.start();
  int value = 7, sink = 0, counter = 0;
  ASSERT_EQ(job[0].get({1, address(&value), &sink, sizeof(sink), 0, address(&counter)}), Submit::accepted);
  job.task(1).transport.set_room(0);
  job.task(0).transport.set_gone(1);
  for (int step = 0; step < 50; ++step) {
    job.clock.advance(100 * kMillisecond);
    job[0].progress();
  }
  ASSERT_EQ(job.task(0).host.faults.size(), 1u);
  EXPECT_EQ(job[0].deadline(), UINT64_MAX);
}

// A task that was stopped for longer than its peer's time-out, and goes on: what it is owed will never come, and it
// learns that within its own time-out, whatever it waits for and however full its queue was.
enum class Way {
  full_queue,
  queue_with_room,
  packets,       // over an unreliable transport
  lost_packets,  // what was sent to it while it was stopped is lost
};
class StoppedTask : public testing::TestWithParam<Way> {};

std::string name_of(const testing::TestParamInfo<Way>& way) {
  constexpr const char* kNames[] = {"full_queue", "queue_with_room", "packets", "lost_packets"};
  return kNames[static_cast<int>(way.param)];
}

TEST_P(StoppedTask, LearnsThatItWasGivenUp) {
  const EndpointConfig config = watchful();
  const bool reliable = GetParam() == Way::full_queue || GetParam() == Way::queue_with_room;
  Job job(2, config);
  for (PeerIndex i = 0; i < 2 && !reliable; ++i) job.task(i).transport.make_lossy(0, 1);
  job.start();
  const auto run = [&](PeerIndex last) {
    for (int step = 0; step < 150; ++step) {
      for (PeerIndex i = 0; i <= last; ++i) job[i].progress();
      job.clock.advance(100 * kMillisecond);
    }
  };
  int value = 1, sink = 0, counter = 0, completion = 0;
  ASSERT_EQ(job[0].put({1, address(&sink), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
  ASSERT_EQ(job[1].put({0, address(&sink), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
  run(1);
  ASSERT_EQ(job[1].get({0, address(&value), &sink, sizeof(sink), 0, address(&counter)}), Submit::accepted);
  ASSERT_EQ(job[1].put({0, address(&sink), &value, sizeof(value), 0, 0, address(&completion)}), Submit::accepted);
  job[1].collectives().begin_barrier();
  if (!reliable) job[1].progress();  // what it asks for is on the way
  // Task 1 stops.
  if (reliable) job.task(1).transport.set_room(GetParam() == Way::full_queue ? 0 : 1);
  ASSERT_EQ(job[0].put({1, address(&sink), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
  run(0);
  ASSERT_FALSE(job.task(0).host.faults.empty());
  EXPECT_EQ(job.task(0).host.faults[0], std::pair(Fault::timeout, PeerIndex{1}));
  job.task(1).transport.set_room(1000);
  if (GetParam() == Way::lost_packets) job.task(1).transport.forget_waiting();
  run(1);
  run(1);
  EXPECT_NE(job[1].collectives().state(), CollectiveState::pending);
  EXPECT_TRUE(counter == 1 || job[1].counters().loss_of(address(&counter)) == CounterLoss::peer_lost);
  EXPECT_TRUE(completion == 1 || job[1].counters().loss_of(address(&completion)) == CounterLoss::peer_lost);
  // Both go on as with a task of which nothing is known.
  int again = 0, back = 0;
  ASSERT_EQ(job[0].get({1, address(&value), &sink, sizeof(sink), 0, address(&again)}), Submit::accepted);
  ASSERT_EQ(job[1].get({0, address(&value), &sink, sizeof(sink), 0, address(&back)}), Submit::accepted);
  run(1);
  EXPECT_EQ(again, 1);
  EXPECT_EQ(back, 1);
}

INSTANTIATE_TEST_SUITE_P(Ways, StoppedTask,
                         testing::Values(Way::full_queue, Way::queue_with_room, Way::packets, Way::lost_packets),
                         name_of);

// Each time the two begin anew with each other; the numbers for that have an end, and an old one would bring to life
// what was given up under it.
TEST(LostPeer, WhoWasGivenUpAsOftenAsCanBeToldIsLostForGood) {
  constexpr unsigned kBeginnings = 1u << kBeginningBits;
  EndpointConfig config = watchful();
  config.epoch = kBeginnings;
  Job job(2, config);
  for (PeerIndex i = 0; i < 2; ++i) job.task(i).transport.make_lossy(0, 1);
  job.start();
  int value = 1, sink = 0, counter = 0;
  const auto put = [&](PeerIndex from) {
    return job[from].put({1 - from, address(&sink), &value, sizeof(value), address(&counter), 0, 0});
  };
  const auto run = [&](PeerIndex last) {
    for (int step = 0; step < 150; ++step) {
      for (PeerIndex i = 0; i <= last; ++i) job[i].progress();
      job.clock.advance(100 * kMillisecond);
    }
  };
  const auto& faults = job.task(0).host.faults;
  for (unsigned times = 1; times <= kBeginnings; ++times) {
    ASSERT_EQ(put(0), Submit::accepted);
    run(1);
    ASSERT_EQ(put(0), Submit::accepted);
    run(0);  // task 1 is stopped for longer than the time-out
    ASSERT_EQ(faults.size(), times);
    ASSERT_EQ(faults.back(), std::pair(times < kBeginnings ? Fault::timeout : Fault::lost_for_good, PeerIndex{1}));
    job.task(1).transport.forget_waiting();
  }
  counter = 0;
  EXPECT_EQ(put(0), Submit::unreachable);
  job.task(1).host.faults.clear();
  ASSERT_EQ(put(1), Submit::accepted);
  run(1);
  EXPECT_EQ(counter, 0);
  EXPECT_EQ(job.task(1).host.faults, std::vector(1, std::pair(Fault::timeout, PeerIndex{0}))) << "no answer";
  EXPECT_EQ(faults.size(), kBeginnings) << "told once";
  for (PeerIndex i = 0; i < 2; ++i) {
    job[i].purge(1 - i);
    job[i].resume(1 - i, 2 * kBeginnings);
  }
  ASSERT_EQ(put(0), Submit::accepted);
  ASSERT_EQ(put(1), Submit::accepted);
  run(1);
  EXPECT_EQ(counter, 2);
}

// Task 0 has given task 1 up before it was heard. What task 1 sends first arrives, or its user hears that it is lost.
class NeverHeard : public testing::TestWithParam<bool> {};

TEST_P(NeverHeard, LosesNothingInSilence) {
  EndpointConfig config = watchful();
  config.epoch = 1u << kBeginningBits;
  Job job(2, config);
  for (PeerIndex i = 0; i < 2; ++i) {
    job.task(i).transport.make_lossy(0, 1);
    job.task(i).epoch_of_peers = GetParam() ? config.epoch : 0;
  }
  job.start();
  int value = 1, sink = 0, given_up = 0, later = 0, first = 0;
  const auto run = [&](PeerIndex last) {
    for (int step = 0; step < 150; ++step) {
      for (PeerIndex i = 0; i <= last; ++i) job[i].progress();
      job.clock.advance(100 * kMillisecond);
    }
  };
  const auto put = [&](PeerIndex from, int* counter) {
    return job[from].put({1 - from, address(&sink), &value, sizeof(value), address(counter), 0, 0});
  };
  ASSERT_EQ(put(0, &given_up), Submit::accepted);
  run(0);
  EXPECT_EQ(job.task(0).host.faults, std::vector(1, std::pair(Fault::timeout, PeerIndex{1})));
  const auto late = job.task(1).transport.take_waiting();
  ASSERT_EQ(put(1, &first), Submit::accepted);
  ASSERT_EQ(put(0, &later), Submit::accepted);
  run(1);
  job.task(1).transport.put_back(late);
  run(1);
  EXPECT_EQ(later, 1);
  EXPECT_LE(given_up, 1);
  EXPECT_TRUE(first == 1 || !job.task(1).host.faults.empty()) << "task 1's first message is lost, and nobody was told";
  EXPECT_EQ(job.task(0).host.faults.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(EpochTold, NeverHeard, testing::Bool());

// Both incarnations give their first long message the same number.
TEST(LostPeer, ReadsOfItsMemoryEndWithIt) {
  constexpr std::size_t kLength = 5 * tuning::kAttachPiece;
  const EndpointConfig config = watchful();
  Job job(2, config);
  for (PeerIndex i = 0; i < 2; ++i) job.task(i).transport.make_readable();
  job.task(1).transport.set_room(0);
  job.start();
  const std::vector<unsigned char> former(kLength, 1), present(kLength, 2);
  std::vector<unsigned char> sink(kLength), second_sink(kLength);
  int value = 1, target = 0;
  ASSERT_EQ(job[0].put({1, address(&value), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
  constexpr Nanoseconds kStep = kSecond / 2;
  const auto step = [&] {
    job.clock.advance(kStep);
    job[0].progress();
  };
  step();
  for (Nanoseconds passed = 0; passed < config.timeout - kStep; passed += kStep) step();
  ASSERT_EQ(job[1].put({0, address(sink.data()), former.data(), kLength, 0, 0, 0}), Submit::accepted);
  step();
  ASSERT_EQ(job.task(0).host.faults.size(), 1u) << "it took nothing for the whole time-out";
  ASSERT_GT(job.task(0).transport.reads(), 0u);
  ASSERT_LT(job.task(0).transport.reads(), 5u) << "the read is under way";

  bear_again(job, config, 1);
  job.task(1).transport.set_room(64);
  ASSERT_EQ(job[1].put({0, address(second_sink.data()), present.data(), kLength, address(&target), 0, 0}),
            Submit::accepted);
  job.settle();
  EXPECT_EQ(target, 1);
  EXPECT_TRUE(second_sink == present) << "something was read for the former incarnation";
}

// A program that starts again has its counters at the same addresses.
TEST(LostPeer, CompletionCountersBelongToTheIncarnationThatSentTheMessage) {
  const EndpointConfig config = watchful();
  Job job(2, config);
  for (PeerIndex i = 0; i < 2; ++i) job.task(i).transport.make_lossy(0, 1);
  job.start();
  int handler = 0, completion = 0;
  std::vector<CompletionRun> runs;  // whose handlers have not returned yet
  job.task(0).host.on_header = [&](const ArrivedMessage&) {
    return HeaderVerdict{Delivery::bury, CompletionStyle::thread, nullptr, &handler, nullptr};
  };
  job.task(0).host.on_completion = [&](const CompletionRun& run, bool) {
    runs.push_back(run);
    return false;
  };
  const auto send_one = [&] {
    ASSERT_EQ(job[1].active_message({0, 1, nullptr, 0, nullptr, 0, 0, 0, address(&completion)}), Submit::accepted);
  };
  const auto run = [&] {
    for (int step = 0; step < 50; ++step) {
      for (PeerIndex i = 0; i < 2; ++i) job[i].progress();
      job.clock.advance(10 * kMillisecond);
    }
  };
  send_one();
  run();
  ASSERT_EQ(runs.size(), 1u);
  bear_again(job, config, 1);
  send_one();
  run();
  ASSERT_EQ(runs.size(), 2u);
  job[0].completion_returned(runs[0]);
  run();
  EXPECT_EQ(completion, 0) << "the handler of the present incarnation's message has not returned";
  job[0].completion_returned(runs[1]);
  run();
  EXPECT_EQ(completion, 1);
}

}  // namespace
}  // namespace openlapi
