// A queue that a task has filled which died before it published or rang, while the queue's owner slept: whoever finds
// no room wakes the owner, which passes over the dead one's slots.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <new>

#include "shm/shm_transport.h"
#include "tests/support/transport_tasks.h"

namespace openlapi {
namespace {

constexpr PeerIndex kOwner = 0, kDead = 1, kSender = 2;
constexpr int kPatience = 20'000;  // milliseconds: nobody rings any more

ShmConfig config_of(std::uint64_t cookie, PeerIndex self) {
  return {.cookie = cookie, .self = self, .local_tasks = {kOwner, kDead, kSender}, .slots = 8, .packet_bytes = 64};
}

// Sleeps before anything is claimed, and then until a packet is there.
int own(std::uint64_t cookie) {
  ShmSetupError error;
  const auto transport = open_shm_transport(config_of(cookie, kOwner), error);
  if (transport == nullptr) return 10;
  WakeSource& bell = *transport->capabilities().wake_source;
  IncomingPacket packet{};
  while (transport->receive_burst({&packet, 1}) == 0) {
    if (!bell.arm()) continue;
    pollfd descriptor{bell.descriptor(), POLLIN, 0};
    if (poll(&descriptor, 1, kPatience) != 1) return 11;
    bell.disarm();
  }
  transport->release(1);
  return packet.source == kSender ? 0 : 12;
}

// Waits until the owner sleeps, does what SendQueue::claim() does, with all slots, and then no more.
int fill_and_die(std::uint64_t cookie, std::atomic<bool>& filled) {
  ShmSetupError error;
  const auto group = shm::ShmGroup::join(config_of(cookie, kDead), error);
  if (group == nullptr) return 20;
  const shm::SegmentView segment = group->segment(kOwner);
  while ((segment.header->armed.load() & 1) == 0) sched_yield();
  segment.senders[group->self()].claim.store(shm::make_intent(0, 8));
  segment.header->tail.store(8);
  filled.store(true);
  _exit(0);
}

int send_one(std::uint64_t cookie, const std::atomic<bool>& filled) {
  ShmSetupError error;
  const auto transport = open_shm_transport(config_of(cookie, kSender), error);
  std::string reason;
  if (transport == nullptr || !transport->add_peer(kOwner, transport->address_of(kOwner), reason)) return 30;
  while (!filled.load()) sched_yield();
  const std::uint64_t value = 1;
  const ConstBuffer piece{&value, sizeof value};
  const OutgoingPacket packet{{&piece, 1}, sizeof value};
  while (transport->send_burst(kOwner, {&packet, 1}) == 0) sched_yield();
  return 0;
}

TEST(FullQueue, IsRungByWhoFindsNoRoom) {
  const std::uint64_t cookie = test::fresh_cookie();
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& filled = *new (shared) std::atomic<bool>(false);
  std::array<pid_t, 3> processes{};
  for (PeerIndex self = 0; self < processes.size(); ++self) {
    processes[self] = fork();
    ASSERT_GE(processes[self], 0);
    if (processes[self] != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(self == kOwner ? own(cookie) : self == kDead ? fill_and_die(cookie, filled) : send_one(cookie, filled));
  }
  int status = 0;
  ASSERT_EQ(waitpid(processes[kOwner], &status, 0), processes[kOwner]);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  if (status != 0) kill(processes[kSender], SIGKILL);  // it waits for room
  for (const PeerIndex self : {kDead, kSender}) {
    ASSERT_EQ(waitpid(processes[self], &status, 0), processes[self]);
    EXPECT_EQ(status, 0) << "task " << self;
  }
  munmap(shared, 4096);
}

}  // namespace
}  // namespace openlapi
