// A task that cannot take part in its node's shared memory, for want of descriptors or memory: the others do not wait
// for it, and learn who and why.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "shm/rendezvous.h"
#include "shm/shm_transport.h"
#include "tests/support/transport_tasks.h"
#include "tests/unit/shm/setup_processes.h"

namespace openlapi {
namespace {

using test::Children;
using test::code;
using test::config_of;
using test::named_sockets_of;
using test::open_status;
using test::wait_for;

int with_limit(const ShmConfig& config, __rlimit_resource resource, rlim_t limit) {
  const rlimit limits{limit, limit};
  return setrlimit(resource, &limits) != 0 ? 97 : open_status(config);
}

// A member that waits already learns the leader's failure at once.
TEST(ShmSetupFailure, TheLeadersLimitsGiveAReasonToAll) {
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

// Neither maps what it would not understand, and both are told why.
TEST(ShmSetupFailure, TasksOfTwoVersionsAreToldBoth) {
  const std::uint64_t cookie = test::fresh_cookie();
  const auto opened = [](ShmConfig config, std::uint32_t version) {
    config.version = version;
    ShmSetupError error;
    const bool open = open_shm_transport(config, error) != nullptr;
    const bool says = error.reason.find("has wire version 7, this task's library 8: ") != std::string::npos;
    return open ? 98 : says ? code(error.failure) : 99;
  };
  Children children;
  children.start([&] { return opened(config_of(cookie, 0, 2), 7); });
  children.start([&] { return opened(config_of(cookie, 1, 2), 8); });
  EXPECT_EQ(children.finish(), (std::vector<int>{code(ShmFailure::kPeerFailed), code(ShmFailure::kGet)}));
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
TEST(ShmSetupFailure, WhoComesLaterLearnsTheLeadersFailureToo) {
  const std::uint64_t cookie = test::fresh_cookie();
  Children children;
  children.start([=] { return with_limit(config_of(cookie, 0, 3), RLIMIT_FSIZE, 1 << 20); });
  ASSERT_TRUE(wait_for([&] { return !named_sockets_of(children[0]).empty() || rests(children[0]); }));
  ASSERT_TRUE(wait_for([&] { return rests(children[0]); }));
  for (PeerIndex self : {1, 2}) children.start([=] { return open_status(config_of(cookie, self, 3)); });
  const int told = code(ShmFailure::kPeerFailed);
  EXPECT_EQ(children.finish(), (std::vector<int>{code(ShmFailure::kCreate), told, told}));
}

// Opens with this many descriptors beside those that are open already.
int with_descriptors(const ShmConfig& config, rlim_t room) {
  const int lowest = dup(STDIN_FILENO);
  close(lowest);
  return with_limit(config, RLIMIT_NOFILE, static_cast<rlim_t>(lowest) + room);
}

// Those of three tasks that have descriptors: they are told who has none.
void start_others(Children& children, std::uint64_t cookie, PeerIndex poor) {
  for (const PeerIndex self : {1 - poor, 2u}) {
    children.start([=] {
      ShmSetupError error;
      EXPECT_EQ(open_shm_transport(config_of(cookie, self, 3), error), nullptr);
      EXPECT_NE(error.reason.find("task " + std::to_string(poor) + ": cannot open the task's local socket"),
                std::string::npos)
          << error.reason;
      EXPECT_NE(error.reason.find(std::strerror(EMFILE)), std::string::npos) << error.reason;
      return code(error.failure);
    });
  }
}

// The leader or a member.
TEST(ShmSetupFailure, ATaskWithoutADescriptorForItsSocketTellsThoseWhoWait) {
  for (const PeerIndex poor : {0u, 1u}) {
    const std::uint64_t cookie = test::fresh_cookie();
    Children children;
    start_others(children, cookie, poor);
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(wait_for([&] { return !named_sockets_of(children[i]).empty(); }));
    }
    children.start([=] { return with_descriptors(config_of(cookie, poor, 3), 0); });
    const int told = code(ShmFailure::kPeerFailed);
    EXPECT_EQ(children.finish(), (std::vector<int>{told, told, code(ShmFailure::kCreate)}));
  }
}

TEST(ShmSetupFailure, ATaskWithoutADescriptorForItsSocketTellsThoseWhoComeLater) {
  for (const PeerIndex poor : {0u, 1u}) {
    const std::uint64_t cookie = test::fresh_cookie();
    Children children;
    children.start([=] { return with_descriptors(config_of(cookie, poor, 3), 0); });
    ASSERT_TRUE(wait_for([&] { return rests(children[0]); }));
    start_others(children, cookie, poor);
    const int told = code(ShmFailure::kPeerFailed);
    EXPECT_EQ(children.finish(), (std::vector<int>{code(ShmFailure::kCreate), told, told}));
  }
}

// What else keeps it from its socket keeps a child from it too.
TEST(ShmSetupFailure, OnlyATaskWithoutADescriptorMakesAChildThatTells) {
  static int children = 0;
  const auto count = [] { ++children; };
  ASSERT_EQ(pthread_atfork(nullptr, count, nullptr), 0);
  const ShmConfig config = config_of(test::fresh_cookie(), 0, 2);
  ShmSetupError error;
  const shm::TaskSocket same = shm::TaskSocket::open(config, 0, error);
  ASSERT_TRUE(same.valid());
  EXPECT_EQ(open_status(config), code(ShmFailure::kCreate));
  EXPECT_EQ(children, 0);
}

TEST(ShmSetupFailure, AMembersFailureReachesTheLeaderAtOnce) {
  const std::uint64_t cookie = test::fresh_cookie();
  Children children;
  children.start([=] { return with_limit(config_of(cookie, 1, 2), RLIMIT_AS, 1 << 20); });
  ShmSetupError error;
  EXPECT_EQ(open_shm_transport(config_of(cookie, 0, 2), error), nullptr);
  EXPECT_EQ(error.failure, ShmFailure::kPeerFailed);
  EXPECT_NE(error.reason.find("task 1: cannot map"), std::string::npos) << error.reason;
  EXPECT_EQ(children.finish().front(), code(ShmFailure::kAttach));
}

// It has the descriptors of its sockets, and no other.
TEST(ShmSetupFailure, AMemberThatHasNoDescriptorForTheMemoryTellsTheLeader) {
  const std::uint64_t cookie = test::fresh_cookie();
  Children children;
  children.start([=] { return with_descriptors(config_of(cookie, 1, 2), 2); });
  ShmSetupError error;
  EXPECT_EQ(open_shm_transport(config_of(cookie, 0, 2), error), nullptr);
  EXPECT_EQ(error.failure, ShmFailure::kPeerFailed);
  EXPECT_NE(error.reason.find("task 1: no more file descriptors"), std::string::npos) << error.reason;
  EXPECT_EQ(children.finish().front(), code(ShmFailure::kGet));
}

// Such a one may have ended before the leader reads of it.
TEST(ShmSetupFailure, TheLeaderDoesNotWaitForAMemberThatHasFailed) {
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

// The leader fails, and has left, while a member is about to say that it has mapped the memory.
TEST(ShmSetupFailure, AMemberLearnsWhyTheLeaderHasLeft) {
  const ShmConfig config = config_of(test::fresh_cookie(), 1, 3);
  Children children;
  children.start([=] { return open_status(config_of(config.cookie, 0, 3)); });
  ShmSetupError error;
  const shm::TaskSocket member = shm::TaskSocket::open(config, 1, error);
  const shm::JoinGroup join = [&](shm::GroupMemory&, ShmSetupError& failure) {
    const shm::TaskSocket other = shm::TaskSocket::open(config, 2, failure);
    EXPECT_TRUE(other.send(0, other.message(shm::MessageKind::kFailed)));
    EXPECT_EQ(children.finish(), std::vector<int>{code(ShmFailure::kPeerFailed)});
    return true;
  };
  EXPECT_FALSE(shm::meet(config, 1, member, join, error).valid());
  EXPECT_EQ(error.failure, ShmFailure::kPeerFailed);
  EXPECT_EQ(error.reason.find("task 2: "), 0u) << error.reason;
}

}  // namespace
}  // namespace openlapi
