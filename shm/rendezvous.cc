#include "shm/rendezvous.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <optional>
#include <vector>

#include "dataplane/base/random_number.h"
#include "shm/known_process.h"
#include "shm/without_descriptors.h"

namespace openlapi::shm {
namespace {

constexpr std::uint32_t kLeader = 0;
constexpr auto kForming = static_cast<std::uint32_t>(GroupState::kForming);
constexpr std::uint64_t kLookForEnded = 50'000'000;  // nanoseconds between two looks

void copy_reason(const std::string& reason, char (&target)[256]) {
  std::snprintf(target, sizeof target, "%s", reason.c_str());
}

// Some reasons are the whole group's.
ShmFailure as_seen_by_others(ShmFailure failure) {
  const bool shared =
      failure == ShmFailure::kRefused || failure == ShmFailure::kTimeout || failure == ShmFailure::kPeerEnded;
  return shared ? failure : ShmFailure::kPeerFailed;
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
      : config_(config),
        socket_(socket),
        join_(join),
        error_(error),
        tasks_(static_cast<std::uint32_t>(config.local_tasks.size())),
        layout_{tasks_, config.slots, config.packet_bytes, config.version},
        deadline_(monotonic_nanoseconds() + std::uint64_t{config.setup_timeout_milliseconds} * 1'000'000),
        here_(tasks_, index != kLeader),
        processes_(tasks_) {
    here_[kLeader] = index == kLeader;
  }

  GroupMemory lead();
  GroupMemory follow();
  // Of a task that has failed before, as `error` says.
  void lead_to_failure() { fail_group({}); }
  void follow_to_failure();

 private:
  bool receive(ReceivedMessage& received, const std::function<std::string()>& what_is_missing);
  bool all_may_come();
  void remember(const GroupMemory& memory) const;
  bool serve(GroupMemory& memory);
  bool answer(const ReceivedMessage& received, GroupMemory& memory);
  GroupMemory fail_group(GroupMemory memory);
  GroupMemory fail_member();
  RendezvousMessage failed_message() const;
  GroupMemory obtain_memory();
  GroupMemory take_over(ReceivedMessage& received);
  bool wait_until_open(GroupMemory& memory);
  bool fail(ShmFailure failure, std::string reason) {
    error_ = {failure, std::move(reason)};
    return false;
  }
  std::string timeout_text() const { return std::to_string(config_.setup_timeout_milliseconds) + " ms"; }

  const ShmConfig& config_;
  const TaskSocket& socket_;
  const JoinGroup& join_;
  ShmSetupError& error_;
  const std::uint32_t tasks_;
  const GroupLayout layout_;
  const std::uint64_t deadline_;
  std::vector<bool> here_;        // the leader: who has mapped; a member: all but the leader, who alone is awaited
  std::vector<pid_t> processes_;  // of those that were heard of; 0: not known
};

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* left) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, left, nullptr, 0);
}

void publish_state(GroupHeader& header, GroupState state) {
  // Release: what the leader wrote before is seen by members that read `state` with acquire in wait_until_open().
  header.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
  futex(header.state, FUTEX_WAKE, INT_MAX, nullptr);
}

// Tells everybody who has a socket or sleeps on the header, and whoever comes later, who would wait until his deadline.
GroupMemory Rendezvous::fail_group(GroupMemory memory) {
  const ShmSetupError why = error_;
  const RendezvousMessage failed = failed_message();
  for (std::uint32_t i = 1; i < tasks_; ++i) here_[i] = socket_.send(i, failed) || here_[i];
  if (memory.valid()) {
    memory.header().failure = failed.failure;
    copy_reason(why.reason, memory.header().reason);
    publish_state(memory.header(), GroupState::kFailed);
  }
  ReceivedMessage late;
  while (std::ranges::find(here_, false) != here_.end() && receive(late, [] { return std::string(); })) {
    const std::uint32_t index = late.message.index;
    if (index >= tasks_ || here_[index]) continue;
    socket_.send(index, failed);
    here_[index] = true;
  }
  error_ = why;
  return {};
}

GroupMemory Rendezvous::lead() {
  const auto nonce = random_number<std::uint64_t>();
  GroupMemory memory = GroupMemory::create(layout_, nonce, config_.local_tasks[kLeader], error_);
  if (!memory.valid() || !join_(memory, error_)) return fail_group(std::move(memory));
  const RendezvousMessage announce = socket_.message(MessageKind::kAnnounce);
  for (std::uint32_t i = 1; i < tasks_; ++i) socket_.send(i, announce);
  if (!serve(memory)) return fail_group(std::move(memory));
  remember(memory);
  publish_state(memory.header(), GroupState::kOpen);
  return memory;
}

// Waits no longer than until one of those that are awaited is known to have ended.
bool Rendezvous::receive(ReceivedMessage& received, const std::function<std::string()>& what_is_missing) {
  for (;;) {
    const std::uint64_t now = monotonic_nanoseconds();
    if (now >= deadline_) return fail(ShmFailure::kTimeout, what_is_missing() + " within " + timeout_text());
    if (socket_.receive(std::min(deadline_, now + kLookForEnded), received)) return true;
    if (!all_may_come()) return false;
  }
}

bool Rendezvous::all_may_come() {
  for (std::uint32_t i = 0; config_.acquaintances != nullptr && i < tasks_; ++i) {
    if (here_[i]) continue;
    const PeerIndex task = config_.local_tasks[i];
    const std::optional<pid_t> ended = config_.acquaintances->ended(config_, task);
    if (!ended) continue;
    return fail(ShmFailure::kPeerEnded, "task " + std::to_string(task) + " (process " + std::to_string(*ended) +
                                            ") has ended and cannot join the node's shared memory again");
  }
  return true;
}

// A process that holds its lock has had its number all the time.
void Rendezvous::remember(const GroupMemory& memory) const {
  for (std::uint32_t i = 0; config_.acquaintances != nullptr && i < tasks_; ++i) {
    if (processes_[i] == 0 || processes_[i] == getpid()) continue;
    const std::optional<KnownProcess> known = identify(processes_[i]);
    if (known && memory.life_lock_held(i)) config_.acquaintances->met(config_, config_.local_tasks[i], *known);
  }
}

bool Rendezvous::serve(GroupMemory& memory) {
  while (std::find(here_.begin(), here_.end(), false) != here_.end()) {
    ReceivedMessage received;
    if (!receive(received,
                 [this] { return name_missing(config_, here_) + " did not join the node's shared memory"; })) {
      return false;
    }
    if (received.message.index < tasks_ && !answer(received, memory)) return false;
  }
  return true;
}

bool Rendezvous::answer(const ReceivedMessage& received, GroupMemory& memory) {
  const RendezvousMessage& message = received.message;
  const std::string who = "task " + std::to_string(config_.local_tasks[message.index]);
  if (message.kind == MessageKind::kFailed) here_[message.index] = true;  // it has left, and waits for no word
  if (received.user != getuid()) {
    return fail(ShmFailure::kRefused, who + " runs as user " + std::to_string(received.user) + ", task " +
                                          std::to_string(config_.local_tasks[kLeader]) + " as user " +
                                          std::to_string(getuid()) + ": shared memory needs the same user");
  }
  if (message.kind == MessageKind::kFailed) return fail(ShmFailure::kPeerFailed, who + ": " + message.reason);
  if (message.kind == MessageKind::kMapped) {
    here_[message.index] = true;
    processes_[message.index] = received.process;
  }
  if (message.kind == MessageKind::kHello && !here_[message.index]) {
    RendezvousMessage reply = socket_.message(MessageKind::kDescriptor);
    reply.nonce = memory.header().nonce;
    socket_.send(message.index, reply, memory.descriptor());
  }
  return true;
}

RendezvousMessage Rendezvous::failed_message() const {
  RendezvousMessage failed = socket_.message(MessageKind::kFailed);
  failed.failure = static_cast<std::uint32_t>(error_.failure);
  copy_reason(error_.reason, failed.reason);
  return failed;
}

GroupMemory Rendezvous::fail_member() {
  socket_.send(kLeader, failed_message());
  return {};
}

// A leader that comes later announces itself.
void Rendezvous::follow_to_failure() {
  const RendezvousMessage failed = failed_message();
  ReceivedMessage received;
  while (!socket_.send(kLeader, failed)) {
    if (!receive(received, [] { return std::string(); }) || received.message.kind == MessageKind::kFailed) return;
  }
}

// Says hello until the leader has sent its descriptor; invalid: `error_` says why.
GroupMemory Rendezvous::obtain_memory() {
  const std::string leader = "task " + std::to_string(config_.local_tasks[kLeader]);
  const RendezvousMessage hello = socket_.message(MessageKind::kHello);
  socket_.send(kLeader, hello);
  for (;;) {
    ReceivedMessage received;
    if (!receive(received, [&] { return leader + " did not hand over the node's shared memory"; })) {
      error_.leader_is_missing = error_.failure == ShmFailure::kTimeout;
      return {};
    }
    const RendezvousMessage& message = received.message;
    if (message.index != kLeader) continue;
    if (message.kind == MessageKind::kFailed) {
      const auto failure = static_cast<ShmFailure>(message.failure);
      fail(as_seen_by_others(failure), leader + ": " + message.reason);
      return {};
    }
    if (received.user != getuid()) {
      fail(ShmFailure::kRefused, leader + " runs as user " + std::to_string(received.user) + ", this task as user " +
                                     std::to_string(getuid()));
      return {};
    }
    if (message.kind == MessageKind::kAnnounce) socket_.send(kLeader, hello);
    if (message.kind == MessageKind::kDescriptor) return take_over(received);
  }
}

// A descriptor that this process has no room for is lost on its way.
GroupMemory Rendezvous::take_over(ReceivedMessage& received) {
  if (!received.file.is_open()) {
    fail(ShmFailure::kGet, "no more file descriptors (ulimit -n), the node's shared memory needs one");
    return {};
  }
  processes_[kLeader] = received.process;
  return GroupMemory::attach(layout_, received.message.nonce, std::move(received.file), error_);
}

bool Rendezvous::wait_until_open(GroupMemory& memory) {
  GroupHeader& header = memory.header();
  std::uint32_t state;
  // Acquire: pairs with publish_state().
  while ((state = header.state.load(std::memory_order_acquire)) == kForming) {
    const std::uint64_t now = monotonic_nanoseconds();
    if (now >= deadline_) {
      return fail(ShmFailure::kTimeout,
                  "the tasks of this node did not all join the shared memory within " + timeout_text());
    }
    // It may have opened the group and ended since.
    if (!all_may_come() && header.state.load(std::memory_order_acquire) == kForming) return false;
    error_ = {};
    const std::uint64_t wait = std::min(deadline_ - now, kLookForEnded);
    const timespec left{static_cast<time_t>(wait / 1'000'000'000), static_cast<long>(wait % 1'000'000'000)};
    futex(header.state, FUTEX_WAIT, kForming, &left);
  }
  if (state == static_cast<std::uint32_t>(GroupState::kOpen)) return true;
  char reason[256];
  std::copy(std::begin(header.reason), std::end(header.reason), reason);
  reason[sizeof reason - 1] = '\0';
  const auto failure = static_cast<ShmFailure>(header.failure);
  return fail(as_seen_by_others(failure), reason);
}

GroupMemory Rendezvous::follow() {
  GroupMemory memory = obtain_memory();
  if (!memory.valid()) return error_.failure == ShmFailure::kPeerFailed ? GroupMemory{} : fail_member();
  if (!join_(memory, error_)) return fail_member();
  remember(memory);  // as long as the leader waits for us
  const bool told = socket_.send(kLeader, socket_.message(MessageKind::kMapped));
  // A leader that has failed has said so before it left. Acquire: pairs with publish_state().
  if (!told && memory.header().state.load(std::memory_order_acquire) == kForming) {
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

void fail_without_socket(const ShmConfig& config, std::uint32_t index, const ShmSetupError& why) {
  const unsigned patience = config.setup_timeout_milliseconds / 1000 + 2;  // more than the child gives itself
  run_without_descriptors(patience, [&] {
    ShmSetupError error;
    const TaskSocket socket = TaskSocket::open(config, index, error);
    if (!socket.valid()) return;  // the task is there, in another process
    error = why;
    const JoinGroup none;
    Rendezvous rendezvous(config, index, socket, none, error);
    index == kLeader ? rendezvous.lead_to_failure() : rendezvous.follow_to_failure();
  });
}

}  // namespace openlapi::shm
