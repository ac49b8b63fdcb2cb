// The transport between the tasks of one node: a queue of slots per task in memory that they all map.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/transport/transport.h"
#include "shm/receive_queue.h"
#include "shm/send_queue.h"
#include "shm/shm_config.h"
#include "shm/shm_direct_memory.h"
#include "shm/shm_group.h"

namespace openlapi {

// Sleeping on the task's socket (shm_doorbell.cc has the protocol).
class ShmDoorbell final : public WakeSource {
 public:
  ShmDoorbell(shm::ShmGroup& group, shm::ReceiveQueue& queue);

  // The owner does not sleep while the word is not zero, either.
  void heed(const std::atomic<std::uint32_t>& word) { heeded_ = &word; }

  int descriptor() const override { return group_.socket().descriptor(); }
  bool immediate() const override { return true; }
  bool arm() override;
  void disarm() override;

  // The sender's half: called after packets were published in the queue of local task `index`, or found no room there.
  void published(const shm::SegmentHeader& target, std::uint32_t index) {
    // Sequentially consistent after the claim, which is too; pairs with arm().
    const std::uint32_t armed = target.armed.load(std::memory_order_seq_cst);
    if (armed & 1) [[unlikely]]
      ring(index, armed);
  }

 private:
  void ring(std::uint32_t index, std::uint32_t armed);

  shm::ShmGroup& group_;
  shm::ReceiveQueue& queue_;
  const std::atomic<std::uint32_t>* heeded_ = nullptr;
  std::uint32_t epoch_ = 0;  // last value that we stored in our own `armed`
};

// Reading the memory of another task of the node with process_vm_readv.
class ShmRemoteMemory final : public RemoteMemory {
 public:
  explicit ShmRemoteMemory(shm::ShmGroup& group);

  bool reachable(PeerIndex peer) override;
  bool read(PeerIndex peer, std::uint64_t remote_address, void* local, std::size_t length) override;
  bool read_ranges(PeerIndex peer, std::span<const MemoryRange> remote, std::span<const MemoryRange> local) override;

  // From now on only this era of the owner's is read; what the owner has taken back since then is not.
  void begin_era(std::uint32_t index, std::uint64_t era) { eras_[index] = era; }

 private:
  enum class Proof : std::uint8_t { kUntried, kReachable, kUnreachable };
  bool prove(std::uint32_t index);
  bool same_era(std::uint32_t index) const;

  shm::ShmGroup& group_;
  std::vector<Proof> proofs_;        // by local index
  std::vector<std::uint64_t> eras_;  // the same index
};

class ShmTransport final : public Transport,
                           public ArrivalWatch,
                           public PeerLiveness,
                           public ReliableDelivery,
                           public PeerEras {
 public:
  ShmTransport(std::unique_ptr<shm::ShmGroup> group, const ShmConfig& config);
  ~ShmTransport() override;

  std::string_view name() const override { return "shm"; }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override;
  bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) override;
  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override;
  void send_abandoned(PeerIndex peer) override;
  std::size_t receive_burst(std::span<IncomingPacket> packets) override;
  ArrivalWord arrival_word() const override { return queue_.arrival_word(); }
  void release(std::size_t count) override { queue_.release(count); }
  bool peer_gone(PeerIndex peer) override;
  bool peer_left(PeerIndex peer) override;
  Intake intake(PeerIndex peer) override;
  Turn awaited_turn() override;
  Arrivals arrivals() const override { return {queue_.handed_out(), queue_.received()}; }
  bool waits_for_another(PeerIndex peer) override;
  void purge_peer(PeerIndex peer) override;
  void resume_peer(PeerIndex peer) override;
  void give_up_peer(PeerIndex peer) override;
  bool peer_began_anew(PeerIndex peer) override;
  bool gave_up(PeerIndex peer) const override;
  std::uint32_t era_with(PeerIndex peer) const override;
  std::uint32_t era_sent_for(PeerIndex peer) const override;
  TransportCapabilities capabilities() override {
    return {.remote_memory = &remote_memory_,
            .direct_memory = direct_memory_.get(),
            .wake_source = &doorbell_,
            .arrival_watch = this,
            .peer_liveness = this,
            .reliable_delivery = this,
            .peer_eras = this};
  }
  TransportCounters counters() const override;

  // The task's number among the tasks of its node (the guide's shm task id); -1: not in this group.
  std::int32_t local_index(PeerIndex peer) const;
  // The address that add_peer() takes for a task of the group. Tasks that meet in one memory have proved who they are,
  // so nothing has to be exchanged. length 0: not in this group.
  PeerAddress address_of(PeerIndex peer) const;
  // ShmDirectMemory::unattended_word(). Null: nobody asks for it.
  std::atomic<std::uint32_t>* unattended_word() const {
    return direct_memory_ != nullptr ? &direct_memory_->unattended_word() : nullptr;
  }
  // What it reaches, where it was asked for. Without it, all of it is refused.
  bool has_direct_memory() const { return direct_memory_ != nullptr; }
  const DirectReach& direct_reach() const { return direct_reach_; }

 private:
  struct alignas(shm::kCacheLine) Peer {
    shm::SendQueue queue;
    std::uint64_t era = 0;  // the peer's era with this task that `queue` sends for
    std::uint32_t full_in_a_row = 0;
    bool gone = false;
    bool shut = false;  // gone, or had purged this task and not resumed it when `era` was read
  };

  void begin_era(std::uint32_t index);
  std::uint64_t era_of(std::uint32_t index) const;
  // The owner is in the era that is sent for. (An era has its number already while it is closed.)
  static bool is_open(const Peer& target, std::uint64_t era) {
    return !shm::is_closed(era) && shm::era_number(era) == shm::era_number(target.era);
  }
  void is_gone(Peer& target) { target.gone = target.shut = true; }
  [[gnu::noinline]] std::size_t send_to_shut(PeerIndex peer, std::span<const OutgoingPacket> packets);
  std::size_t refused(std::uint32_t index, std::size_t taken);
  void look_for_orphans();

  std::unique_ptr<shm::ShmGroup> group_;
  shm::ReceiveQueue queue_;
  std::vector<Peer> peers_;  // by local index
  ShmDoorbell doorbell_;
  ShmRemoteMemory remote_memory_;
  std::unique_ptr<ShmDirectMemory> direct_memory_;  // null: none
  DirectReach direct_reach_;
  TransportLimits limits_;
  TransportCounters counters_;
};

// Blocks until all local tasks have joined, at most config.setup_timeout_milliseconds; all of them call it. Null:
// `error` says what went wrong, and the caller chooses another transport or gives up.
std::unique_ptr<ShmTransport> open_shm_transport(const ShmConfig& config, ShmSetupError& error);

}  // namespace openlapi
