#include "shm/rendezvous.h"

#include <linux/futex.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <vector>

namespace openlapi::shm {
namespace {

constexpr std::uint32_t kLeader = 0;

void copy_reason(const std::string& reason, char (&target)[256]) {
  std::snprintf(target, sizeof target, "%s", reason.c_str());
}

// Which tasks did not come, for the message of a set-up that ran out of time.
std::string name_missing(const ShmConfig& config, const std::vector<bool>& here) {
  std::string names;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (here[i] || ++missing > 8) continue;
    names += (names.empty() ? "" : ", ") + std::to_string(config.local_tasks[i]);
  }
  return (missing == 1 ? "task " : "tasks ") + names + (missing > 8 ? ", ..." : "");
}

class Rendezvous {
 public:
  Rendezvous(const ShmConfig& config, std::uint32_t index, const TaskSocket& socket, const JoinGroup& join,
             ShmSetupError& error)
      : config_(config), index_(index), socket_(socket), join_(join), error_(error),
        tasks_(static_cast<std::uint32_t>(config.local_tasks.size())),
        layout_{tasks_, config.slots, config.packet_bytes},
        deadline_(monotonic_nanoseconds() + std::uint64_t{config.setup_timeout_milliseconds} * 1'000'000) {}

  GroupMemory lead();
  GroupMemory follow();

 private:
  bool serve(GroupMemory& memory);
  bool answer(const ReceivedMessage& received, GroupMemory& memory);
  GroupMemory fail_group(GroupMemory memory);
  GroupMemory fail_member();
  GroupMemory obtain_memory();
  bool wait_until_open(GroupMemory& memory);
  bool fail(ShmFailure failure, std::string reason) {
    error_ = {failure, std::move(reason)};
    return false;
  }
  std::string timeout_text() const { return std::to_string(config_.setup_timeout_milliseconds) + " ms"; }

  const ShmConfig& config_;
  const std::uint32_t index_;
  const TaskSocket& socket_;
  const JoinGroup& join_;
  ShmSetupError& error_;
  const std::uint32_t tasks_;
  const GroupLayout layout_;
  const std::uint64_t deadline_;
  std::vector<bool> mapped_;
};

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* left) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, left, nullptr, 0);
}

void publish_state(GroupHeader& header, GroupState state) {
  // Release: what the leader wrote before is seen by members that read `state` with acquire in wait_until_open().
  header.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
  futex(header.state, FUTEX_WAKE, INT_MAX, nullptr);
}

// Tells everybody who has a socket, and everybody who sleeps on the header.
GroupMemory Rendezvous::fail_group(GroupMemory memory) {
  RendezvousMessage failed = socket_.message(MessageKind::kFailed);
  failed.failure = static_cast<std::uint32_t>(error_.failure);
  copy_reason(error_.reason, failed.reason);
  for (std::uint32_t i = 1; i < tasks_; ++i) socket_.send(i, failed);
  if (memory.valid()) {
    memory.header().failure = failed.failure;
    copy_reason(error_.reason, memory.header().reason);
    publish_state(memory.header(), GroupState::kFailed);
  }
  return {};
}

GroupMemory Rendezvous::lead() {
  std::uint64_t nonce = 0;
  while (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce) {
  }
  GroupMemory memory = GroupMemory::create(layout_, nonce, config_.local_tasks[kLeader], error_);
  if (!memory.valid() || !join_(memory, error_)) return fail_group(std::move(memory));
  mapped_.assign(tasks_, false);
  mapped_[kLeader] = true;
  const RendezvousMessage announce = socket_.message(MessageKind::kAnnounce);
  for (std::uint32_t i = 1; i < tasks_; ++i) socket_.send(i, announce);
  if (!serve(memory)) return fail_group(std::move(memory));
  publish_state(memory.header(), GroupState::kOpen);
  return memory;
}

bool Rendezvous::serve(GroupMemory& memory) {
  while (std::find(mapped_.begin(), mapped_.end(), false) != mapped_.end()) {
    ReceivedMessage received;
    if (!socket_.receive(deadline_, received)) {
      return fail(ShmFailure::kGet, name_missing(config_, mapped_) + " did not join the node's shared memory within " +
                                        timeout_text());
    }
    if (received.message.index < tasks_ && !answer(received, memory)) return false;
  }
  return true;
}

bool Rendezvous::answer(const ReceivedMessage& received, GroupMemory& memory) {
  const RendezvousMessage& message = received.message;
  const std::string who = "task " + std::to_string(config_.local_tasks[message.index]);
  if (received.user != getuid()) {
    return fail(ShmFailure::kRefused, who + " runs as user " + std::to_string(received.user) + ", task " +
                                          std::to_string(config_.local_tasks[kLeader]) + " as user " +
                                          std::to_string(getuid()) + ": shared memory needs the same user");
  }
  if (message.kind == MessageKind::kFailed) return fail(ShmFailure::kPeerFailed, who + ": " + message.reason);
  if (message.kind == MessageKind::kMapped) mapped_[message.index] = true;
  if (message.kind == MessageKind::kHello && !mapped_[message.index]) {
    RendezvousMessage reply = socket_.message(MessageKind::kDescriptor);
    reply.nonce = memory.header().nonce;
    socket_.send(message.index, reply, memory.descriptor());
  }
  return true;
}

GroupMemory Rendezvous::fail_member() {
  RendezvousMessage failed = socket_.message(MessageKind::kFailed);
  failed.failure = static_cast<std::uint32_t>(error_.failure);
  copy_reason(error_.reason, failed.reason);
  socket_.send(kLeader, failed);
  return {};
}

// Says hello until the leader has sent its descriptor; invalid: `error_` says why.
GroupMemory Rendezvous::obtain_memory() {
  const std::string leader = "task " + std::to_string(config_.local_tasks[kLeader]);
  const RendezvousMessage hello = socket_.message(MessageKind::kHello);
  socket_.send(kLeader, hello);
  for (;;) {
    ReceivedMessage received;
    if (!socket_.receive(deadline_, received)) {
      fail(ShmFailure::kGet, leader + " did not hand over the node's shared memory within " + timeout_text());
      return {};
    }
    const RendezvousMessage& message = received.message;
    if (message.index != kLeader) continue;
    if (message.kind == MessageKind::kFailed) {
      const auto failure = static_cast<ShmFailure>(message.failure);
      fail(failure == ShmFailure::kRefused ? failure : ShmFailure::kPeerFailed, leader + ": " + message.reason);
      return {};
    }
    if (received.user != getuid()) {
      fail(ShmFailure::kRefused, leader + " runs as user " + std::to_string(received.user) +
                                     ", this task as user " + std::to_string(getuid()));
      return {};
    }
    if (message.kind == MessageKind::kAnnounce) socket_.send(kLeader, hello);
    if (message.kind == MessageKind::kDescriptor && received.file.valid()) {
      return GroupMemory::attach(layout_, message.nonce, std::move(received.file), error_);
    }
  }
}

bool Rendezvous::wait_until_open(GroupMemory& memory) {
  GroupHeader& header = memory.header();
  constexpr auto kForming = static_cast<std::uint32_t>(GroupState::kForming);
  std::uint32_t state;
  // Acquire: pairs with publish_state().
  while ((state = header.state.load(std::memory_order_acquire)) == kForming) {
    const std::uint64_t now = monotonic_nanoseconds();
    if (now >= deadline_) {
      return fail(ShmFailure::kGet, "the tasks of this node did not all join the shared memory within " +
                                        timeout_text());
    }
    const timespec left{static_cast<time_t>((deadline_ - now) / 1'000'000'000),
                        static_cast<long>((deadline_ - now) % 1'000'000'000)};
    futex(header.state, FUTEX_WAIT, kForming, &left);
  }
  if (state == static_cast<std::uint32_t>(GroupState::kOpen)) return true;
  char reason[256];
  std::copy(std::begin(header.reason), std::end(header.reason), reason);
  reason[sizeof reason - 1] = '\0';
  const auto failure = static_cast<ShmFailure>(header.failure);
  return fail(failure == ShmFailure::kRefused ? failure : ShmFailure::kPeerFailed, reason);
}

GroupMemory Rendezvous::follow() {
  GroupMemory memory = obtain_memory();
  if (!memory.valid()) return error_.failure == ShmFailure::kPeerFailed ? GroupMemory{} : fail_member();
  if (!join_(memory, error_)) return fail_member();
  if (!socket_.send(kLeader, socket_.message(MessageKind::kMapped))) {
    fail(ShmFailure::kGet, "task " + std::to_string(config_.local_tasks[kLeader]) + " ended during the set-up");
    return {};
  }
  return wait_until_open(memory) ? std::move(memory) : GroupMemory{};
}

}  // namespace

GroupMemory meet(const ShmConfig& config, std::uint32_t index, const TaskSocket& socket, const JoinGroup& join,
                 ShmSetupError& error) {
  Rendezvous rendezvous(config, index, socket, join, error);
  return index == kLeader ? rendezvous.lead() : rendezvous.follow();
}

}  // namespace openlapi::shm
