// The engine over a path that loses and doubles packets: everything still arrives exactly once, counters are exact,
// fences true. (The long runs with many tasks are in tests/simulation.)
#include <gtest/gtest.h>

#include <array>

#include "dataplane/sync/collectives.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

class LossyPath : public testing::TestWithParam<int> {
 protected:
  LossyPath() : job_(2, config()) {
    for (PeerIndex i = 0; i < 2; ++i) job_.task(i).transport.make_lossy(GetParam() / 100.0, 7 + i);
    job_.start();
  }

  static EndpointConfig config() {
    EndpointConfig config;
    config.copy_limit = 4000;
    config.job_key = {0x1234, 0};
    return config;
  }

  // Steps and time go on until `done`, or for a minute.
  template <typename Done>
  void run_until(Done done) {
    for (int step = 0; step < 600'000 && !done(); ++step) {
      for (PeerIndex i = 0; i < 2; ++i) job_[i].progress();
      job_.clock.advance(100 * kMicrosecond);
    }
    ASSERT_TRUE(done());
  }

  Job job_;
};

TEST_P(LossyPath, PutsOfEveryLengthArriveOnce) {
  const std::array<std::size_t, 9> lengths = {0, 1, 8, 900, 960, 2000, 4000, 4001, 200'000};
  std::vector<std::vector<unsigned char>> sources, sinks;
  std::vector<int> target(200), origin(200), completion(200);
  for (int i = 0; i < 200; ++i) {
    sources.emplace_back(lengths[static_cast<std::size_t>(i) % lengths.size()], static_cast<unsigned char>(i + 1));
    sinks.emplace_back(sources.back().size());
  }
  const auto expected = sources;
  int next = 0;
  run_until([&] {
    while (next < 200) {
      auto& source = sources[next];
      if (job_[0].put({1, address(sinks[next].data()), source.data(), source.size(), address(&target[next]),
                       address(&origin[next]), address(&completion[next])}) == Submit::busy) {
        break;
      }
      if (origin[next] == 1) std::fill(source.begin(), source.end(), 0);
      ++next;
    }
    return next == 200 && std::count(completion.begin(), completion.end(), 1) == 200;
  });
  EXPECT_TRUE(sinks == expected);
  EXPECT_EQ(std::count(target.begin(), target.end(), 1), 200);
  run_until([&] { return job_[0].drained(); });
  EXPECT_EQ(std::count(origin.begin(), origin.end(), 1), 200);
}

TEST_P(LossyPath, GetsAndFetchAndAddsAreExact) {
  const std::vector<unsigned char> source(100'000, 0x5a);
  std::vector<unsigned char> sink(source.size());
  std::uint64_t word = 0;
  std::vector<std::uint64_t> previous(300, ~0ull);
  int got = 0, added = 0;
  ASSERT_EQ(job_[0].get({1, address(source.data()), sink.data(), sink.size(), 0, address(&got)}), Submit::accepted);
  int next = 0;
  run_until([&] {
    while (next < 300 && job_[0].read_modify_write({1, wire::RmwOperation::fetch_and_add, 8, address(&word), 1, 0,
                                                    &previous[next], address(&added)}) == Submit::accepted) {
      ++next;
    }
    return got == 1 && added == 300;
  });
  EXPECT_TRUE(sink == source);
  EXPECT_EQ(word, 300u);
  std::sort(previous.begin(), previous.end());
  for (std::uint64_t i = 0; i < 300; ++i) EXPECT_EQ(previous[i], i);
}

TEST_P(LossyPath, AFenceMeansThatTheDataIsThere) {
  std::vector<std::uint64_t> sink(50);
  for (std::uint64_t i = 0; i < 50; ++i) {
    ASSERT_EQ(job_[0].put({1, address(&sink[i]), &i, sizeof(i), 0, 0, 0}), Submit::accepted);
  }
  const FenceTicket ticket = job_[0].fences().begin();
  run_until([&] { return job_[0].fences().state(ticket) == FenceState::done; });
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(sink[i], i);
}

TEST_P(LossyPath, BarriersOpen) {
  for (int i = 0; i < 20; ++i) {
    job_[0].collectives().begin_barrier();
    job_[1].collectives().begin_barrier();
    run_until([&] {
      return job_[0].collectives().state() == CollectiveState::done &&
             job_[1].collectives().state() == CollectiveState::done;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Percent, LossyPath, testing::Values(0, 1, 5, 20));

// Task 0 has packets of 4096 bytes, its peer takes 1024: as between ports of different MTUs.
TEST(LossyPathLimits, PacketsForAPeerThatTakesLessAreShorter) {
  EndpointConfig config;
  config.copy_limit = 4000;
  Job job(2, config, 4096);
  for (PeerIndex i = 0; i < 2; ++i) {
    job.task(i).transport.make_lossy(0, 1);
    job.task(i).transport.limit_packets_to(1 - i, 1024);
  }
  job.start();
  std::vector<std::vector<unsigned char>> sources, sinks;
  int completed = 0;
  for (const std::size_t length : {0, 1, 700, 960, 1024, 2000, 3900, 4001, 200'000, 8, 16, 24}) {
    sources.emplace_back(length, static_cast<unsigned char>(length + 1));
    sinks.emplace_back(length);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const PutRequest put{1, address(sinks[i].data()), sources[i].data(), sources[i].size(), 0, 0, address(&completed)};
    ASSERT_EQ(job[0].put(put), Submit::accepted);
  }
  std::vector<unsigned char> got(50'000);
  const std::vector<unsigned char> far(got.size(), 0x77);
  ASSERT_EQ(job[0].get({1, address(far.data()), got.data(), got.size(), 0, address(&completed)}), Submit::accepted);
  const int all = static_cast<int>(sources.size()) + 1;
  for (int step = 0; step < 100'000 && completed != all; ++step) {
    for (PeerIndex i = 0; i < 2; ++i) job[i].progress();
    job.clock.advance(100 * kMicrosecond);
  }
  EXPECT_EQ(completed, all);
  EXPECT_TRUE(sinks == sources);
  EXPECT_TRUE(got == far);
}

// Its last acknowledgement has been lost with the link.
TEST(LossyPathFaults, APeerThatHasGoneIsNotWaitedForAtTheEnd) {
  Job job(3);
  for (PeerIndex task : {0u, 1u, 2u}) job.task(task).transport.make_lossy(0, 1);
  job.start();
  std::uint64_t value = 1, sink = 0;
  for (PeerIndex task : {1u, 2u}) {
    ASSERT_EQ(job[0].put({task, address(&sink), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
  }
  for (int step = 0; step < 1000; ++step) {
    job[0].progress();
    job.clock.advance(100 * kMicrosecond);
  }
  EXPECT_FALSE(job[0].drained());
  job.task(0).transport.set_gone(1);
  EXPECT_FALSE(job[0].drained()) << "task 2 is still there";
  for (int step = 0; step < 1000; ++step) {
    for (const PeerIndex task : {0u, 2u}) job[task].progress();
    job.clock.advance(100 * kMicrosecond);
  }
  EXPECT_EQ(sink, 1u);
  EXPECT_TRUE(job[0].drained());
  EXPECT_TRUE(job.task(0).host.faults.empty());
}

TEST(LossyPathFaults, SilenceForTheWholeTimeOutIsReportedOnce) {
  EndpointConfig config;
  config.timeout = 10 * kSecond;
  Job job(2, config);
  job.task(0).transport.make_lossy(1, 1);
  job.task(1).transport.make_lossy(0, 1);
  job.start();
  std::uint64_t value = 1, sink = 0;
  ASSERT_EQ(job[0].put({1, address(&sink), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
  const auto run_for = [&](Nanoseconds time) {
    for (Nanoseconds passed = 0; passed < time; passed += 10 * kMillisecond) {
      job[0].progress();
      job.clock.advance(10 * kMillisecond);
    }
  };
  run_for(9 * kSecond);
  EXPECT_TRUE(job.task(0).host.faults.empty());
  run_for(3 * kSecond);
  ASSERT_EQ(job.task(0).host.faults.size(), 1u);
  EXPECT_EQ(job.task(0).host.faults[0], std::make_pair(Fault::timeout, PeerIndex{1}));
  EXPECT_TRUE(job[0].drained());
}

}  // namespace
}  // namespace openlapi
