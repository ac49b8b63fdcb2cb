#include "dataplane/sync/collective.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "dataplane/tuning.h"

namespace openlapi {
namespace {

struct Round {
  PeerIndex from;
  PeerIndex to;
  std::uint32_t sequence;
  std::uint32_t round;
  std::vector<std::byte> bytes;
};

// All tasks of a job in one place; the messages between them are delivered in any order that the seed says.
class Job {
 public:
  Job(std::uint32_t tasks, unsigned seed) : random_(seed) {
    for (PeerIndex i = 0; i < tasks; ++i) members_.push_back(std::make_unique<Member>(*this, i, tasks));
  }

  Collective& operator[](PeerIndex i) { return members_[i]->collective; }
  Collective::Outbox& outbox(PeerIndex i) { return *members_[i]; }
  std::size_t sent() const { return sent_; }

  void lose_all() { on_the_way_.clear(); }

  void deliver_all() {
    while (!on_the_way_.empty()) {
      const std::size_t pick = std::uniform_int_distribution<std::size_t>(0, on_the_way_.size() - 1)(random_);
      Round round = std::move(on_the_way_[pick]);
      on_the_way_.erase(on_the_way_.begin() + static_cast<std::ptrdiff_t>(pick));
      members_[round.to]->collective.arrived(round.from, round.sequence, round.round, std::move(round.bytes),
                                             *members_[round.to]);
    }
  }

 private:
  struct Member : Collective::Outbox {
    Member(Job& job, PeerIndex self, std::uint32_t tasks) : job(job), self(self), collective(self, tasks) {}
    void send_round(PeerIndex peer, std::uint32_t sequence, std::uint32_t round,
                    std::span<const std::byte> bytes) override {
      ++job.sent_;
      job.on_the_way_.push_back({self, peer, sequence, round, {bytes.begin(), bytes.end()}});
    }
    Job& job;
    PeerIndex self;
    Collective collective;
  };

  std::mt19937 random_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Round> on_the_way_;
  std::size_t sent_ = 0;
};

class CollectiveOf : public testing::TestWithParam<std::uint32_t> {};

TEST_P(CollectiveOf, BarrierOpensOnlyWhenAllHaveCome) {
  const std::uint32_t tasks = GetParam();
  for (unsigned seed = 0; seed < 5; ++seed) {
    Job job(tasks, seed);
    for (PeerIndex i = 0; i + 1 < tasks; ++i) job[i].begin_barrier(job.outbox(i));
    job.deliver_all();
    for (PeerIndex i = 0; i + 1 < tasks; ++i) EXPECT_TRUE(job[i].active()) << "task " << i << " left too soon";
    job[tasks - 1].begin_barrier(job.outbox(tasks - 1));
    job.deliver_all();
    for (PeerIndex i = 0; i < tasks; ++i) EXPECT_FALSE(job[i].active()) << "task " << i;
  }
}

TEST_P(CollectiveOf, ExchangeGivesEveryValueToAll) {
  const std::uint32_t tasks = GetParam();
  for (unsigned seed = 0; seed < 5; ++seed) {
    Job job(tasks, seed);
    for (std::uint64_t turn = 1; turn <= 3; ++turn) {
      for (PeerIndex i = 0; i < tasks; ++i) job[i].begin_exchange(turn << 32 | i, job.outbox(i));
      job.deliver_all();
      for (PeerIndex i = 0; i < tasks; ++i) {
        ASSERT_TRUE(job[i].filled());
        const auto values = job[i].exchanged();
        ASSERT_EQ(values.size(), tasks);
        for (PeerIndex j = 0; j < tasks; ++j) EXPECT_EQ(values[j], turn << 32 | j) << "task " << i;
        job[i].confirm_exchange(job.outbox(i));
      }
      job.deliver_all();
      for (PeerIndex i = 0; i < tasks; ++i) EXPECT_FALSE(job[i].active());
    }
  }
}

// Who is ahead could send messages that make another task use values that it does not have yet.
TEST_P(CollectiveOf, AnExchangeEndsOnlyWhenAllHaveTakenTheValues) {
  const std::uint32_t tasks = GetParam();
  for (unsigned seed = 0; seed < 5; ++seed) {
    Job job(tasks, seed);
    const PeerIndex slow = seed % tasks;
    for (PeerIndex i = 0; i < tasks; ++i) job[i].begin_exchange(i, job.outbox(i));
    job.deliver_all();
    for (PeerIndex i = 0; i < tasks; ++i) {
      if (i != slow) job[i].confirm_exchange(job.outbox(i));
    }
    job.deliver_all();
    for (PeerIndex i = 0; i < tasks; ++i) EXPECT_TRUE(job[i].active()) << "task " << i << " left too soon";
    job[slow].confirm_exchange(job.outbox(slow));
    job.deliver_all();
    for (PeerIndex i = 0; i < tasks; ++i) EXPECT_FALSE(job[i].active() || job[i].failed()) << "task " << i;
  }
}

TEST(Collective, NeedsLogarithmicallyManyMessages) {
  Job job(64, 1);
  for (PeerIndex i = 0; i < 64; ++i) job[i].begin_barrier(job.outbox(i));
  job.deliver_all();
  EXPECT_EQ(job.sent(), 64u * 6);
}

// ceil(log2 N) from each task, and twice as many for an exchange; a task alone has nobody to send to.
TEST_P(CollectiveOf, EachTaskSendsOneMessagePerRound) {
  const std::uint32_t tasks = GetParam();
  std::size_t rounds = 0;
  while (1u << rounds < tasks) ++rounds;
  Job job(tasks, 1);
  for (PeerIndex i = 0; i < tasks; ++i) job[i].begin_barrier(job.outbox(i));
  job.deliver_all();
  EXPECT_EQ(job.sent(), tasks * rounds);
  for (PeerIndex i = 0; i < tasks; ++i) job[i].begin_exchange(i, job.outbox(i));
  job.deliver_all();
  EXPECT_EQ(job.sent(), 2 * tasks * rounds);
  for (PeerIndex i = 0; i < tasks; ++i) job[i].confirm_exchange(job.outbox(i));
  job.deliver_all();
  EXPECT_EQ(job.sent(), 3 * tasks * rounds);
}

TEST(Collective, ATaskAheadByOneCollectiveDoesNotDisturb) {
  Job job(2, 1);
  job[0].begin_barrier(job.outbox(0));
  job[1].begin_barrier(job.outbox(1));
  job.deliver_all();
  job[0].begin_exchange(10, job.outbox(0));
  job.deliver_all();
  EXPECT_TRUE(job[0].active());
  job[1].begin_exchange(11, job.outbox(1));
  job.deliver_all();
  EXPECT_EQ(job[0].exchanged()[1], 11u);
  EXPECT_EQ(job[1].exchanged()[0], 10u);
}

TEST(Collective, BlocksOfAWrongLengthAreNoAnswer) {
  Job job(2, 1);
  job[0].begin_exchange(1, job.outbox(0));
  for (const std::size_t bytes : {0u, 3u, 7u, 9u, 16u}) {
    job[0].arrived(1, 1, 0, std::vector<std::byte>(bytes), job.outbox(0));
    EXPECT_TRUE(job[0].active() && !job[0].filled()) << bytes;
  }
  job[0].arrived(1, 1, 0, std::vector<std::byte>(8), job.outbox(0));
  EXPECT_TRUE(job[0].filled());
}

TEST(Collective, NobodyStandsInTheWayOfWhoseMessageItIs) {
  Job job(3, 1);
  job[0].begin_barrier(job.outbox(0));
  EXPECT_TRUE(job[0].arrived(1, 1, 0, {}, job.outbox(0)));
  EXPECT_TRUE(job[0].arrived(2, 1, 1, {}, job.outbox(0)));
  EXPECT_TRUE(job[0].active()) << "task 1 sends what task 2 has to, and the other way round";
  EXPECT_TRUE(job[0].arrived(2, 1, 0, {}, job.outbox(0)));
  EXPECT_TRUE(job[0].arrived(1, 1, 1, {}, job.outbox(0)));
  EXPECT_FALSE(job[0].active());
}

TEST(Collective, WhatOneTaskSendsEarlyIsBounded) {
  Job job(3, 1);
  for (std::uint32_t n = 0; n < tuning::kMostEarlyRounds; ++n) {
    ASSERT_TRUE(job[0].arrived(1, 2 + n, 0, {}, job.outbox(0)));
    ASSERT_TRUE(job[0].arrived(1, 2 + n, 0, {}, job.outbox(0))) << "again";
  }
  EXPECT_FALSE(job[0].arrived(1, 1'000'000, 0, {}, job.outbox(0)));
  EXPECT_EQ(job[0].early_rounds_of(1), tuning::kMostEarlyRounds);
  EXPECT_TRUE(job[0].arrived(2, 2, 0, {}, job.outbox(0))) << "another's";
}

TEST(Collective, AFailedOneStaysFailed) {
  Job job(3, 1);
  job[0].begin_barrier(job.outbox(0));
  job[0].fail(2, job.outbox(0));
  job[1].begin_barrier(job.outbox(1));
  job.deliver_all();
  EXPECT_FALSE(job[0].active());
  EXPECT_TRUE(job[0].failed());
  EXPECT_EQ(job[0].lost_peer(), 2u);
}

// One task never comes, and only those who wait for it notice: all others hear of it, early or late.
TEST_P(CollectiveOf, ALossReachesEverybody) {
  const std::uint32_t tasks = GetParam();
  for (unsigned seed = 0; seed < 20 && tasks > 1; ++seed) {
    Job job(tasks, seed);
    const PeerIndex lost = seed * 7 % tasks;
    const PeerIndex late = (lost + 1 + seed) % tasks;
    const bool exchange = seed % 2 != 0;
    const auto begin = [&](PeerIndex i) {
      if (exchange) return job[i].begin_exchange(i, job.outbox(i));
      job[i].begin_barrier(job.outbox(i));
    };
    const auto settle = [&] {
      for (bool found = true; found;) {
        job.deliver_all();
        found = false;
        for (PeerIndex i = 0; i < tasks; ++i) {
          if (i != lost && job[i].filled()) {
            job[i].confirm_exchange(job.outbox(i));
            found = true;
          }
          if (i == lost || !job[i].waits_for(lost)) continue;
          job[i].fail(lost, job.outbox(i));
          found = true;
        }
      }
    };
    for (PeerIndex i = 0; i < tasks; ++i) {
      if (i != lost && i != late) begin(i);
    }
    settle();
    if (late != lost) begin(late);
    settle();
    for (PeerIndex i = 0; i < tasks; ++i) {
      if (i == lost) continue;
      EXPECT_FALSE(job[i].active()) << i << " of " << tasks << ", seed " << seed;
      EXPECT_TRUE(job[i].failed()) << i << " of " << tasks << ", seed " << seed;
      EXPECT_EQ(job[i].lost_peer(), lost);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, CollectiveOf, testing::Values(1, 2, 3, 4, 5, 7, 8, 16, 31, 33));

// The values are here, and the round that confirms them has not left: its receiver must not wait for it.
TEST(Collective, AFailureIsToldToThoseWhomNoRoundHasReached) {
  for (const std::uint32_t tasks : {2u, 5u}) {
    Job job(tasks, 1);
    for (PeerIndex i = 0; i < tasks; ++i) job[i].begin_exchange(i, job.outbox(i));
    job.deliver_all();
    for (PeerIndex i = 0; i < tasks; ++i) ASSERT_TRUE(job[i].filled());
    for (PeerIndex i = 1; i < tasks; ++i) job[i].confirm_exchange(job.outbox(i));
    job[0].fail(kUnknownPeer, job.outbox(0));
    job.deliver_all();
    for (PeerIndex i = 0; i < tasks; ++i) EXPECT_FALSE(job[i].active()) << "task " << i << " waits for ever";
    EXPECT_TRUE(job[1].failed());
  }
}

// Nothing else of it has arrived. A liar is not answered for ever.
TEST(Collective, WhoComesToOneThatHasFailedIsToldSo) {
  Job job(2, 1);
  job[0].begin_barrier(job.outbox(0));
  job[0].fail(1, job.outbox(0));
  job.lose_all();
  job[1].begin_barrier(job.outbox(1));
  job.deliver_all();
  EXPECT_FALSE(job[1].active());
  EXPECT_TRUE(job[1].failed());
  const std::size_t before = job.sent();
  for (std::uint32_t n = 0; n < 2 * tuning::kMostEarlyRounds; ++n) job[0].arrived(1, 1, 0, {}, job.outbox(0));
  EXPECT_EQ(job.sent() - before, tuning::kMostEarlyRounds - 1) << "one answer has been given before";
}

// Each collective begins anew, whether it begins well or not.
TEST(Collective, WhoComesLateAgainIsToldAgain) {
  for (const bool fails_at_once : {false, true}) {
    Job job(2, 1);
    job[0].begin_barrier(job.outbox(0));
    job[0].fail(1, job.outbox(0));
    for (std::uint32_t n = 0; n < 2 * tuning::kMostEarlyRounds; ++n) job[0].arrived(1, 1, 0, {}, job.outbox(0));
    if (fails_at_once) {
      job[0].begin_failed(job.outbox(0));
    } else {
      job[0].begin_barrier(job.outbox(0));
      job[0].fail(1, job.outbox(0));
    }
    const std::size_t before = job.sent();
    job[0].arrived(1, 2, 0, {}, job.outbox(0));
    EXPECT_EQ(job.sent() - before, 1u);
  }
}

// Not even when all is well: what nobody awaited goes with the next one, and room is left for what is right.
TEST(Collective, OneThatIsOverKeepsNothingForLong) {
  Job job(2, 1);
  for (std::uint32_t turn = 1; turn <= tuning::kMostEarlyRounds + 1; ++turn) {
    job[0].begin_barrier(job.outbox(0));
    EXPECT_EQ(job[0].early_rounds_of(1), 0u);
    ASSERT_TRUE(job[0].arrived(1, turn, 5, {}, job.outbox(0))) << "a round that there is not, collective " << turn;
    ASSERT_TRUE(job[0].arrived(1, turn, 0, {}, job.outbox(0)));
    ASSERT_FALSE(job[0].active());
  }
}

// What had come for it is of no use to anybody, and must not count against who sent it.
TEST(Collective, AFailedOneKeepsNothing) {
  Job job(3, 1);
  job[0].begin_barrier(job.outbox(0));
  ASSERT_TRUE(job[0].arrived(2, 1, 1, {}, job.outbox(0)));
  EXPECT_EQ(job[0].early_rounds_of(2), 1u);
  EXPECT_EQ(job[0].early_rounds_of(1), 0u);
  job[0].fail(1, job.outbox(0));
  EXPECT_EQ(job[0].early_rounds_of(2), 0u);
}

}  // namespace
}  // namespace openlapi
