// Joining and leaving the group. Nothing here runs after set-up but the destructors and add_peer().
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "dataplane/base/random_number.h"
#include "dataplane/base/siphash.h"
#include "shm/rendezvous.h"
#include "shm/shm_transport.h"

namespace openlapi {
namespace {

// The same for all groups that this process joins, and another one in a child of fork().
std::uint64_t process_token() {
  static const std::uint64_t seed = random_number<std::uint64_t>();
  return siphash({seed, static_cast<std::uint64_t>(getpid())}, {});
}

bool check_config(const ShmConfig& config, ShmSetupError& error) {
  const auto& tasks = config.local_tasks;
  const auto bad = [&error](std::string reason) {
    error = {ShmFailure::kBadConfig, std::move(reason)};
    return false;
  };
  if (tasks.size() > kMaxShmTasks) {
    error = {ShmFailure::kTooManyTasks, std::to_string(tasks.size()) +
                                            " tasks on this node, shared memory serves at most " +
                                            std::to_string(kMaxShmTasks)};
    return false;
  }
  if (!std::is_sorted(tasks.begin(), tasks.end(), std::less_equal<>()) ||
      !std::binary_search(tasks.begin(), tasks.end(), config.self)) {
    return bad("the list of the node's tasks must ascend and hold task " + std::to_string(config.self));
  }
  if (!std::has_single_bit(config.slots) || config.slots < 8 || config.slots > 4096) {
    return bad("slots is " + std::to_string(config.slots) + ", allowed are the powers of two 8 to 4096");
  }
  if (config.packet_bytes % 8 != 0 || config.packet_bytes < 64 || config.packet_bytes > 65528) {
    return bad("packet_bytes is " + std::to_string(config.packet_bytes) + ", allowed are multiples of 8, 64 to 65528");
  }
  return true;
}

// What an address of this transport says.
struct ShmAddress {
  std::uint64_t nonce;
  std::uint32_t index;
  std::uint32_t task;
};
static_assert(sizeof(ShmAddress) == 16 && sizeof(ShmAddress) <= PeerAddress::kCapacity);

}  // namespace

namespace shm {

ShmGroup::ShmGroup(const ShmConfig& config)
    : tasks_(config.local_tasks),
      index_of_(tasks_.back() - tasks_.front() + 1, kNoIndex),
      proof_(random_number<std::uint64_t>()),
      token_(process_token()),
      process_(getpid()),
      gone_(tasks_.size()) {
  for (std::uint32_t i = 0; i < tasks_.size(); ++i) index_of_[tasks_[i] - tasks_.front()] = i;
  self_ = index_of(config.self);
}

// Everything that the others may ask of us, before `state` says that it is there.
bool ShmGroup::fill_segment(GroupMemory& memory, ShmSetupError& error) {
  memory.populate(self_);
  std::string reason;
  if (!memory.hold_life_lock(self_, reason)) {
    error = {ShmFailure::kAttach, reason};
    return false;
  }
  // Where the yama module restricts ptrace to ancestors, tasks of the same user may still read us. Elsewhere refused.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  SegmentHeader& header = *memory.segment(self_).header;
  header.process_token = token_;
  header.proof_address = reinterpret_cast<std::uintptr_t>(&proof_);
  header.proof = proof_;
  header.process_id = static_cast<std::uint32_t>(process_);
  header.task = tasks_[self_];
  // Release: the fields above before the state; pairs with check_members().
  header.state.store(static_cast<std::uint32_t>(TaskState::kReady), std::memory_order_release);
  return true;
}

bool ShmGroup::check_members(ShmSetupError& error) {
  for (std::uint32_t i = 0; i < size(); ++i) {
    const SegmentHeader& header = *segment(i).header;
    // Acquire: pairs with fill_segment(). A task that was quick may have closed already.
    const std::uint32_t state = header.state.load(std::memory_order_acquire);
    if (state == static_cast<std::uint32_t>(TaskState::kAbsent) || header.task != tasks_[i]) {
      error = {ShmFailure::kGet, "the tasks of this node disagree on who they are: place " + std::to_string(i) +
                                     " should be task " + std::to_string(tasks_[i]) + ", is task " +
                                     std::to_string(header.task)};
      return false;
    }
  }
  return true;
}

std::unique_ptr<ShmGroup> ShmGroup::join(const ShmConfig& config, ShmSetupError& error) {
  if (!check_config(config, error)) return nullptr;
  std::unique_ptr<ShmGroup> group(new ShmGroup(config));
  group->socket_ = TaskSocket::open(config, group->self_, error);
  if (!group->socket_.valid()) {
    if (error.no_descriptor) fail_without_socket(config, group->self_, error);
    return nullptr;
  }
  if (!config.tasks_stay_processes && group->socket_.has_formed(group->size())) {
    error = {ShmFailure::kFormed, "the tasks of this node share memory already, with another process as task " +
                                      std::to_string(config.self) + ": this one comes later"};
    return nullptr;
  }
  const JoinGroup fill = [&group](GroupMemory& memory, ShmSetupError& failure) {
    return group->fill_segment(memory, failure);
  };
  group->memory_ = meet(config, group->self_, group->socket_, fill, error);
  if (!group->memory_.valid() || !group->check_members(error)) return nullptr;
  if (!config.tasks_stay_processes) group->socket_.say_formed();
  group->joined_ = true;
  return group;
}

ShmGroup::~ShmGroup() {
  if (!joined_ || process_ != getpid()) return;
  // Release: our last packets before the farewell; pairs with gone().
  segment(self_).header->state.store(static_cast<std::uint32_t>(TaskState::kClosed), std::memory_order_release);
  // Before whatever the program does with memory that the others may read no more: pairs with same_era().
  std::atomic_thread_fence(std::memory_order_release);
}

// Acquire: what the task published before it left is visible once we know that it has.
bool ShmGroup::closed(std::uint32_t index) const {
  const SegmentHeader& header = *segment(index).header;
  return header.state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(TaskState::kClosed);
}

bool ShmGroup::gone(std::uint32_t index) {
  if (gone_[index]) return true;
  if (closed(index)) {
    gone_[index] = true;
  } else if (segment(index).header->process_token != token_) {
    gone_[index] = !memory_.life_lock_held(index);
  }
  return gone_[index];
}

}  // namespace shm

std::unique_ptr<ShmTransport> open_shm_transport(const ShmConfig& config, ShmSetupError& error) {
  error = {};
  std::unique_ptr<shm::ShmGroup> group = shm::ShmGroup::join(config, error);
  return group ? std::make_unique<ShmTransport>(std::move(group), config) : nullptr;
}

ShmTransport::ShmTransport(std::unique_ptr<shm::ShmGroup> group, const ShmConfig& config)
    : group_(std::move(group)),
      queue_(group_->segment(group_->self()), group_->memory().layout(), group_->tasks()),
      peers_(group_->size()),
      doorbell_(*group_, queue_),
      remote_memory_(*group_) {
  const shm::GroupLayout& layout = group_->memory().layout();
  limits_ = {.max_packet = layout.packet_bytes,
             .max_burst = std::min(layout.slots / 2, 64u),
             .reliable = true,
             .checked = true};
  if (config.direct == DirectUse::kNone) return;
  direct_memory_ = ShmDirectMemory::open(*group_, doorbell_, config, direct_reach_);
  if (direct_memory_ == nullptr) return;
  doorbell_.heed(direct_memory_->moved_word());
  queue_.release_at_once();
}

ShmTransport::~ShmTransport() = default;

PeerAddress ShmTransport::local_address() const { return address_of(group_->tasks()[group_->self()]); }

PeerAddress ShmTransport::address_of(PeerIndex peer) const {
  PeerAddress address;
  const std::uint32_t index = group_->index_of(peer);
  if (index == shm::kNoIndex) return address;
  const ShmAddress content{group_->memory().header().nonce, index, peer};
  std::memcpy(address.bytes.data(), &content, sizeof content);
  address.length = sizeof content;
  return address;
}

bool ShmTransport::add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) {
  const std::uint32_t index = group_->index_of(peer);
  ShmAddress content{};
  if (address.length == sizeof content) std::memcpy(&content, address.bytes.data(), sizeof content);
  if (index == shm::kNoIndex || address.length != sizeof content || content.task != peer || content.index != index ||
      content.nonce != group_->memory().header().nonce) {
    error = "task " + std::to_string(peer) + " is not in this task's shared-memory group";
    return false;
  }
  begin_era(index);
  return true;
}

// Acquire: what the owner did before it opened the era; pairs with ReceiveQueue::open().
std::uint64_t ShmTransport::era_of(std::uint32_t index) const {
  return group_->segment(index).eras[group_->self()].load(std::memory_order_acquire);
}

void ShmTransport::begin_era(std::uint32_t index) {
  Peer& peer = peers_[index];
  const std::uint64_t era = shm::begin_era(group_->segment(index), group_->self());
  peer.queue = shm::SendQueue(group_->segment(index), group_->memory().layout(), group_->self(), era);
  peer.era = era;
  peer.shut = peer.gone || shm::is_closed(era);
  remote_memory_.begin_era(index, era);
  if (direct_memory_ != nullptr) direct_memory_->begin_era(index, era, peer.queue);
}

}  // namespace openlapi
