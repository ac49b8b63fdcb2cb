// What a step costs does not grow with what is outstanding. Counted are calls of the transport and looks at the clock:
// every message that is looked at for room makes one of them at least.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

enum class Way { reliable, channel };

class Outstanding : public testing::TestWithParam<Way> {
 protected:
  static constexpr std::size_t kLength = 20'000;

  Outstanding() : job_(2, config(), 4096) {
    for (PeerIndex i = 0; i < 2; ++i) {
      job_.task(i).transport.set_room(2);
      if (GetParam() == Way::channel) job_.task(i).transport.make_lossy(0, 1);
      job_.task(i).epoch_of_peers = 1;
    }
    job_.start();
  }
  static EndpointConfig config() {
    EndpointConfig config;
    config.job_key = {7, 0};
    config.timeout = UINT64_MAX;
    return config;
  }

  Submit put() { return job_[0].put({1, address(sink_.data()), source_.data(), kLength, address(&arrived_), 0, 0}); }
  std::size_t work() { return calls(0) + calls(1) + job_.clock.looks(); }
  std::size_t calls(PeerIndex task) { return job_.task(task).transport.send_calls(); }

  // Of a step in which nothing can move.
  std::size_t work_of_a_step(PeerIndex task) {
    const std::size_t before = work();
    for (int step = 0; step < 10; ++step) job_[task].progress(Step::again);
    return (work() - before) / 10;
  }

  Job job_;
  std::vector<unsigned char> source_ = std::vector<unsigned char>(kLength, 1);
  std::vector<unsigned char> sink_ = std::vector<unsigned char>(kLength);
  int arrived_ = 0;
};

TEST_P(Outstanding, LongPutsThatFindNoRoomCostNothing) {
  int begun = 0;
  for (; begun < 300 && put() == Submit::accepted; ++begun) {
  }
  ASSERT_EQ(begun, 300);
  EXPECT_LE(work_of_a_step(0), 4u) << "300 messages wait";
  const std::size_t before = work();
  for (int step = 0; step < 1'000'000 && arrived_ != begun; ++step) {
    job_[0].progress();
    job_[1].progress();
    job_.clock.advance(100'000);
  }
  EXPECT_EQ(arrived_, begun);
  EXPECT_LE((work() - before) / 300, 60u) << "a message is six packets";
}

TEST_P(Outstanding, AnswersThatFindNoRoomCostNothing) {
  job_.task(0).transport.set_room(1);
  job_.task(1).transport.set_room(1000);
  std::vector<long long> got(100);
  const long long word = 42;
  int done = 0;
  for (long long& place : got) {
    ASSERT_EQ(job_[0].get({1, address(&word), &place, 8, 0, address(&done)}), Submit::accepted);
    job_[0].flush();
  }
  for (int step = 0; step < 20; ++step) job_[1].progress();
  EXPECT_LE(work_of_a_step(1), 4u);
  for (int step = 0; step < 100'000 && done != 100; ++step) {
    job_[1].progress();
    job_[0].progress();
    job_.clock.advance(100'000);
  }
  EXPECT_EQ(got, std::vector<long long>(100, 42));
}

// Requests that arrive together are answered together: each answer is six packets, and all fit the first window.
class Answers : public Outstanding {};

TEST_P(Answers, LongOnesLeaveTogether) {
  for (PeerIndex i = 0; i < 2; ++i) job_.task(i).transport.set_room(1000);
  std::vector<std::vector<unsigned char>> got(4, std::vector<unsigned char>(kLength));
  int done = 0;
  for (auto& place : got) {
    ASSERT_EQ(job_[0].get({1, address(source_.data()), place.data(), kLength, 0, address(&done)}), Submit::accepted);
  }
  job_[0].flush();
  const std::size_t before = calls(1);
  job_[1].progress();
  EXPECT_LE(calls(1) - before, 2u) << "four answers and an acknowledgement";
  for (int step = 0; step < 1000 && done != 4; ++step) {
    job_[0].progress();
    job_[1].progress();
    job_.clock.advance(100'000);
  }
  EXPECT_EQ(got, std::vector(4, source_));
}

INSTANTIATE_TEST_SUITE_P(Channel, Answers, testing::Values(Way::channel));

INSTANTIATE_TEST_SUITE_P(Ways, Outstanding, testing::Values(Way::reliable, Way::channel),
                         [](const auto& info) { return info.param == Way::reliable ? "reliable" : "channel"; });

// Of messages that a header handler drops a bounded number is offered again at a time, and all of them in the end.
TEST(RefusedMessages, AreOfferedAgainInTurn) {
  constexpr unsigned kMessages = 1000;
  Job job(2);
  job.task(1).transport.set_room(2 * kMessages);
  job.start();
  unsigned asked = 0, taken = 0;
  bool drop = true;
  job.task(1).host.on_header = [&](const ArrivedMessage&) {
    ++asked;
    if (!drop) ++taken;
    return HeaderVerdict{drop ? Delivery::drop : Delivery::bury, CompletionStyle::thread, nullptr, nullptr, nullptr};
  };
  const long long data = 1;
  for (unsigned n = 0; n < kMessages; ++n) {
    ASSERT_EQ(job[0].active_message({1, 1, nullptr, 0, &data, 8, 0, 0, 0}), Submit::accepted);
  }
  for (int step = 0; step < 100; ++step) job[1].progress();
  for (int step = 0; step < 5; ++step) {
    job.clock.advance(kMillisecond);
    asked = 0;
    job[1].progress();
    EXPECT_EQ(asked, 64u);
  }
  drop = false;
  for (unsigned step = 0; step < kMessages && taken != kMessages; ++step) {
    job.clock.advance(kMillisecond);
    job[1].progress();
  }
  EXPECT_EQ(taken, kMessages);
}

// Peers for whom something waits take turns: none is forgotten, and one that has room gets on whoever else has none.
TEST(ManyPeers, AreServedInTurn) {
  constexpr PeerIndex kTasks = 201;
  EndpointConfig config;
  config.copy_buffers = 100'000;
  Job job(kTasks, config);
  for (PeerIndex peer = 1; peer < kTasks; ++peer) job.task(peer).transport.set_room(0);
  job.start();
  const long long source = 1;
  std::vector<long long> sinks(kTasks);
  for (PeerIndex peer = 1; peer < kTasks; ++peer) {
    ASSERT_EQ(job[0].put({peer, address(&sinks[peer]), &source, 8, 0, 0, 0}), Submit::accepted);
  }
  const std::size_t before = job.task(0).transport.send_calls();
  for (int step = 0; step < 10; ++step) job[0].progress();
  EXPECT_LE((job.task(0).transport.send_calls() - before) / 10, 64u) << "of 200 that wait";
  for (const PeerIndex peer : {1u, 100u, 200u}) job.task(peer).transport.set_room(1);
  for (int step = 0; step < 4; ++step) job[0].progress();
  for (const PeerIndex peer : {1u, 100u, 200u}) {
    EXPECT_EQ(job.task(peer).transport.waiting(), 1u) << peer;
  }
  EXPECT_FALSE(job[0].drained());
}

}  // namespace
}  // namespace openlapi
