// Set-up with real processes: how it succeeds, how it fails, and that nothing stays behind.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>
#include <string>

#include "shm/rendezvous.h"
#include "shm/shm_transport.h"
#include "tests/support/sanitizers.h"
#include "tests/support/transport_tasks.h"

namespace openlapi {
namespace {

using test::wait_for;

ShmConfig config_of(std::uint64_t cookie, PeerIndex self, std::uint32_t tasks) {
  ShmConfig config{.cookie = cookie, .self = self};
  config.local_tasks.resize(tasks);
  std::iota(config.local_tasks.begin(), config.local_tasks.end(), 0u);
  config.setup_timeout_milliseconds = 600'000;  // longer than a test may take: nobody waits for it
  return config;
}

// Processes whose exit status is `body`'s result; 0 is what the tests want.
class Children {
 public:
  void start(const std::function<int()>& body) {
    std::fflush(nullptr);
    const pid_t process = fork();
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int status = body();
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 99 : status);
    }
    processes_.push_back(process);
  }
  pid_t operator[](std::size_t i) const { return processes_[i]; }

  std::vector<int> finish() {
    std::vector<int> results;
    for (const pid_t process : processes_) {
      int status = 0;
      waitpid(process, &status, 0);
      results.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    processes_.clear();
    return results;
  }
  ~Children() {
    for (const pid_t process : processes_) kill(process, SIGKILL);
    finish();
  }

 private:
  std::vector<pid_t> processes_;
};

// Opens and says how it went: 0, or the kind of failure; a reason must come with it.
int open_status(const ShmConfig& config) {
  ShmSetupError error;
  const auto transport = open_shm_transport(config, error);
  EXPECT_EQ(transport == nullptr, !error.reason.empty());
  return static_cast<int>(error.failure);
}

int code(ShmFailure failure) { return static_cast<int>(failure); }

// The node's sockets with names of ours, by their numbers in the kernel; those of other tests are among them.
std::set<std::string> named_sockets() {
  std::ifstream file("/proc/net/unix");
  std::set<std::string> numbers;
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = line.find(" @openlapi-");
    if (end == std::string::npos) continue;
    const std::size_t begin = line.rfind(' ', end - 1) + 1;
    numbers.insert(line.substr(begin, end - begin));
  }
  return numbers;
}

// Those of them that the process has open.
std::set<std::string> named_sockets_of(pid_t process) {
  const std::set<std::string> named = named_sockets();
  std::set<std::string> numbers;
  std::error_code ended;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", ended)) {
    const std::string target = std::filesystem::read_symlink(entry, ended).string();  // socket:[number]
    if (!target.starts_with("socket:[")) continue;
    const std::string number = target.substr(8, target.size() - 9);
    if (named.contains(number)) numbers.insert(number);
  }
  return numbers;
}

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

int with_limit(const ShmConfig& config, __rlimit_resource resource, rlim_t limit) {
  const rlimit limits{limit, limit};
  return setrlimit(resource, &limits) != 0 ? 97 : open_status(config);
}

// A member that waits already learns the leader's failure at once.
TEST(ShmSetup, TheLeadersLimitsGiveAReasonToAll) {
  struct Case {
    __rlimit_resource resource;
    rlim_t limit;
    ShmFailure failure;
  };
  const Case cases[] = {{RLIMIT_FSIZE, 1 << 20, ShmFailure::kCreate}, {RLIMIT_AS, 1 << 20, ShmFailure::kAttach}};
  for (const Case& limit : cases) {
    const std::uint64_t cookie = test::fresh_cookie();
    Children children;
    children.start([=] { return open_status(config_of(cookie, 1, 2)); });
    ASSERT_TRUE(wait_for([&] { return !named_sockets_of(children[0]).empty(); }));
    children.start([&] { return with_limit(config_of(cookie, 0, 2), limit.resource, limit.limit); });
    EXPECT_EQ(children.finish(), (std::vector<int>{code(ShmFailure::kPeerFailed), code(limit.failure)}));
  }
}

// Waiting, or over.
bool rests(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && (text[name_end + 2] == 'S' || text[name_end + 2] == 'Z');
}

// Nor does one that comes when the leader has failed already wait for it.
TEST(ShmSetup, WhoComesLaterLearnsTheLeadersFailureToo) {
  const std::uint64_t cookie = test::fresh_cookie();
  Children children;
  children.start([=] { return with_limit(config_of(cookie, 0, 3), RLIMIT_FSIZE, 1 << 20); });
  ASSERT_TRUE(wait_for([&] { return !named_sockets_of(children[0]).empty() || rests(children[0]); }));
  ASSERT_TRUE(wait_for([&] { return rests(children[0]); }));
  for (PeerIndex self : {1, 2}) children.start([=] { return open_status(config_of(cookie, self, 3)); });
  const int told = code(ShmFailure::kPeerFailed);
  EXPECT_EQ(children.finish(), (std::vector<int>{code(ShmFailure::kCreate), told, told}));
}

TEST(ShmSetup, NoDescriptorLeftIsAnErrorWithAReason) {
  Children children;
  children.start([] { return with_limit(config_of(test::fresh_cookie(), 0, 2), RLIMIT_NOFILE, 3); });
  EXPECT_EQ(children.finish().front(), code(ShmFailure::kCreate));
}

TEST(ShmSetup, AMembersFailureReachesTheLeaderAtOnce) {
  const std::uint64_t cookie = test::fresh_cookie();
  Children children;
  children.start([=] { return with_limit(config_of(cookie, 1, 2), RLIMIT_AS, 1 << 20); });
  ShmSetupError error;
  EXPECT_EQ(open_shm_transport(config_of(cookie, 0, 2), error), nullptr);
  EXPECT_EQ(error.failure, ShmFailure::kPeerFailed);
  EXPECT_NE(error.reason.find("task 1: cannot map"), std::string::npos) << error.reason;
  EXPECT_EQ(children.finish().front(), code(ShmFailure::kAttach));
}

// It has a descriptor for its socket, and no other.
TEST(ShmSetup, AMemberThatHasNoDescriptorForTheMemoryTellsTheLeader) {
  const std::uint64_t cookie = test::fresh_cookie();
  Children children;
  children.start([=] {
    const int lowest = dup(STDIN_FILENO);
    close(lowest);
    return with_limit(config_of(cookie, 1, 2), RLIMIT_NOFILE, static_cast<rlim_t>(lowest) + 1);
  });
  ShmSetupError error;
  EXPECT_EQ(open_shm_transport(config_of(cookie, 0, 2), error), nullptr);
  EXPECT_EQ(error.failure, ShmFailure::kPeerFailed);
  EXPECT_NE(error.reason.find("task 1: no more file descriptors"), std::string::npos) << error.reason;
  EXPECT_EQ(children.finish().front(), code(ShmFailure::kGet));
}

// Such a one may have ended before the leader reads of it.
TEST(ShmSetup, TheLeaderDoesNotWaitForAMemberThatHasFailed) {
  ShmConfig config = config_of(test::fresh_cookie(), 0, 2);
  config.setup_timeout_milliseconds = 3'600'000;  // nobody waits for so long
  ShmSetupError error;
  const shm::TaskSocket leader = shm::TaskSocket::open(config, 0, error);
  const shm::JoinGroup join = [&config](shm::GroupMemory&, ShmSetupError& failure) {
    const shm::TaskSocket member = shm::TaskSocket::open(config, 1, failure);
    return member.send(0, member.message(shm::MessageKind::kFailed));
  };
  EXPECT_FALSE(shm::meet(config, 0, leader, join, error).valid());
  EXPECT_EQ(error.failure, ShmFailure::kPeerFailed);
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
    EXPECT_FALSE(task.transport.peer_gone(1 - task.self));
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
      EXPECT_TRUE(wait_for([&] { return task.transport.peer_gone(1); }));
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
  EXPECT_FALSE(tasks[0]->peer_gone(1));
  tasks[1].reset();
  EXPECT_TRUE(tasks[0]->peer_gone(1));
}

}  // namespace
}  // namespace openlapi
