// A transport between endpoints of one process and one thread, for unit tests of the engine: packets wait in queues of
// a set length until the receiver takes them. Reliable unless a test makes it lossy; its memory can be read by peers
// when a test says so.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "dataplane/transport/transport.h"
#include "tests/support/pair_eras.h"

namespace openlapi {

class MemoryTransport final : public Transport,
                              public RemoteMemory,
                              public ArrivalWatch,
                              public PeerLimits,
                              public PacketOrigins,
                              public PackedDatagrams,
                              public PeerLiveness,
                              public ReliableDelivery,
                              public PeerEras,
                              public LinkStatus {
 public:
  MemoryTransport(PeerIndex self, std::uint32_t max_packet);
  ~MemoryTransport() override;

  static void connect(MemoryTransport& a, MemoryTransport& b);

  // How many packets may wait at this receiver.
  void set_room(std::size_t packets) { room_ = packets; }
  void set_gone(PeerIndex peer, bool in_order = false) { gone_ = peer, left_ = in_order; }
  // `peer` is about to hand over a packet, and what others have handed over waits behind it; kUnknownPeer: no longer.
  void hold_turn(PeerIndex peer) { turn_ = peer; }
  std::size_t turn_looks() const { return turn_looks_; }  // calls of awaited_turn(), so far
  // It is for another's turn that `peer` takes nothing; kUnknownPeer: nobody is held up.
  void hold_up(PeerIndex peer) { held_up_ = peer; }
  // From now on this transport does not count what arrives.
  void count_no_arrivals() { counts_ = false; }
  // `pieces` reads succeed, all others fail; SIZE_MAX: all succeed.
  void make_readable(std::size_t pieces = SIZE_MAX) { readable_ = true, reads_until_failure_ = pieces; }
  // From now on this transport finds that it cannot read any peer at all.
  void close_peers() { reachable_ = false; }

  // Where all peers are from now on, and where what waits or comes says that it is from.
  void set_origins(std::uint64_t of_peers, std::uint64_t of_packets) {
    origin_of_peers_ = of_peers;
    origin_of_packets_ = of_packets;
  }
  // Under this number packets go there as well, and are from there if they say so.
  void add_end(PeerIndex number, MemoryTransport& to, std::uint64_t origin) {
    peers_[number] = &to;
    origins_of_ends_[number] = origin;
  }
  // What waits comes in datagrams of so many packets from now on, the last one of as many as are left.
  void come_together(std::size_t packets) { datagram_ = packets, in_datagram_ = 0; }
  std::size_t skipped() const { return skipped_; }  // packets of datagrams that were not believed

  // Damaged packets are handed out from now on.
  void make_unchecked() { limits_.checked = false; }

  void set_bulk_memory(BulkMemory* memory) { bulk_memory_ = memory; }
  void set_direct_memory(DirectMemory* memory) { direct_memory_ = memory; }
  void set_one_sided_memory(OneSidedMemory* memory) { one_sided_memory_ = memory; }  // beside a bulk memory

  // From the next look() on this transport says so of its link.
  void say_of_link(bool up) { link_said_ = up ? 0 : 1; }
  void say_not_there_yet() { link_said_ = kNotThereYet; }
  std::size_t link_looks() const { return link_looks_; }  // calls of look(), so far

  // From now on the transport promises nothing: this share of the packets is lost, and as many come twice.
  void make_lossy(double share, unsigned seed);

  // `peer` takes packets of so many bytes only: longer ones never reach it.
  void limit_packets_to(PeerIndex peer, std::uint32_t bytes);

  std::size_t waiting() const { return queue_.size(); }
  std::size_t send_calls() const { return send_calls_; }  // of send_burst(), so far
  void forget_waiting();
  // What waits to be received, copied; put_back() lets it come (again).
  using Copies = std::vector<std::vector<std::byte>>;
  Copies take_waiting();
  void put_back(const Copies& copies);
  std::size_t reads() const { return reads_; }
  std::size_t vectored_reads() const { return vectored_reads_; }
  std::size_t abandoned() const { return abandoned_; }  // of send_abandoned()

  std::string_view name() const override { return "memory"; }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override { return {}; }
  bool add_peer(PeerIndex peer, const PeerAddress&, std::string&) override {
    eras_.begin(peer, self_, peers_.at(peer)->eras_);
    return true;
  }

  std::uint32_t max_packet_to(PeerIndex peer) const override;
  std::uint32_t max_packets_to(PeerIndex) const override { return UINT32_MAX; }
  std::uint64_t origin_of(PeerIndex peer) const override {
    const auto end = origins_of_ends_.find(peer);
    return end == origins_of_ends_.end() ? origin_of_peers_ : end->second;
  }

  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override;
  void send_abandoned(PeerIndex) override { ++abandoned_; }
  std::size_t receive_burst(std::span<IncomingPacket> packets) override;
  std::size_t receive_rest(std::span<IncomingPacket> packets) override;
  void skip_datagram() override;
  void release(std::size_t count) override;
  ArrivalWord arrival_word() const override { return {&arrivals_, seen_arrivals_}; }

  bool peer_gone(PeerIndex peer) override { return gone_ == peer; }
  bool peer_left(PeerIndex) override { return left_; }
  Intake intake(PeerIndex peer) override {
    const MemoryTransport& to = *peers_.at(peer);
    return {to.taken_, !to.queue_.empty() || to.room_ == 0 || !to.eras_.receives(self_, eras_.sends_for(peer))};
  }
  Turn awaited_turn() override {
    ++turn_looks_;
    return {turn_, 1, turn_ != kUnknownPeer};
  }
  Arrivals arrivals() const override { return counts_ ? Arrivals{taken_ + queue_.size(), taken_} : Arrivals{}; }
  bool waits_for_another(PeerIndex peer) override { return held_up_ == peer; }
  void purge_peer(PeerIndex peer) override { eras_.purge(peer); }
  void resume_peer(PeerIndex peer) override { eras_.resume(peer); }
  void give_up_peer(PeerIndex peer) override {
    eras_.give_up(peer);
    if (turn_ == peer) turn_ = kUnknownPeer;
  }
  bool peer_began_anew(PeerIndex peer) override { return eras_.began_anew(peer, self_, peers_.at(peer)->eras_); }
  bool gave_up(PeerIndex peer) const override { return eras_.was_given_up(peer); }
  std::uint32_t era_with(PeerIndex peer) const override { return static_cast<std::uint32_t>(eras_.number_of(peer)); }
  std::uint32_t era_sent_for(PeerIndex peer) const override {
    return static_cast<std::uint32_t>(eras_.sends_for(peer));
  }
  TransportCapabilities capabilities() override {
    return {.remote_memory = readable_ ? this : nullptr,
            .direct_memory = direct_memory_,
            .bulk_memory = bulk_memory_,
            .one_sided_memory = one_sided_memory_,
            .arrival_watch = this,
            .peer_limits = this,
            .packet_origins = this,
            .packed_datagrams = this,
            .peer_liveness = this,
            .reliable_delivery = this,
            .peer_eras = this,
            .link_status = this};
  }
  TransportCounters counters() const override { return {.packets_received = taken_}; }

  const std::atomic<std::uint32_t>& changes() const override { return link_changes_; }
  void look() override {
    ++link_looks_;
    if (std::exchange(link_words_, link_said_) != link_said_) ++link_changes_;
  }
  std::uint32_t words_against(PeerIndex) const override { return link_words_; }
  const char* told_by(PeerIndex) const override { return nullptr; }
  void path_failed(PeerIndex peer) override { failed_paths_.push_back(peer); }
  const std::vector<PeerIndex>& failed_paths() const { return failed_paths_; }  // of these the engine has said so

  bool reachable(PeerIndex) override { return reachable_; }
  bool read(PeerIndex, std::uint64_t address, void* local, std::size_t length) override;
  bool read_ranges(PeerIndex, std::span<const MemoryRange> remote, std::span<const MemoryRange> local) override;

 private:
  struct Packet {
    Packet(PeerIndex source, std::uint64_t era, std::pair<std::unique_ptr<std::uint64_t[]>, std::uint32_t> bytes)
        : source(source), era(era), words(std::move(bytes.first)), length(bytes.second) {}
    PeerIndex source;
    std::uint64_t era;                       // of the receiver with the source, that the packet is for
    std::unique_ptr<std::uint64_t[]> words;  // 8-byte aligned
    std::uint32_t length;
  };

  IncomingPacket take_next();
  void read_pieces(const OutgoingPacket& packet);
  static std::pair<std::unique_ptr<std::uint64_t[]>, std::uint32_t> gather(const OutgoingPacket& packet);

  std::vector<std::byte> read_;
  TransportLimits limits_;
  PeerIndex self_;
  std::map<PeerIndex, MemoryTransport*> peers_;
  std::map<PeerIndex, std::uint32_t> limits_of_peers_;
  std::map<PeerIndex, std::uint64_t> origins_of_ends_{};
  std::deque<Packet> queue_;
  std::deque<Packet> held_;
  std::atomic<std::uint64_t> arrivals_ = 0;
  std::uint64_t seen_arrivals_ = 0;  // by the last receive_burst()
  std::uint64_t taken_ = 0;
  std::size_t datagram_ = 1, in_datagram_ = 0;  // packets of each; of the present one that were taken
  std::size_t skipped_ = 0;
  PairEras eras_;
  std::size_t room_ = 64;
  PeerIndex gone_ = kUnknownPeer, turn_ = kUnknownPeer, held_up_ = kUnknownPeer;
  std::size_t turn_looks_ = 0;
  bool counts_ = true;
  std::uint64_t origin_of_peers_ = 0, origin_of_packets_ = 0;
  bool left_ = false;
  std::vector<PeerIndex> failed_paths_;
  std::uint32_t link_words_ = 0, link_said_ = 0;
  std::atomic<std::uint32_t> link_changes_ = 0;
  std::size_t link_looks_ = 0;
  double loss_ = 0;
  std::mt19937 random_;
  bool readable_ = false;
  bool reachable_ = true;
  BulkMemory* bulk_memory_ = nullptr;
  DirectMemory* direct_memory_ = nullptr;
  OneSidedMemory* one_sided_memory_ = nullptr;
  std::size_t reads_until_failure_ = SIZE_MAX;
  std::size_t send_calls_ = 0;
  std::size_t reads_ = 0;
  std::size_t vectored_reads_ = 0;
  std::size_t abandoned_ = 0;
};

}  // namespace openlapi
