// A transport between endpoints of one process and one thread, for unit tests of the engine: packets wait in queues of
// a set length until the receiver takes them. Reliable unless a test makes it lossy; its memory can be read by peers
// when a test says so.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "dataplane/transport/transport.h"
#include "tests/support/copy_ranges.h"

namespace openlapi {

class MemoryTransport final : public Transport, public RemoteMemory {
 public:
  MemoryTransport(PeerIndex self, std::uint32_t max_packet) : limits_{max_packet, 32, true, true}, self_(self) {}

  static void connect(MemoryTransport& a, MemoryTransport& b) {
    a.peers_[b.self_] = &b;
    b.peers_[a.self_] = &a;
  }

  // How many packets may wait at this receiver.
  void set_room(std::size_t packets) { room_ = packets; }
  void set_gone(PeerIndex peer, bool in_order = false) { gone_ = peer, left_ = in_order; }
  // `pieces` reads succeed, all others fail; SIZE_MAX: all succeed.
  void make_readable(std::size_t pieces = SIZE_MAX) { readable_ = true, reads_until_failure_ = pieces; }
  // From now on this transport finds that it cannot read any peer at all.
  void close_peers() { reachable_ = false; }

  void set_bulk_memory(BulkMemory* memory) { bulk_memory_ = memory; }

  // From now on the transport promises nothing: this share of the packets is lost, and as many come twice.
  void make_lossy(double share, unsigned seed) {
    limits_.reliable = false;
    loss_ = share;
    random_.seed(seed);
  }

  // `peer` takes packets of so many bytes only: longer ones never reach it.
  void limit_packets_to(PeerIndex peer, std::uint32_t bytes) { limits_of_peers_[peer] = bytes; }

  std::size_t waiting() const { return queue_.size(); }
  void forget_waiting() { queue_.clear(); }
  // What waits to be received, copied; put_back() lets it come (again).
  using Copies = std::vector<std::vector<std::byte>>;
  Copies take_waiting() {
    Copies copies;
    for (const Packet& packet : queue_) {
      const auto* bytes = reinterpret_cast<const std::byte*>(packet.words.get());
      copies.emplace_back(bytes, bytes + packet.length);
    }
    queue_.clear();
    return copies;
  }
  void put_back(const Copies& copies) {
    for (const std::vector<std::byte>& copy : copies) {
      const ConstBuffer piece{copy.data(), copy.size()};
      queue_.push_back({kUnknownPeer, gather({{&piece, 1}, static_cast<std::uint32_t>(copy.size())})});
    }
  }
  std::size_t reads() const { return reads_; }
  std::size_t vectored_reads() const { return vectored_reads_; }

  std::string_view name() const override { return "memory"; }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override { return {}; }
  bool add_peer(PeerIndex, const PeerAddress&, std::string&) override { return true; }

  std::uint32_t max_packet_to(PeerIndex peer) const override {
    const auto limit = limits_of_peers_.find(peer);
    return limit == limits_of_peers_.end() ? limits_.max_packet : limit->second;
  }

  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override {
    MemoryTransport& to = *peers_.at(peer);
    std::size_t taken = 0;
    for (const OutgoingPacket& packet : packets) {
      if (to.queue_.size() + to.held_.size() >= to.room_) break;
      ++taken;
      read_pieces(packet);
      if (packet.length > max_packet_to(peer)) continue;
      const double fate = loss_ == 0 ? 1 : std::uniform_real_distribution<>(0, 1)(random_);
      if (fate < loss_) continue;
      const ConstBuffer all{read_.data(), packet.length};
      to.queue_.push_back({self_, gather({{&all, 1}, packet.length})});
      if (fate < 2 * loss_) to.queue_.push_back({self_, gather({{&all, 1}, packet.length})});
    }
    return taken;
  }

  std::size_t receive_burst(std::span<IncomingPacket> packets) override {
    std::size_t count = 0;
    while (count < packets.size() && !queue_.empty()) {
      held_.push_back(std::move(queue_.front()));
      queue_.pop_front();
      Packet& packet = held_.back();
      const PeerIndex source = limits_.reliable ? packet.source : kUnknownPeer;
      packets[count++] = {reinterpret_cast<std::byte*>(packet.words.get()), packet.length, source};
    }
    return count;
  }

  void release(std::size_t count) override {
    for (; count != 0; --count) held_.pop_front();
  }

  bool peer_gone(PeerIndex peer) override { return gone_ == peer; }
  bool peer_left(PeerIndex) override { return left_; }
  RemoteMemory* remote_memory() override { return readable_ ? this : nullptr; }
  BulkMemory* bulk_memory() override { return bulk_memory_; }
  TransportCounters counters() const override { return {}; }

  bool reachable(PeerIndex) override { return reachable_; }
  bool read(PeerIndex, std::uint64_t address, void* local, std::size_t length) override {
    if (reads_until_failure_ == 0 || !reachable_) return false;
    if (reads_until_failure_ != SIZE_MAX) --reads_until_failure_;
    ++reads_;
    std::memcpy(local, reinterpret_cast<const void*>(address), length);
    return true;
  }
  bool read_ranges(PeerIndex, std::span<const MemoryRange> remote, std::span<const MemoryRange> local) override {
    if (reads_until_failure_ == 0 || !reachable_) return false;
    if (reads_until_failure_ != SIZE_MAX) --reads_until_failure_;
    ++reads_;
    ++vectored_reads_;
    return copy_ranges(remote, local);
  }

 private:
  struct Packet {
    Packet(PeerIndex source, std::pair<std::unique_ptr<std::uint64_t[]>, std::uint32_t> bytes)
        : source(source), words(std::move(bytes.first)), length(bytes.second) {}
    PeerIndex source;
    std::unique_ptr<std::uint64_t[]> words;  // 8-byte aligned
    std::uint32_t length;
  };

  // The pieces may lie in memory that is not there: whoever is left here by a jump must not leave anything behind.
  void read_pieces(const OutgoingPacket& packet) {
    read_.resize(packet.length);
    copy_pieces(read_.data(), packet.pieces);
  }

  static std::pair<std::unique_ptr<std::uint64_t[]>, std::uint32_t> gather(const OutgoingPacket& packet) {
    auto words = std::make_unique<std::uint64_t[]>(packet.length / 8 + 1);
    copy_pieces(reinterpret_cast<std::byte*>(words.get()), packet.pieces);
    return {std::move(words), packet.length};
  }

  std::vector<std::byte> read_;
  TransportLimits limits_;
  PeerIndex self_;
  std::map<PeerIndex, MemoryTransport*> peers_;
  std::map<PeerIndex, std::uint32_t> limits_of_peers_;
  std::deque<Packet> queue_;
  std::deque<Packet> held_;
  std::size_t room_ = 64;
  PeerIndex gone_ = kUnknownPeer;
  bool left_ = false;
  double loss_ = 0;
  std::mt19937 random_;
  bool readable_ = false;
  bool reachable_ = true;
  BulkMemory* bulk_memory_ = nullptr;
  std::size_t reads_until_failure_ = SIZE_MAX;
  std::size_t reads_ = 0;
  std::size_t vectored_reads_ = 0;
};

}  // namespace openlapi
