// Set-up with real processes: how it succeeds, how it fails, and that nothing stays behind.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "shm/shm_transport.h"
#include "tests/support/sanitizers.h"
#include "tests/support/transport_tasks.h"
#include "tests/unit/shm/setup_processes.h"

namespace openlapi {
namespace {

using test::Children;
using test::code;
using test::config_of;
using test::named_sockets;
using test::named_sockets_of;
using test::open_status;
using test::wait_for;

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

TEST(ShmSetup, ATaskAloneOpensAtOnceAndLeavesNothing) {
  const std::size_t before = open_descriptors();
  const std::uint64_t cookie = test::fresh_cookie();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(open_status(config_of(cookie, 0, 1)), 0);
  EXPECT_EQ(open_descriptors(), before);
}

// With a sanitizer a tenth of them. Tasks of 32 bits have no room for the memory of so many, and an emulator (aarch64)
// has none for so many processes.
TEST(ShmSetup, AsManyTasksAsMayMeetAndTalk) {
#ifdef __x86_64__
  constexpr std::uint32_t kTasks = repetitions(kMaxShmTasks);
#else
  constexpr std::uint32_t kTasks = kMaxShmTasks / 8;
#endif
  const std::uint64_t cookie = test::fresh_cookie();
  Children children;
  for (std::uint32_t self = 0; self < kTasks; ++self) {
    children.start([=] {
      ShmSetupError error;
      const auto transport = open_shm_transport(config_of(cookie, self, kTasks), error);
      EXPECT_NE(transport, nullptr) << error.reason;
      if (!transport) return 1;
      EXPECT_EQ(transport->local_index(self), static_cast<std::int32_t>(self));
      EXPECT_EQ(transport->local_index(kTasks), -1);
      EXPECT_EQ(transport->address_of(kTasks).length, 0u);
      EXPECT_TRUE(std::ranges::equal(transport->address_of(self).view(), transport->local_address().view()));
      // Round the ring: each sends its number to the next one.
      const std::uint32_t next = (self + 1) % kTasks;
      std::string reason;
      EXPECT_TRUE(transport->add_peer(next, transport->address_of(next), reason)) << reason;
      const ConstBuffer piece{&self, sizeof self};
      const OutgoingPacket packet{{&piece, 1}, sizeof self};
      EXPECT_EQ(transport->send_burst(next, {&packet, 1}), 1u);
      IncomingPacket received;
      EXPECT_TRUE(wait_for([&] { return transport->receive_burst({&received, 1}) == 1; }));
      EXPECT_EQ(received.source, (self + kTasks - 1) % kTasks);
      return 0;
    });
  }
  for (const int status : children.finish()) EXPECT_EQ(status, 0);
}

// Hosts that are containers beside each other, or that only their names tell apart.
TEST(ShmSetup, HostsWithOneNameSpaceOfSocketsDoNotTakeEachOthersTasks) {
  constexpr std::uint32_t kHosts = 4;
  constexpr std::uint32_t kTasksOfHost = 2;
  Children children;
  for (std::uint32_t task = 0; task < kHosts * kTasksOfHost; ++task) {
    children.start([task] {
      ShmConfig config = config_of(0x4057, task, kTasksOfHost);
      for (PeerIndex& local : config.local_tasks) local += task / kTasksOfHost * kTasksOfHost;
      return open_status(config);
    });
  }
  EXPECT_EQ(children.finish(), std::vector<int>(kHosts * kTasksOfHost, 0));
}

TEST(ShmSetup, OneMoreIsRefusedAtOnce) {
  ShmSetupError error;
  EXPECT_EQ(open_shm_transport(config_of(1, 0, kMaxShmTasks + 1), error), nullptr);
  EXPECT_EQ(error.failure, ShmFailure::kTooManyTasks);
  EXPECT_NE(error.reason.find("1025 tasks"), std::string::npos);
  EXPECT_NE(error.reason.find("at most 1024"), std::string::npos);
}

TEST(ShmSetup, BadArgumentsAreNamed) {
  const auto failure_of = [](const std::function<void(ShmConfig&)>& change, const char* word) {
    ShmConfig config = config_of(1, 0, 2);
    change(config);
    ShmSetupError error;
    EXPECT_EQ(open_shm_transport(config, error), nullptr);
    EXPECT_EQ(error.failure, ShmFailure::kBadConfig);
    EXPECT_NE(error.reason.find(word), std::string::npos) << error.reason;
  };
  failure_of([](ShmConfig& config) { config.slots = 100; }, "100");
  failure_of([](ShmConfig& config) { config.packet_bytes = 70000; }, "70000");
  failure_of([](ShmConfig& config) { config.self = 5; }, "5");
  failure_of([](ShmConfig& config) { config.local_tasks = {1, 0}; }, "ascend");
  failure_of([](ShmConfig& config) { config.local_tasks = {}; }, "task 0");
}

TEST(ShmSetup, AMissingTaskEndsTheWaitAndIsNamed) {
  const std::uint64_t cookie = test::fresh_cookie();
  Children children;
  children.start([=] {
    ShmConfig config = config_of(cookie, 1, 3);
    config.setup_timeout_milliseconds = 30'000;
    return open_status(config);
  });
  ShmConfig config = config_of(cookie, 0, 3);
  config.setup_timeout_milliseconds = 200;
  ShmSetupError error;
  EXPECT_EQ(open_shm_transport(config, error), nullptr);
  EXPECT_EQ(error.failure, ShmFailure::kTimeout);
  EXPECT_NE(error.reason.find("task 2 "), std::string::npos) << error.reason;
  // The leader's failure ends the other's wait, long before its own time.
  EXPECT_EQ(children.finish().front(), code(ShmFailure::kTimeout));
}

TEST(ShmSetup, AMissingLeaderEndsTheWait) {
  ShmConfig config = config_of(test::fresh_cookie(), 1, 2);
  config.setup_timeout_milliseconds = 100;
  EXPECT_EQ(open_status(config), code(ShmFailure::kTimeout));
}

TEST(ShmSetup, WaitingDoesNotBurnTheProcessor) {
  ShmConfig config = config_of(test::fresh_cookie(), 0, 2);
  config.setup_timeout_milliseconds = 500;
  const clock_t before = clock();
  EXPECT_EQ(open_status(config), code(ShmFailure::kTimeout));
  EXPECT_LT(clock() - before, CLOCKS_PER_SEC / 5);
}

TEST(ShmSetup, AnotherUsersTaskIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to be two users";
  for (const PeerIndex stranger : {0u, 1u}) {
    const std::uint64_t cookie = test::fresh_cookie();
    Children children;
    children.start([=] {
      if (setresuid(65534, 65534, 65534) != 0) return 98;
      return open_status(config_of(cookie, stranger, 2));
    });
    EXPECT_EQ(open_status(config_of(cookie, 1 - stranger, 2)), code(ShmFailure::kRefused));
    EXPECT_EQ(children.finish().front(), code(ShmFailure::kRefused));
  }
}

TEST(ShmSetup, ATaskWithTheWrongCookieNeverMeets) {
  ShmConfig config = config_of(test::fresh_cookie(), 0, 2);
  config.setup_timeout_milliseconds = 200;
  Children children;
  children.start([&] {
    ShmConfig wrong = config;
    wrong.self = 1;
    wrong.cookie ^= 1;
    return open_status(wrong);
  });
  EXPECT_EQ(open_status(config), code(ShmFailure::kTimeout));
  EXPECT_EQ(children.finish().front(), code(ShmFailure::kTimeout));
}

TEST(ShmSetup, TheSameTaskTwiceIsAnError) {
  const std::uint64_t cookie = test::fresh_cookie();
  ShmSetupError error;
  const auto first = open_shm_transport(config_of(cookie, 0, 1), error);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(open_status(config_of(cookie, 0, 1)), code(ShmFailure::kCreate));
  ShmConfig next = config_of(cookie, 0, 1);
  next.generation = 1;
  EXPECT_EQ(open_status(next), 0);
}

TEST(ShmSetup, NothingIsLeftAfterSigkill) {
  const std::uint64_t cookie = test::fresh_cookie();
  Children children;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  for (const PeerIndex self : {0u, 1u}) {
    children.start([=] {
      ShmSetupError error;
      const auto transport = open_shm_transport(config_of(cookie, self, 2), error);
      const char done = transport ? 1 : 0;
      if (write(ready[1], &done, 1) != 1) return 1;
      for (;;) pause();
    });
  }
  for (int i = 0; i < 2; ++i) {
    char done = 0;
    ASSERT_EQ(read(ready[0], &done, 1), 1);
    ASSERT_EQ(done, 1);
  }
  std::set<std::string> theirs = named_sockets_of(children[0]);
  theirs.merge(named_sockets_of(children[1]));
  EXPECT_GE(theirs.size(), 2u);
  kill(children[0], SIGKILL);
  kill(children[1], SIGKILL);
  children.finish();
  for (const std::string& left : named_sockets()) EXPECT_FALSE(theirs.contains(left)) << left;
  // The names are free again: the same group can meet once more.
  children.start([=] { return open_status(config_of(cookie, 1, 2)); });
  EXPECT_EQ(open_status(config_of(cookie, 0, 2)), 0);
  EXPECT_EQ(children.finish().front(), 0);
  close(ready[0]);
  close(ready[1]);
}

const test::TransportKind kShm{
    .name = "shm",
    .open = [](const test::OpenRequest& request, std::string& error) -> std::unique_ptr<Transport> {
      ShmSetupError failure;
      auto transport =
          open_shm_transport({.cookie = request.cookie, .self = request.self, .local_tasks = request.tasks}, failure);
      error = failure.reason;
      return transport;
    },
    .tells_death = true};

TEST(ShmLife, AChildOfForkThatExitsDoesNotEndItsParentsMembership) {
  test::TaskProcesses tasks(kShm, 2, [](test::Task& task) {
    if (task.self == 1) {
      const pid_t child = fork();
      if (child == 0) {
        task.transport.~Transport();  // as exit handlers of a user's program may
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
    task.meet();
    EXPECT_FALSE(task.transport.capabilities().peer_liveness->peer_gone(1 - task.self));
    task.meet();
  });
}

TEST(ShmLife, AChildOfForkThatOutlivesItsParentDoesNotKeepItAlive) {
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  {
    test::TaskProcesses tasks(kShm, 2, [&hold](test::Task& task) {
      if (task.self == 1) {
        if (fork() == 0) {
          close(hold[1]);
          char end;
          _exit(read(hold[0], &end, 1) == 0 ? 0 : 1);  // lives until the test closes its end
        }
        task.board.words[0].store(1);
        for (;;) pause();
      }
      close(hold[1]);
      EXPECT_TRUE(wait_for([&] { return task.transport.capabilities().peer_liveness->peer_gone(1); }));
    });
    ASSERT_TRUE(wait_for([&] { return tasks.board().words[0].load() == 1; }));
    tasks.kill_task(1);
    tasks.finish();
  }
  close(hold[0]);
  close(hold[1]);
}

TEST(ShmLife, ATaskThatClosedIsGone) {
  auto tasks = test::open_in_this_process(kShm, 2);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_FALSE(tasks[0]->capabilities().peer_liveness->peer_gone(1));
  tasks[1].reset();
  EXPECT_TRUE(tasks[0]->capabilities().peer_liveness->peer_gone(1));
}

}  // namespace
}  // namespace openlapi
