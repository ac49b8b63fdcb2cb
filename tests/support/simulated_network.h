// A network in one process and in virtual time, with faults drawn from a seed: packets are lost, doubled, overtaken,
// damaged, brought to the wrong place, or wait behind a partition that heals. A reliable flavour keeps order and loses
// nothing, is sometimes full, and lets tasks read each other's memory, as shared memory does.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/transport/transport.h"
#include "tests/support/pair_eras.h"
#include "tests/support/seeded_random.h"
#include "tests/support/virtual_time.h"

namespace openlapi {

// What may happen to a packet; shares are probabilities. Reliable ports know only delays and refusals.
struct NetworkFaults {
  double loss = 0;
  double duplication = 0;
  double corruption = 0;   // only between ports that are not `checked`
  double misdelivery = 0;  // brought to any other unreliable port
  double refusal = 0;      // send_burst() answers "full" although there is room
  Nanoseconds least_delay = 2 * kMicrosecond;
  Nanoseconds most_delay = 10 * kMicrosecond;
  double late = 0;  // of packets and of second copies: take up to `latest` instead
  Nanoseconds latest = 0;
};

struct PortAddress {
  PeerIndex task = 0;
  std::uint32_t context = 0;
  std::uint32_t adapter = 0;
  std::uint32_t port = 0;  // another one when the task comes back somewhere else; peers are told by add_peer()
  auto operator<=>(const PortAddress&) const = default;
};

struct PortConfig {
  PortAddress address;
  TransportLimits limits{1472, 32, false, true};
  std::uint32_t queue_packets = 256;  // that wait at the receiver; more are dropped, or refused when reliable
  std::uint32_t packets_of_sender = UINT32_MAX;  // that each peer may have on their way here; the same at all ports
  std::uint64_t bytes_per_second = 1'000'000'000;
  std::uint64_t burst_bytes = 0;                     // that leave at once after a pause, as from a token bucket
  Nanoseconds further_delay = 0;                     // of what leaves
  Nanoseconds longest_backlog = 200 * kMicrosecond;  // of bytes on their way out; then the port is full
  bool readable = false;                             // has RemoteMemory
  double read_refusal = 0;                           // share of reads that fail
};

class SimulatedNetwork;

// The adapters that a network availability matrix has as down.
class MatrixOfAdapters {
 public:
  void set(PeerIndex task, std::uint32_t adapter, bool up) {
    ++generation_;
    if (up) {
      down_.erase({task, adapter});
    } else {
      down_.insert({task, adapter});
    }
  }
  bool is_down(const PortAddress& port) const { return down_.contains({port.task, port.adapter}); }
  std::uint64_t generation() const { return generation_; }

 private:
  std::set<std::pair<PeerIndex, std::uint32_t>> down_;
  std::uint64_t generation_ = 0;
};

// One port. What it held and what is on its way to it is lost when it is destroyed; another may open at the same
// address.
class SimulatedTransport final : public Transport,
                                 public RemoteMemory,
                                 public PeerLimits,
                                 public PacketOrigins,
                                 public PeerLiveness,
                                 public ReliableDelivery,
                                 public PeerEras,
                                 public LinkStatus {
 public:
  SimulatedTransport(SimulatedNetwork& network, const PortConfig& config);
  ~SimulatedTransport() override;
  SimulatedTransport(const SimulatedTransport&) = delete;
  SimulatedTransport& operator=(const SimulatedTransport&) = delete;

  void set_bulk_memory(BulkMemory* memory) { bulk_memory_ = memory; }  // outlives the engine
  void set_further_delay(Nanoseconds delay) { config_.further_delay = delay; }
  // Called when a packet has been put into the queue, and when something is told of the link.
  void set_arrival_listener(std::function<void()> listener) { on_arrival_ = std::move(listener); }

  std::string_view name() const override { return config_.limits.reliable ? "simulated-shm" : "simulated-net"; }
  const TransportLimits& limits() const override { return config_.limits; }
  static PeerAddress encode(const PortAddress& address);
  PeerAddress local_address() const override { return encode(known_address_); }
  std::uint32_t network() const { return config_.address.adapter; }
  bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) override;
  std::uint32_t max_packet_to(PeerIndex) const override { return config_.limits.max_packet; }
  std::uint32_t max_packets_to(PeerIndex) const override { return config_.packets_of_sender; }
  // Of an adapter of a task, in all its incarnations; another one when it has moved.
  std::uint64_t origin_of(PeerIndex peer) const override;
  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override;
  std::size_t receive_burst(std::span<IncomingPacket> packets) override;
  void release(std::size_t count) override;
  bool peer_gone(PeerIndex peer) override;
  // Packets of different tasks do not wait for each other, and sends are never left.
  void send_abandoned(PeerIndex) override {}
  bool peer_left(PeerIndex) override { return false; }
  Intake intake(PeerIndex peer) override;
  Turn awaited_turn() override { return {}; }
  Arrivals arrivals() const override { return {}; }
  bool waits_for_another(PeerIndex) override { return false; }
  void purge_peer(PeerIndex peer) override { eras_.purge(peer); }
  void resume_peer(PeerIndex peer) override { eras_.resume(peer); }
  void give_up_peer(PeerIndex peer) override { eras_.give_up(peer); }
  bool peer_began_anew(PeerIndex peer) override;
  bool gave_up(PeerIndex peer) const override { return eras_.was_given_up(peer); }
  std::uint32_t era_with(PeerIndex peer) const override { return static_cast<std::uint32_t>(eras_.number_of(peer)); }
  std::uint32_t era_sent_for(PeerIndex peer) const override {
    return static_cast<std::uint32_t>(eras_.sends_for(peer));
  }
  TransportCapabilities capabilities() override {
    return {.remote_memory = config_.readable ? this : nullptr,
            .bulk_memory = bulk_memory_,
            .peer_limits = this,
            .packet_origins = this,
            .peer_liveness = this,
            .reliable_delivery = this,
            .peer_eras = this,
            .link_status = this};
  }
  TransportCounters counters() const override { return counters_; }

  const std::atomic<std::uint32_t>& changes() const override { return link_changes_; }
  void look() override;
  std::uint32_t words_against(PeerIndex peer) const override;
  const char* told_by(PeerIndex) const override { return nullptr; }
  void path_failed(PeerIndex) override {}

  bool reachable(PeerIndex peer) override;
  bool read(PeerIndex peer, std::uint64_t remote_address, void* local, std::size_t length) override;
  bool read_ranges(PeerIndex peer, std::span<const MemoryRange> remote, std::span<const MemoryRange> local) override;

 private:
  friend class SimulatedNetwork;

  struct Packet {
    std::unique_ptr<std::uint64_t[]> words;  // 8-byte aligned
    std::uint32_t length = 0;
    PeerIndex source = kUnknownPeer;
    std::uint64_t era = 0;     // reliable: of the receiver with the source, that the packet is for
    std::uint64_t origin = 0;  // not reliable: of the sender's adapter
  };

  void arrive(Packet packet);
  SimulatedTransport* same_port_of(PeerIndex peer) const;
  bool shows_memory(PeerIndex peer);

  SimulatedNetwork& network_;
  PortConfig config_;
  PortAddress known_address_;  // to the engine: what it was at the last look()
  BulkMemory* bulk_memory_ = nullptr;
  std::uint64_t serial_;  // tells apart ports that had the same address one after the other
  std::function<void()> on_arrival_;
  std::deque<Packet> queue_;
  std::deque<Packet> held_;                          // given to the engine, not yet released
  std::uint32_t expected_ = 0;                       // reliable: accepted by senders, not yet in the queue
  std::map<PeerIndex, PortAddress> destinations_;    // of those that were added
  Nanoseconds free_at_ = 0;                          // when the last byte has left
  std::uint64_t taken_ = 0;                          // packets, from everybody
  PairEras eras_;                                    // reliable
  bool link_up_ = true, link_told_up_ = true;        // as look() has found it; as it was told since
  MatrixOfAdapters matrix_;                          // as look() has found it
  std::atomic<std::uint32_t> link_changes_ = 0;
  std::map<PeerIndex, Nanoseconds> newest_arrival_;  // reliable: keeps the order towards each peer
  TransportCounters counters_;
};

class SimulatedNetwork {
 public:
  struct Counters {
    std::uint64_t carried = 0, lost = 0, cut = 0, doubled = 0, damaged = 0, misdelivered = 0, overflowed = 0, late = 0,
                  too_long = 0, crossed = 0;  // to another adapter's number than the sender's
  };

  SimulatedNetwork(VirtualTime& time, std::uint64_t seed);

  void set_faults(const NetworkFaults& faults) { faults_ = faults; }
  const NetworkFaults& faults() const { return faults_; }

  // Packets pass only between tasks of the same group (by task; tasks beyond the end are in group 0). Empty: all are
  // together again. Memory is never partitioned: reliable ports do not notice.
  void partition(std::vector<std::uint8_t> groups) { groups_ = std::move(groups); }

  bool separated(PeerIndex a, PeerIndex b) const;

  // The adapter of a task, of all its contexts, sends or receives nothing until it is mended. Cuts are counted: it is
  // mended as often as it was cut.
  enum class Direction : std::uint8_t { outgoing, incoming };
  struct Cut {
    PeerIndex task;
    std::uint32_t adapter;
    Direction direction;
    auto operator<=>(const Cut&) const = default;
  };
  void cut(const Cut& cut) { ++cuts_[cut]; }
  void mend(const Cut& cut) {
    if (std::uint32_t& times = cuts_[cut]; times != 0) --times;
  }
  void mend_all() { cuts_.clear(); }
  // In one direction at least.
  bool is_cut(PeerIndex task, std::uint32_t adapter) const;

  // The adapter of a task passes longer packets no more: they vanish.
  void narrow(PeerIndex task, std::uint32_t adapter, std::uint32_t longest) { longest_[{task, adapter}] = longest; }

  // A task hears, in all its contexts, that the link of an adapter is up or down, whatever it is.
  void tell_of_link(PeerIndex task, std::uint32_t adapter, bool up);
  // All tasks read in the matrix that an adapter of the task is up or down, whatever it is; the task need not have it.
  void tell_in_matrix(PeerIndex task, std::uint32_t adapter, bool up);

  // The adapter of a task has another address from now on, in all the task's contexts, which hear of it. What is sent
  // to the former one is lost.
  void move(PeerIndex task, std::uint32_t adapter);

  // Bytes from a stranger, to whoever is at the address.
  void inject(const PortAddress& to, std::span<const std::byte> bytes);

  const Counters& counters() const { return counters_; }

  // Called for every packet that an unreliable port takes, whatever becomes of it.
  using DepartureListener = std::function<void(const PortAddress& from, PeerIndex to, const OutgoingPacket& packet)>;
  void set_departure_listener(DepartureListener listener) { on_departure_ = std::move(listener); }

 private:
  friend class SimulatedTransport;

  void open(SimulatedTransport& port);
  void close(SimulatedTransport& port);
  SimulatedTransport* find(const PortAddress& address) const;
  bool carry(SimulatedTransport& from, PeerIndex peer, const OutgoingPacket& packet);
  bool carry_reliably(SimulatedTransport& from, PeerIndex peer, const OutgoingPacket& packet);
  void send_copy(SimulatedTransport& from, PortAddress to, const OutgoingPacket& packet, Nanoseconds departure);
  bool is_cut(const PortAddress& port, Direction direction);
  bool is_too_long(const PortAddress& port, std::uint32_t length);
  void damage(SimulatedTransport::Packet& packet);
  Nanoseconds delay();
  PortAddress some_other_port(const PortAddress& address);

  VirtualTime& time_;
  SeededRandom random_;
  NetworkFaults faults_;
  std::vector<std::uint8_t> groups_;
  std::map<Cut, std::uint32_t> cuts_;
  MatrixOfAdapters matrix_;
  DepartureListener on_departure_;
  std::map<std::pair<PeerIndex, std::uint32_t>, std::uint32_t> longest_;  // bytes, by task and adapter
  std::map<PortAddress, SimulatedTransport*> ports_;
  std::uint64_t next_serial_ = 1;
  Counters counters_;
};

}  // namespace openlapi
