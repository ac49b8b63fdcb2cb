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
  // `pieces` reads succeed, then one fails, and so on; SIZE_MAX: all succeed.
  void make_readable(std::size_t pieces = SIZE_MAX) { readable_ = true, reads_until_failure_ = pieces; }

  // From now on the transport promises nothing: this share of the packets is lost, and as many come twice.
  void make_lossy(double share, unsigned seed) {
    limits_.reliable = false;
    loss_ = share;
    random_.seed(seed);
  }

  std::size_t waiting() const { return queue_.size(); }
  std::size_t reads() const { return reads_; }

  std::string_view name() const override { return "memory"; }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override { return {}; }
  bool add_peer(PeerIndex, const PeerAddress&, std::string&) override { return true; }

  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override {
    MemoryTransport& to = *peers_.at(peer);
    std::size_t taken = 0;
    for (const OutgoingPacket& packet : packets) {
      if (to.queue_.size() + to.held_.size() >= to.room_) break;
      ++taken;
      const double fate = loss_ == 0 ? 1 : std::uniform_real_distribution<>(0, 1)(random_);
      if (fate < loss_) continue;
      to.queue_.push_back({self_, gather(packet)});
      if (fate < 2 * loss_) to.queue_.push_back({self_, gather(packet)});
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
  TransportCounters counters() const override { return {}; }

  bool reachable(PeerIndex) override { return true; }
  bool read(PeerIndex, std::uint64_t address, void* local, std::size_t length) override {
    if (reads_until_failure_ == 0) return false;
    if (reads_until_failure_ != SIZE_MAX) --reads_until_failure_;
    ++reads_;
    std::memcpy(local, reinterpret_cast<const void*>(address), length);
    return true;
  }
  bool read_ranges(PeerIndex, std::span<const MemoryRange> remote, std::span<const MemoryRange> local) override {
    if (reads_until_failure_ == 0) return false;
    ++reads_;
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

  static std::pair<std::unique_ptr<std::uint64_t[]>, std::uint32_t> gather(const OutgoingPacket& packet) {
    auto words = std::make_unique<std::uint64_t[]>(packet.length / 8 + 1);
    auto* out = reinterpret_cast<std::byte*>(words.get());
    for (const ConstBuffer& piece : packet.pieces) {
      if (piece.length != 0) std::memcpy(out, piece.data, piece.length);
      out += piece.length;
    }
    return {std::move(words), packet.length};
  }

  TransportLimits limits_;
  PeerIndex self_;
  std::map<PeerIndex, MemoryTransport*> peers_;
  std::deque<Packet> queue_;
  std::deque<Packet> held_;
  std::size_t room_ = 64;
  PeerIndex gone_ = kUnknownPeer;
  bool left_ = false;
  double loss_ = 0;
  std::mt19937 random_;
  bool readable_ = false;
  std::size_t reads_until_failure_ = SIZE_MAX;
  std::size_t reads_ = 0;
};

}  // namespace openlapi
