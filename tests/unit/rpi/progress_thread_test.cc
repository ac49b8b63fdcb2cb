// Two processes in one, over UDP on this machine's loopback, each with a thread that goes on while its program is in no
// call. The program of both is this thread.
#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "api/lock/context_lock.h"
#include "api/rpi/lapi/endpoint_world.h"
#include "api/rpi/lapi/joined_worlds.h"
#include "api/rpi/lapi/meeting_bootstrap.h"
#include "api/rpi/lapi/request_engine.h"
#include "api/wiring/open_transports.h"
#include "dataplane/base/monotonic_clock.h"
#include "tests/unit/rpi/posted_messages.h"

namespace openlapi::rpi {
namespace {

constexpr std::size_t kShort = 1000, kLong = 8 << 20;
constexpr Nanoseconds kPatience = 60 * kSecond;

// A process opens one endpoint at a time. These open theirs together: who waits for another lets it.
class TakingTurns final : public PostedMessages {
 public:
  using PostedMessages::PostedMessages;
  bool receive(std::uint32_t from, std::vector<std::byte>& bytes, std::string& error) override {
    opening_turn().unlock();
    const bool received = PostedMessages::receive(from, bytes, error);
    opening_turn().lock();
    return received;
  }
};

int threads_of_ours() {
  int found = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    found += name == "openlapi-rpi" ? 1 : 0;
  }
  return found;
}

// Of all threads of these processes.
Nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

struct Process final : MpiLayer {
  Process() {
    engine.use(*worlds);
    for (_proc& process : processes) engine.add_process(process);
    group.g_nprocs = 2;
    group.g_procs = members.data();
    communicator.c_group = &group;
  }
  ~Process() override {
    const Turn turn(lock);
    for (_req& request : requests) engine.destroy(&request);
    worlds.reset();
  }
  struct Turn {
    explicit Turn(ContextLock& lock) : lock(lock) { lock.lock(); }
    ~Turn() { lock.unlock(); }
    ContextLock& lock;
  };
  // As the module does it, and LAM around it.
  template <class Work>
  auto call(Work&& work) {
    const std::lock_guard calling(calls);
    const Turn turn(lock);
    const auto result = work();
    worlds->end_call();
    return result;
  }

  void request_begun() override { ++active; }
  void request_ended() override { --active; }
  bool start_request(MPI_Request) override { return false; }
  int error_of(int error_class) override { return error_class; }
  int next_number() override { return 0; }
  bool is_homogeneous() override { return true; }
  bool has_debugger() override { return false; }
  Holding hold_calls() override {
    if (!has_calls_lock) return Holding::never;
    return calls.try_lock() ? Holding::held : Holding::later;
  }
  void release_calls() override { calls.unlock(); }
  void tell(const _proc&, const char* what) override { told.emplace_back(what); }

  _req& start(int type, int peer, int tag, void* memory, std::size_t size) {
    _req& request = requests.emplace_back();
    request.rq_type = type;
    request.rq_state = LAM_RQSSTART;
    request.rq_rank = peer;
    request.rq_tag = tag;
    request.rq_comm = &communicator;
    request.rq_proc = members[static_cast<std::size_t>(peer)];
    request.rq_packbuf = static_cast<char*>(memory);
    request.rq_packsize = static_cast<int>(size);
    ++active;
    EXPECT_EQ(call([&] { return engine.build(&request) + engine.start(&request); }), 0);
    return request;
  }
  void advance() {
    call([&] { return engine.advance(nullptr, false); });
  }
  // Looks without a call: the engine settles nothing.
  bool has_news() {
    const Turn turn(lock);
    return engine.is_unsettled();
  }
  int state_of(const _req& request) {
    const Turn turn(lock);
    return request.rq_state;
  }

  ContextLock lock;
  std::mutex calls;  // LAM's lock of all calls
  bool has_calls_lock = false;
  RequestEngine engine{*this, kShort};
  std::unique_ptr<JoinedWorlds> worlds = std::make_unique<JoinedWorlds>(
      engine,
      [](JoinedJob& job, std::span<const WorldProcess> group, WorldListener& listener, std::string& reason) {
        return open_endpoint_world(job, group, {900 * kSecond}, listener, reason);
      },
      &lock);
  std::array<_proc, 2> processes{};
  std::array<_proc*, 2> members{&processes[0], &processes[1]};
  _group group{};
  _comm communicator{};
  std::deque<_req> requests{};
  std::vector<std::string> told{};
  int active = 0;
};

class ProgressThreadTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("LAPI_USE_SHM", "no", 1);
    ASSERT_EQ(lam_ssi_rpi_cbuf_init(), 0);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < 2; ++rank) threads.emplace_back([this, rank] { open(rank); });
    for (std::thread& thread : threads) thread.join();
  }
  void TearDown() override {
    processes_ = {};
    EXPECT_TRUE(until([] { return threads_of_ours() == 0; }));  // the kernel forgets a joined thread a little later
    lam_ssi_rpi_cbuf_end();
  }
  void open(std::uint32_t rank) {
    processes_[rank] = std::make_unique<Process>();
    processes_[rank]->communicator.c_group->g_myrank = static_cast<int>(rank);
    const std::array members{JoinedWorlds::Member{{0, 0}, true}, JoinedWorlds::Member{{1, 0}, true}};
    std::string reason;
    const Process::Turn turn(processes_[rank]->lock);
    auto bootstrap = open_meeting_bootstrap(std::make_unique<TakingTurns>(post_, rank, 2));
    EXPECT_TRUE(processes_[rank]->worlds->add(bootstrap, members, reason)) << reason;
  }
  Process& process(std::size_t rank) { return *processes_[rank]; }

  template <class Condition>
  static bool until(Condition&& condition) {
    const MonotonicClock clock;
    for (const Nanoseconds begin = clock.now(); clock.now() - begin < kPatience; sched_yield()) {
      if (condition()) return true;
    }
    return false;
  }

  Post post_;
  std::array<std::unique_ptr<Process>, 2> processes_{};
};

TEST_F(ProgressThreadTest, ALongMessageIsReceivedWhileBothCompute) {
  process(1).engine.match_outside(true);
  std::vector<char> out(kLong, 5), in(kLong);
  _req& receive = process(1).start(LAM_RQIRECV, 0, 3, in.data(), kLong);
  _req& send = process(0).start(LAM_RQISEND, 1, 3, out.data(), kLong);
  ASSERT_TRUE(until([&] { return process(0).has_news(); })) << "its receiver has all of it";
  EXPECT_EQ(send.rq_state, LAM_RQSACTIVE);
  EXPECT_EQ(receive.rq_state, LAM_RQSSTART);
  process(0).advance();
  process(1).advance();
  EXPECT_EQ(send.rq_state, LAM_RQSDONE);
  EXPECT_EQ(receive.rq_state, LAM_RQSDONE);
  EXPECT_EQ(receive.rq_status.st_length, static_cast<int>(kLong));
  EXPECT_EQ(in, out);
  EXPECT_EQ(process(0).active + process(1).active, 0);
}

// LAM cancels without a word to the module.
TEST_F(ProgressThreadTest, AReceiveThatMayBeCancelledIsNotTouchedBetweenCalls) {
  std::vector<char> out(kLong, 5), in(kLong);
  _req& receive = process(1).start(LAM_RQIRECV, 0, 3, in.data(), kLong);
  process(0).start(LAM_RQISEND, 1, 3, out.data(), kLong);
  ASSERT_TRUE(until([&] { return process(1).has_news(); }));
  EXPECT_EQ(receive.rq_state, LAM_RQSSTART);
  receive.rq_flags |= LAM_RQFCANCEL;
  receive.rq_state = LAM_RQSDONE;
  --process(1).active;
  process(1).advance();
  EXPECT_EQ(in, std::vector<char>(kLong)) << "no part of it was written";
  _req& next = process(1).start(LAM_RQIRECV, 0, 3, in.data(), kLong);
  EXPECT_EQ(next.rq_state, LAM_RQSACTIVE);
  ASSERT_TRUE(until([&] { return process(0).has_news(); })) << "what has met a receive is read between calls";
  process(0).advance();
  process(1).advance();
  EXPECT_EQ(next.rq_state, LAM_RQSDONE);
  EXPECT_EQ(in, out);
  EXPECT_EQ(process(0).active + process(1).active, 0);
}

TEST_F(ProgressThreadTest, AReceiveThatMayBeCancelledIsReceivedWhileBothComputeWhereCallsAreLocked) {
  process(1).has_calls_lock = true;
  std::vector<char> out(kLong, 5), in(kLong);
  _req& receive = process(1).start(LAM_RQIRECV, 0, 3, in.data(), kLong);
  process(0).start(LAM_RQISEND, 1, 3, out.data(), kLong);
  ASSERT_TRUE(until([&] { return process(0).has_news(); })) << "its receiver has all of it";
  EXPECT_EQ(process(1).state_of(receive), LAM_RQSACTIVE) << "nobody cancels it now";
  process(0).advance();
  process(1).advance();
  EXPECT_EQ(receive.rq_state, LAM_RQSDONE);
  EXPECT_EQ(in, out);
  EXPECT_EQ(process(0).active + process(1).active, 0);
}

// MPI_Cancel, for instance.
TEST_F(ProgressThreadTest, WhatComesDuringACallThatIsNoneOfTheModulesIsReceivedAfterIt) {
  process(1).has_calls_lock = true;
  std::vector<char> out(kLong, 5), in(kLong);
  _req& receive = process(1).start(LAM_RQIRECV, 0, 3, in.data(), kLong);
  {
    const std::lock_guard calling(process(1).calls);
    process(0).start(LAM_RQISEND, 1, 3, out.data(), kLong);
    ASSERT_TRUE(until([&] { return process(1).has_news(); }));
    EXPECT_EQ(process(1).state_of(receive), LAM_RQSSTART);
  }
  ASSERT_TRUE(until([&] { return process(0).has_news(); })) << "its receiver has all of it";
  process(0).advance();
  process(1).advance();
  EXPECT_EQ(in, out);
  EXPECT_EQ(process(0).active + process(1).active, 0);
}

TEST_F(ProgressThreadTest, MessagesKeepTheirOrderWhoeverTakesThem) {
  constexpr int kMany = 300;
  process(1).engine.match_outside(true);
  std::mt19937 random(7);
  std::deque<std::vector<char>> out, in;
  std::vector<_req*> receives;
  for (int n = 0; n < kMany; ++n) {
    const std::size_t size = random() % 3 == 0 ? kShort + 1 + random() % 50'000 : random() % kShort;
    out.emplace_back(size, static_cast<char>(n));
    in.emplace_back(60'000);
    const bool first_receives = random() % 2 == 0;
    if (first_receives) receives.push_back(&process(1).start(LAM_RQIRECV, 0, MPI_ANY_TAG, in.back().data(), 60'000));
    process(0).start(random() % 4 == 0 ? LAM_RQISSEND : LAM_RQISEND, 1, n, out.back().data(), size);
    if (!first_receives) receives.push_back(&process(1).start(LAM_RQIRECV, 0, MPI_ANY_TAG, in.back().data(), 60'000));
    if (random() % 8 == 0) process(random() % 2).advance();
  }
  ASSERT_TRUE(until([&] {
    process(0).advance();
    process(1).advance();
    return process(0).active + process(1).active == 0;
  }));
  for (std::size_t n = 0; n < kMany; ++n) {
    ASSERT_EQ(receives[n]->rq_status.MPI_TAG, static_cast<int>(n));
    ASSERT_EQ(receives[n]->rq_status.st_length, static_cast<int>(out[n].size()));
    in[n].resize(out[n].size());
    ASSERT_EQ(in[n], out[n]) << n;
  }
}

TEST_F(ProgressThreadTest, WhoWaitsInACallIsWokenByWhatComes) {
  char byte = 0;
  _req& receive = process(1).start(LAM_RQIRECV, 0, 3, &byte, 1);
  std::thread sending([&] {
    char sent = 7;
    process(0).start(LAM_RQISEND, 1, 3, &sent, 1);
    EXPECT_TRUE(until([&] {
      process(0).advance();
      return process(0).active == 0;
    }));
  });
  while (receive.rq_state != LAM_RQSDONE) process(1).call([&] { return process(1).engine.advance(&receive, true); });
  sending.join();
  EXPECT_EQ(byte, 7);
}

TEST_F(ProgressThreadTest, TheThreadIsNotThereWhileItIsStopped) {
  EXPECT_TRUE(until([] { return threads_of_ours() == 2; }));
  {
    const Process::Turn turn(process(0).lock);
    process(0).worlds->stop_thread();
    EXPECT_TRUE(until([] { return threads_of_ours() == 1; }));
    std::string reason;
    EXPECT_TRUE(process(0).worlds->start_thread(reason)) << reason;
  }
  EXPECT_TRUE(until([] { return threads_of_ours() == 2; }));
  std::vector<char> out(kLong, 5), in(kLong);
  process(1).engine.match_outside(true);
  process(1).start(LAM_RQIRECV, 0, 3, in.data(), kLong);
  process(0).start(LAM_RQISEND, 1, 3, out.data(), kLong);
  EXPECT_TRUE(until([&] { return process(0).has_news(); })) << "it goes on";
  EXPECT_TRUE(until([&] {
    process(0).advance();
    process(1).advance();
    return process(0).active + process(1).active == 0;
  })) << "and is at an end with the memory";
}

// As LAM does it for a checkpoint.
TEST_F(ProgressThreadTest, TheThreadSleepsAlthoughTheProgramWasInterruptedBeforeItStarted) {
  {
    const Process::Turn turn(process(0).lock);
    process(0).worlds->interrupt();
    process(0).worlds->stop_thread();
    std::string reason;
    EXPECT_TRUE(process(0).worlds->start_thread(reason)) << reason;
  }
  // Both threads poll for a while before they sleep.
  EXPECT_TRUE(until([] {
    const Nanoseconds before = processor_time();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return processor_time() - before < 20'000'000;
  }));
}

}  // namespace
}  // namespace openlapi::rpi
