// Checkpoints of engines in processes that have each other's messages, and nothing else that moves.
#include "api/rpi/lapi/checkpoint.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "api/rpi/lapi/envelope.h"
#include "tests/unit/rpi/simulated_lam.h"

namespace openlapi::rpi {
namespace {

// Nothing is on its way unless the test says so.
class DrainedWorld final : public World {
 public:
  DrainedWorld(Peer self, Peer peers) : self_(self), peers_(peers) {}

  Peer self() const override { return self_; }
  Peer peers() const override { return peers_; }
  void send_message(Peer, std::span<const std::byte>, std::span<const std::byte>, WhenDone) override {}
  void get(Peer, std::uint64_t, std::span<std::byte>, WhenDone) override {}
  void has_left(Peer) override {}
  void expect_no_more(Peer) override {}
  void give_up(Peer, const char*) override {}
  bool progress(bool) override {
    if (when_it_moves) when_it_moves();
    return false;
  }
  void interrupt() override {}
  bool drained() override { return !waits_for_peers || !waits_for_peers(); }

  std::function<void()> when_it_moves{};
  std::function<bool()> waits_for_peers{};

 private:
  const Peer self_, peers_;
};

// A process of several that know each other by the same numbers.
class CheckedProcess final : MpiLayer {
 public:
  CheckedProcess(Peer self, std::span<const _gps> places)
      : world(self, static_cast<Peer>(places.size())), processes(places.size()) {
    engine.use(world);
    for (std::size_t n = 0; n < places.size(); ++n) {
      processes[n].p_gps = places[n];
      engine.add_process(processes[n]);
    }
    lam_myproc = &processes[self];
  }

  // The first of them is known from another group unless `is_first`.
  JoinedGroup group(std::initializer_list<Peer> members, bool is_first) {
    JoinedGroup made;
    for (const Peer each : members) made.members.push_back({&processes[each], is_first || !made.members.empty()});
    return made;
  }
  // Empty, or why not.
  std::string make_quiet() {
    std::string reason;
    return openlapi::rpi::make_quiet(engine, groups, reason) ? "" : reason;
  }

  DrainedWorld world;
  std::vector<_proc> processes;
  RequestEngine engine{*this, 64};
  std::vector<JoinedGroup> groups{};

 private:
  void request_begun() override {}
  void request_ended() override {}
  bool start_request(MPI_Request) override { return false; }
  int error_of(int error_class) override { return error_class; }
  int next_number() override { return 0; }
  bool is_homogeneous() override { return true; }
  bool has_debugger() override { return false; }
  void tell(const _proc&, const char*) override {}
};

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    reset_lam();
    ASSERT_EQ(lam_ssi_rpi_cbuf_init(), 0);
  }
  void TearDown() override {
    lam_ssi_rpi_cbuf_end();
    lam_myproc = nullptr;
  }

  std::vector<_gps> places_ = lam_places(3, 3);
};

// Process 1 has spawned the last one, which is late; the first one knows only process 1.
class CheckpointOfGroupsTest : public CheckpointTest {
 protected:
  // Of all processes.
  struct Shared {
    std::atomic<bool> first_is_through{false}, last_has_come{false}, first_is_asked{false}, asked_before{false};
    std::atomic<bool> taken_too_late{false};
  };

  void SetUp() override {
    CheckpointTest::SetUp();
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared_ = new (memory) Shared;
  }
  void TearDown() override {
    munmap(shared_, sizeof(Shared));
    CheckpointTest::TearDown();
  }

  void pause_unless_first_is_through() const {
    for (int n = 0; n < 300 && !shared_->first_is_through; ++n) {
      constexpr timespec kMillisecondLong{0, 1'000'000};
      nanosleep(&kMillisecondLong, nullptr);
    }
  }

  bool run_first() {
    CheckedProcess process(0, places_);
    process.groups.push_back(process.group({0, 1}, true));
    process.world.when_it_moves = [&] { shared_->first_is_asked = false; };
    const std::string wrong = process.make_quiet();
    shared_->first_is_through = true;
    return wrong.empty();
  }
  // Once the last one has come it needs the first one once, as one that asks for signs of life does.
  bool run_middle() {
    CheckedProcess process(1, places_);
    process.groups.push_back(process.group({0, 1}, true));
    process.groups.push_back(process.group({1, 2}, false));
    process.world.when_it_moves = [&] {
      if (shared_->first_is_through) shared_->taken_too_late = true;
    };
    process.world.waits_for_peers = [&] {
      if (shared_->last_has_come && !shared_->asked_before.exchange(true)) shared_->first_is_asked = true;
      return shared_->first_is_asked.load();
    };
    return process.make_quiet().empty();
  }
  bool run_last() {
    CheckedProcess process(2, places_);
    process.groups.push_back(process.group({1, 2}, true));
    pause_unless_first_is_through();
    shared_->last_has_come = true;
    return process.make_quiet().empty();
  }

  Shared* shared_ = nullptr;
};

TEST_F(CheckpointTest, IsRefusedAtOnceAfterAPeerHasLeft) {
  CheckedProcess process(0, places_);
  process.groups.push_back(process.group({0, 1, 2}, true));
  std::array<std::byte, kMostEnvelope> room;
  process.engine.arriving({2, encode({.kind = EnvelopeKind::leaves}, room), 0});
  EXPECT_EQ(process.make_quiet(), "no checkpoint: process 2 (pid " + std::to_string(places_[2].gps_pid) +
                                      " on node n0 of LAM) has called MPI_Finalize");
}

TEST_F(CheckpointTest, IsRefusedUntilAPeerThatHasDiedIsFinalised) {
  CheckedProcess process(0, std::span(places_).first(2));
  process.groups.push_back(process.group({0, 1}, false));
  process.engine.lost(1, "it has ended");
  EXPECT_EQ(process.make_quiet(), "no checkpoint: process 1 (pid " + std::to_string(places_[1].gps_pid) +
                                      " on node n0 of LAM) has died or cannot be reached");
  process.engine.remove_process(process.processes[1]);
  process.groups.front().members.back().process = nullptr;
  EXPECT_EQ(process.make_quiet(), "");
}

// The first one knows at once that each of the checkpoints fails, the other one has said its word by then.
TEST_F(CheckpointOfGroupsTest, WordsOfFailedCheckpointsArePassedBy) {
  constexpr Peer kAll = 8;  // more words than a checkpoint has
  places_ = lam_places(kAll, kAll);
  const std::vector<std::function<bool()>> both{[&] {
                                                  CheckedProcess process(0, places_);
                                                  process.groups.push_back(process.group({0, 1}, true));
                                                  for (Peer dead = 2; dead < kAll; ++dead) {
                                                    process.engine.lost(dead, "it has ended");
                                                    if (process.make_quiet().empty()) return false;
                                                    process.engine.remove_process(process.processes[dead]);
                                                  }
                                                  while (!shared_->last_has_come) sched_yield();
                                                  const bool is_quiet = process.make_quiet().empty();
                                                  shared_->first_is_through = true;
                                                  return is_quiet;
                                                },
                                                [&] {
                                                  CheckedProcess process(1, places_);
                                                  process.groups.push_back(process.group({0, 1}, true));
                                                  for (Peer dead = 2; dead < kAll; ++dead) {
                                                    process.world.when_it_moves = [&] {
                                                      process.engine.lost(dead, "it has ended");
                                                    };
                                                    if (process.make_quiet().empty()) return false;
                                                    process.engine.remove_process(process.processes[dead]);
                                                  }
                                                  process.world.when_it_moves = {};
                                                  shared_->last_has_come = true;
                                                  pause_unless_first_is_through();
                                                  shared_->taken_too_late = shared_->first_is_through.load();
                                                  return process.make_quiet().empty();
                                                }};
  EXPECT_EQ(run_processes(both), 2);
  EXPECT_FALSE(shared_->taken_too_late);
}

TEST_F(CheckpointOfGroupsTest, WhoseMembersHaveGivenItUpIsGivenUpAndTheNextOneIsNot) {
  const std::vector<std::function<bool()>> both{
      [&] {
        CheckedProcess process(0, places_);
        process.groups.push_back(process.group({0, 1}, true));
        const bool given_up = process.make_quiet() == "no checkpoint: a process has given it up and begins another one";
        return given_up && process.make_quiet().empty();
      },
      [&] {
        CheckedProcess process(1, places_);
        process.groups.push_back(process.group({0, 1}, true));
        process.world.waits_for_peers = [] { return true; };
        process.world.when_it_moves = [&] { process.engine.lost(2, "it has ended"); };
        if (process.make_quiet().empty()) return false;
        process.engine.remove_process(process.processes[2]);
        process.world.waits_for_peers = {};
        return process.make_quiet().empty();
      }};
  EXPECT_EQ(run_processes(both), 2);
}

TEST_F(CheckpointOfGroupsTest, NobodyIsThroughWhileAPeerStillMovesForAnotherGroup) {
  const std::vector<std::function<bool()>> all{[&] { return run_first(); }, [&] { return run_middle(); },
                                               [&] { return run_last(); }};
  EXPECT_EQ(run_processes(all), 3);
  EXPECT_FALSE(shared_->taken_too_late);
  EXPECT_TRUE(shared_->asked_before);
}

}  // namespace
}  // namespace openlapi::rpi
