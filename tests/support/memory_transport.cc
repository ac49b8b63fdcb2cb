#include "tests/support/memory_transport.h"

#include <cstring>
#include <numeric>

#include "dataplane/base/check.h"
#include "tests/support/copy_ranges.h"

namespace openlapi {

MemoryTransport::MemoryTransport(PeerIndex self, std::uint32_t max_packet)
    : limits_{max_packet, 32, true, true}, self_(self) {}

MemoryTransport::~MemoryTransport() = default;

void MemoryTransport::connect(MemoryTransport& a, MemoryTransport& b) {
  a.peers_[b.self_] = &b;
  b.peers_[a.self_] = &a;
}

void MemoryTransport::make_lossy(double share, unsigned seed) {
  limits_.reliable = false;
  loss_ = share;
  random_.seed(seed);
}

void MemoryTransport::limit_packets_to(PeerIndex peer, std::uint32_t bytes) { limits_of_peers_[peer] = bytes; }

void MemoryTransport::forget_waiting() {
  queue_.clear();
  in_datagram_ = 0;
}

MemoryTransport::Copies MemoryTransport::take_waiting() {
  Copies copies;
  for (const Packet& packet : queue_) {
    const auto* bytes = reinterpret_cast<const std::byte*>(packet.words.get());
    copies.emplace_back(bytes, bytes + packet.length);
  }
  forget_waiting();
  return copies;
}

void MemoryTransport::put_back(const Copies& copies) {
  for (const std::vector<std::byte>& copy : copies) {
    const ConstBuffer piece{copy.data(), copy.size()};
    queue_.push_back({kUnknownPeer, 0, gather({{&piece, 1}, static_cast<std::uint32_t>(copy.size())})});
  }
}

std::uint32_t MemoryTransport::max_packet_to(PeerIndex peer) const {
  const auto limit = limits_of_peers_.find(peer);
  return limit == limits_of_peers_.end() ? limits_.max_packet : limit->second;
}

std::size_t MemoryTransport::send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) {
  MemoryTransport& to = *peers_.at(peer);
  ++send_calls_;
  if (limits_.reliable && eras_.is_shut(peer, self_, to.eras_)) return 0;
  const std::uint64_t era = eras_.sends_for(peer);
  std::size_t taken = 0;
  for (const OutgoingPacket& packet : packets) {
    if (to.queue_.size() + to.held_.size() >= to.room_) break;
    ++taken;
    ++to.arrivals_;
    read_pieces(packet);
    if (packet.length > max_packet_to(peer)) continue;
    const double fate = loss_ == 0 ? 1 : std::uniform_real_distribution<>(0, 1)(random_);
    if (fate < loss_) continue;
    const ConstBuffer all{read_.data(), packet.length};
    to.queue_.push_back({self_, era, gather({{&all, 1}, packet.length})});
    if (fate < 2 * loss_) to.queue_.push_back({self_, era, gather({{&all, 1}, packet.length})});
  }
  return taken;
}

std::size_t MemoryTransport::receive_burst(std::span<IncomingPacket> packets) {
  std::size_t count = 0;
  while (turn_ == kUnknownPeer && count < packets.size() && !queue_.empty()) packets[count++] = take_next();
  if (queue_.empty()) seen_arrivals_ = arrivals_.load();
  return count;
}

std::size_t MemoryTransport::receive_rest(std::span<IncomingPacket> packets) {
  std::size_t count = 0;
  while (in_datagram_ != 0 && count < packets.size()) packets[count++] = take_next();
  return count;
}

void MemoryTransport::skip_datagram() {
  for (; in_datagram_ != 0; ++skipped_) {
    take_next();
    held_.pop_back();
  }
}

IncomingPacket MemoryTransport::take_next() {
  held_.push_back(std::move(queue_.front()));
  queue_.pop_front();
  ++taken_;
  Packet& packet = held_.back();
  const bool known = limits_.reliable && eras_.receives(packet.source, packet.era);
  const PeerIndex source = known ? packet.source : kUnknownPeer;
  const bool same_datagram = in_datagram_ != 0;
  in_datagram_ = queue_.empty() ? 0 : (in_datagram_ + 1) % datagram_;
  return {reinterpret_cast<std::byte*>(packet.words.get()), packet.length, source, same_datagram, origin_of_packets_};
}

void MemoryTransport::release(std::size_t count) {
  for (; count != 0; --count) held_.pop_front();
}

bool MemoryTransport::read(PeerIndex peer, std::uint64_t address, void* local, std::size_t length) {
  if (reads_until_failure_ == 0 || !reachable_ || !peers_.at(peer)->eras_.receives(self_, eras_.sends_for(peer))) {
    return false;
  }
  if (reads_until_failure_ != SIZE_MAX) --reads_until_failure_;
  ++reads_;
  if (length != 0) std::memcpy(local, reinterpret_cast<const void*>(address), length);
  return true;
}

bool MemoryTransport::read_ranges(PeerIndex, std::span<const MemoryRange> remote, std::span<const MemoryRange> local) {
  if (reads_until_failure_ == 0 || !reachable_) return false;
  if (reads_until_failure_ != SIZE_MAX) --reads_until_failure_;
  ++reads_;
  ++vectored_reads_;
  return copy_ranges(remote, local);
}

// The pieces may lie in memory that is not there: whoever is left here by a jump must not leave anything behind.
void MemoryTransport::read_pieces(const OutgoingPacket& packet) {
  const auto sum = [](std::uint64_t so_far, const ConstBuffer& piece) { return so_far + piece.length; };
  OPENLAPI_CHECK(std::accumulate(packet.pieces.begin(), packet.pieces.end(), std::uint64_t{0}, sum) == packet.length);
  read_.resize(packet.length);
  copy_pieces(read_.data(), packet.pieces);
}

std::pair<std::unique_ptr<std::uint64_t[]>, std::uint32_t> MemoryTransport::gather(const OutgoingPacket& packet) {
  auto words = std::make_unique<std::uint64_t[]>(packet.length / 8 + 1);
  copy_pieces(reinterpret_cast<std::byte*>(words.get()), packet.pieces);
  return {std::move(words), packet.length};
}

}  // namespace openlapi
