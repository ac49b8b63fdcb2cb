// Random programs of 2 to 8 processes over a network that delays and reorders, against a plain model of MPI's matching;
// then with processes that are killed. RPI_SEED in the environment: that seed alone; RPI_SEEDS: so many of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/rpi/simulated_process.h"

namespace openlapi::rpi {
namespace {

constexpr int kActs = 400, kMostRounds = 20'000;

struct Trial {
  explicit Trial(unsigned seed, bool with_threads = false) : job(seed, 2 + seed % 7) {
    job.network.with_threads = with_threads;
    const unsigned count = 2 + seed % 7;
    for (unsigned rank = 0; rank < count; ++rank) {
      processes.push_back(std::make_unique<SimulatedProcess>(job, rank, count));
      if (with_threads && rank % 2 == 0) processes.back()->cancel_nothing();
    }
    job.network.while_asleep = [this](Peer asleep) {
      each_living([&](SimulatedProcess& process) {
        if (&process != processes[asleep].get()) process.move();
      });
    };
    job.network.on_arrival = [this](Peer process, int number) { processes[process]->arrives(number); };
  }

  template <class Work>
  void each_living(Work&& work) {
    for (Peer rank = 0; rank < processes.size(); ++rank) {
      if (!job.network.is_dead(rank)) work(*processes[rank]);
    }
  }

  void act() {
    const Peer rank = static_cast<Peer>(job.below(processes.size()));
    if (job.network.is_dead(rank)) return;
    if (job.network.with_threads) {
      each_living([&](SimulatedProcess& process) {
        if (job.below(2) == 0) process.move_outside();
      });
    }
    processes[rank]->act();
    if (job.below(2) == 0) processes[rank]->advance(job.below(2) == 0);
  }

  bool some_active() {
    bool active = false;
    each_living([&](SimulatedProcess& process) { active = active || process.has_active(); });
    return active;
  }

  // All that was begun comes to its end.
  void finish() {
    for (int round = 0; round < kMostRounds && job.mistakes.empty(); ++round) {
      if (round % 50 == 49) {
        each_living([](SimulatedProcess& process) { process.cancel_rest(); });
        if (!some_active()) return;
      }
      each_living([&](SimulatedProcess& process) {
        if (job.exact || round % 10 == 0) process.receive_rest();
        process.advance(true);
      });
    }
    job.expect(false, "requests do not come to an end");
  }

  // A process ends what it has begun, says its last word and waits until it is taken.
  void leave(Peer rank) {
    SimulatedProcess& process = *processes[rank];
    for (int round = 0; round < kMostRounds && process.has_active(); ++round) {
      if (round % 50 == 49) process.cancel_rest();
      each_living([](SimulatedProcess& other) {
        other.receive_rest();
        other.advance(true);
      });
    }
    process.engine().leave();
    for (int round = 0; round < kMostRounds && !process.world().drained(); ++round) {
      each_living([](SimulatedProcess& other) { other.drain(); });
    }
    job.expect(!process.has_active(), "a process that leaves does not end what it has begun");
    job.expect(process.world().drained(), "a process that leaves does not see its last words taken");
    job.network.end(rank);
  }

  // Nobody starts anything: after three times nothing is on its way.
  void drain() {
    for (int time = 0; time < 3; ++time) {
      bool quiet = false;
      for (int round = 0; round < kMostRounds && !quiet; ++round) {
        quiet = true;
        each_living([&](SimulatedProcess& process) {
          process.drain();
          quiet = quiet && process.engine().quiet();
        });
      }
      job.expect(quiet, "a process is not quiet");
    }
    job.expect(job.network.empty(), "something is on its way in a network that was drained");
  }

  Job job;
  std::vector<std::unique_ptr<SimulatedProcess>> processes{};
};

std::vector<unsigned> seeds() {
  if (const char* one = std::getenv("RPI_SEED")) return {static_cast<unsigned>(std::atoi(one))};
  const char* many = std::getenv("RPI_SEEDS");
  std::vector<unsigned> all(many == nullptr ? 100U : static_cast<unsigned>(std::atoi(many)));
  for (unsigned n = 0; n < all.size(); ++n) all[n] = n + 1;
  return all;
}

std::string told(unsigned seed, const Job& job) {
  return "RPI_SEED=" + std::to_string(seed) + ": " + (job.mistakes.empty() ? "" : job.mistakes.front());
}

class RequestSimulation : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(lam_ssi_rpi_cbuf_init(), 0); }
  void TearDown() override { lam_ssi_rpi_cbuf_end(); }
};

TEST_F(RequestSimulation, EveryReceiveGetsWhatMpiSays) {
  for (const unsigned seed : seeds()) {
    Trial trial(seed);
    for (int n = 0; n < kActs && trial.job.mistakes.empty(); ++n) trial.act();
    trial.finish();
    trial.drain();
    trial.each_living([&](SimulatedProcess& process) { EXPECT_EQ(process.engine().refused(), 0U) << "seed " << seed; });
    ASSERT_TRUE(trial.job.mistakes.empty()) << told(seed, trial.job);
  }
}

// Between the calls of the program, which cancels receives meanwhile in every other process.
TEST_F(RequestSimulation, AThreadThatGoesOnBetweenCallsChangesNothing) {
  for (const unsigned seed : seeds()) {
    Trial trial(seed, true);
    for (int n = 0; n < kActs && trial.job.mistakes.empty(); ++n) trial.act();
    trial.finish();
    trial.drain();
    trial.each_living([&](SimulatedProcess& process) { EXPECT_EQ(process.engine().refused(), 0U) << "seed " << seed; });
    ASSERT_TRUE(trial.job.mistakes.empty()) << told(seed, trial.job);
  }
}

TEST_F(RequestSimulation, WhoHasAThreadDoesNotWaitForTheDeadEither) {
  for (const unsigned seed : seeds()) {
    Trial trial(seed, true);
    for (int n = 0; n < kActs && trial.job.mistakes.empty(); ++n) {
      if (n % 100 == 99 && trial.job.below(2) == 0) {
        trial.job.exact = false;
        trial.job.network.kill(static_cast<Peer>(trial.job.below(trial.processes.size())));
      }
      trial.act();
    }
    trial.finish();
    ASSERT_TRUE(trial.job.mistakes.empty()) << told(seed, trial.job);
  }
}

TEST_F(RequestSimulation, WhoLeavesIsNotDeadForThreadsEither) {
  for (const unsigned seed : seeds()) {
    Trial trial(seed, true);
    for (int n = 0; n < kActs && trial.job.mistakes.empty(); ++n) {
      const auto rank = static_cast<Peer>(trial.job.below(trial.processes.size()));
      if (n % 100 == 99 && !trial.job.network.is_dead(rank)) trial.leave(rank);
      trial.act();
    }
    trial.finish();
    ASSERT_TRUE(trial.job.mistakes.empty()) << told(seed, trial.job);
  }
}

TEST_F(RequestSimulation, NothingIsOnItsWayWhenAllAreQuiet) {
  for (const unsigned seed : seeds()) {
    Trial trial(seed);
    for (int checkpoint = 0; checkpoint < 5; ++checkpoint) {
      for (int n = 0; n < kActs / 5 && trial.job.mistakes.empty(); ++n) trial.act();
      trial.drain();
    }
    trial.finish();
    ASSERT_TRUE(trial.job.mistakes.empty()) << told(seed, trial.job);
  }
}

TEST_F(RequestSimulation, WhoLeavesIsNotDead) {
  for (const unsigned seed : seeds()) {
    Trial trial(seed);
    for (int n = 0; n < kActs && trial.job.mistakes.empty(); ++n) {
      const auto rank = static_cast<Peer>(trial.job.below(trial.processes.size()));
      if (n % 100 == 99 && !trial.job.network.is_dead(rank)) trial.leave(rank);
      trial.act();
    }
    trial.finish();
    trial.each_living([&](SimulatedProcess& process) { EXPECT_EQ(process.engine().refused(), 0U) << "seed " << seed; });
    ASSERT_TRUE(trial.job.mistakes.empty()) << told(seed, trial.job);
  }
}

TEST_F(RequestSimulation, NobodyWaitsForTheDead) {
  for (const unsigned seed : seeds()) {
    Trial trial(seed);
    for (int n = 0; n < kActs && trial.job.mistakes.empty(); ++n) {
      if (n % 100 == 99 && trial.job.below(2) == 0) {
        trial.job.exact = false;
        trial.job.network.kill(static_cast<Peer>(trial.job.below(trial.processes.size())));
      }
      trial.act();
    }
    trial.finish();
    ASSERT_TRUE(trial.job.mistakes.empty()) << told(seed, trial.job);
  }
}

}  // namespace
}  // namespace openlapi::rpi
