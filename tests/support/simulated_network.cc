#include "tests/support/simulated_network.h"

#include <algorithm>
#include <cstring>

#include "tests/support/copy_ranges.h"

namespace openlapi {

namespace {

// What the memory of a packet is overwritten with once it was given back: whoever still looks at it sees this.
constexpr int kReleasedByte = 0xd5;

// A port that has moved has a number so much larger.
constexpr std::uint32_t kPortsBetweenMoves = 1 << 20;

std::uint64_t origin_of(const PortAddress& address) {
  const std::uint64_t moves = address.port / kPortsBetweenMoves;
  return std::uint64_t{1} << 63 | moves << 48 | std::uint64_t{address.task} << 16 | address.adapter;
}

}  // namespace

SimulatedTransport::SimulatedTransport(SimulatedNetwork& network, const PortConfig& config)
    : network_(network), config_(config), known_address_(config.address), serial_(network.next_serial_++) {
  network_.open(*this);
}

SimulatedTransport::~SimulatedTransport() { network_.close(*this); }

PeerAddress SimulatedTransport::encode(const PortAddress& port) {
  PeerAddress address;
  address.length = sizeof(PortAddress);
  std::memcpy(address.bytes.data(), &port, sizeof(PortAddress));
  return address;
}

bool SimulatedTransport::add_peer(PeerIndex peer, const PeerAddress& address, std::string&) {
  PortAddress port{peer, config_.address.context, config_.address.adapter};
  if (address.length == sizeof(PortAddress)) std::memcpy(&port, address.bytes.data(), sizeof(PortAddress));
  destinations_[peer] = port;
  if (const SimulatedTransport* other = same_port_of(peer); config_.limits.reliable && other != nullptr) {
    eras_.begin(peer, config_.address.task, other->eras_);
  }
  return true;
}

std::uint64_t SimulatedTransport::origin_of(PeerIndex peer) const {
  const auto found = destinations_.find(peer);
  const PortAddress usual{peer, config_.address.context, config_.address.adapter};
  return openlapi::origin_of(found == destinations_.end() ? usual : found->second);
}

std::size_t SimulatedTransport::send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) {
  const std::size_t most = std::min<std::size_t>(packets.size(), config_.limits.max_burst);
  std::size_t taken = 0;
  while (taken < most && network_.carry(*this, peer, packets[taken])) ++taken;
  counters_.packets_sent += taken;
  if (taken != packets.size()) ++counters_.send_refused;
  return taken;
}

std::size_t SimulatedTransport::receive_burst(std::span<IncomingPacket> packets) {
  if (queue_.empty()) return 0;
  // Bursts of any size, so that messages are seen in every stage of their arrival.
  const std::size_t most = network_.random_.between(1, std::min(packets.size(), queue_.size()));
  for (std::size_t i = 0; i < most; ++i) {
    held_.push_back(std::move(queue_.front()));
    queue_.pop_front();
    ++taken_;
    Packet& packet = held_.back();
    const bool known = eras_.receives(packet.source, packet.era);
    packets[i] = {reinterpret_cast<std::byte*>(packet.words.get()), packet.length, known ? packet.source : kUnknownPeer,
                  false, packet.origin};
  }
  counters_.packets_received += most;
  return most;
}

void SimulatedTransport::release(std::size_t count) {
  for (; count != 0; --count) {
    std::memset(held_.front().words.get(), kReleasedByte, held_.front().length);
    held_.pop_front();
  }
}

bool SimulatedTransport::peer_gone(PeerIndex peer) {
  return config_.limits.reliable && same_port_of(peer) == nullptr;
}

SimulatedTransport* SimulatedTransport::same_port_of(PeerIndex peer) const {
  return network_.find({peer, config_.address.context, config_.address.adapter});
}

ReliableDelivery::Intake SimulatedTransport::intake(PeerIndex peer) {
  const SimulatedTransport* to = same_port_of(peer);
  if (to == nullptr) return {};
  const bool purged = !to->eras_.receives(config_.address.task, eras_.sends_for(peer));
  return {to->taken_, purged || !to->queue_.empty() || to->expected_ != 0};
}

bool SimulatedTransport::peer_began_anew(PeerIndex peer) {
  const SimulatedTransport* other = same_port_of(peer);
  return other != nullptr && eras_.began_anew(peer, config_.address.task, other->eras_);
}

// As long as its user has not purged this task.
bool SimulatedTransport::shows_memory(PeerIndex peer) {
  const SimulatedTransport* other = same_port_of(peer);
  if (other == nullptr || !other->eras_.receives(config_.address.task, eras_.sends_for(peer))) return false;
  return !network_.random_.chance(config_.read_refusal);
}

bool SimulatedTransport::reachable(PeerIndex peer) { return !peer_gone(peer); }

bool SimulatedTransport::read(PeerIndex peer, std::uint64_t remote_address, void* local, std::size_t length) {
  if (!shows_memory(peer)) return false;
  std::memcpy(local, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(remote_address)), length);
  return true;
}

bool SimulatedTransport::read_ranges(PeerIndex peer, std::span<const MemoryRange> remote,
                                     std::span<const MemoryRange> local) {
  if (!shows_memory(peer)) return false;
  return copy_ranges(remote, local);
}

void SimulatedTransport::look() {
  const bool has_other_link = std::exchange(link_up_, link_told_up_) != link_told_up_;
  const bool has_other_matrix = matrix_.generation() != network_.matrix_.generation();
  if (has_other_matrix) matrix_ = network_.matrix_;
  const bool has_moved = std::exchange(known_address_, config_.address) != config_.address;
  if (has_other_link || has_other_matrix || has_moved) ++link_changes_;
}

std::uint32_t SimulatedTransport::words_against(PeerIndex peer) const {
  const auto there = destinations_.find(peer);
  std::uint32_t words = link_up_ ? 0 : 1;
  if (matrix_.is_down(config_.address)) words |= 2;
  if (there != destinations_.end() && matrix_.is_down(there->second)) words |= 4;
  return words;
}

void SimulatedTransport::arrive(Packet packet) {
  if (!config_.limits.reliable && queue_.size() + held_.size() >= config_.queue_packets) {
    ++network_.counters_.overflowed;
    return;
  }
  queue_.push_back(std::move(packet));
  if (on_arrival_) on_arrival_();
}

SimulatedNetwork::SimulatedNetwork(VirtualTime& time, std::uint64_t seed) : time_(time), random_(seed, 0x6e6574) {}

void SimulatedNetwork::open(SimulatedTransport& port) { ports_[port.config_.address] = &port; }

void SimulatedNetwork::close(SimulatedTransport& port) { ports_.erase(port.config_.address); }

SimulatedTransport* SimulatedNetwork::find(const PortAddress& address) const {
  const auto found = ports_.find(address);
  return found == ports_.end() ? nullptr : found->second;
}

bool SimulatedNetwork::separated(PeerIndex a, PeerIndex b) const {
  const auto group = [&](PeerIndex task) { return task < groups_.size() ? groups_[task] : 0; };
  return group(a) != group(b);
}

void SimulatedNetwork::tell_of_link(PeerIndex task, std::uint32_t adapter, bool up) {
  for (const auto& [address, port] : ports_) {
    if (address.task != task || address.adapter != adapter || port->config_.limits.reliable) continue;
    port->link_told_up_ = up;
    if (port->on_arrival_) port->on_arrival_();
  }
}

void SimulatedNetwork::tell_in_matrix(PeerIndex task, std::uint32_t adapter, bool up) {
  matrix_.set(task, adapter, up);
  for (const auto& [address, port] : ports_) {
    if (!port->config_.limits.reliable && port->on_arrival_) port->on_arrival_();
  }
}

void SimulatedNetwork::move(PeerIndex task, std::uint32_t adapter) {
  std::vector<SimulatedTransport*> moved;
  for (const auto& [address, port] : ports_) {
    if (address.task == task && address.adapter == adapter && !port->config_.limits.reliable) moved.push_back(port);
  }
  for (SimulatedTransport* port : moved) {
    close(*port);
    port->config_.address.port += kPortsBetweenMoves;
    open(*port);
    if (port->on_arrival_) port->on_arrival_();
  }
}

bool SimulatedNetwork::is_cut(PeerIndex task, std::uint32_t adapter) const {
  const auto is_so = [&](Direction direction) {
    const auto found = cuts_.find({task, adapter, direction});
    return found != cuts_.end() && found->second != 0;
  };
  return is_so(Direction::outgoing) || is_so(Direction::incoming);
}

bool SimulatedNetwork::is_cut(const PortAddress& port, Direction direction) {
  const auto found = cuts_.find({port.task, port.adapter, direction});
  if (found == cuts_.end() || found->second == 0) return false;
  ++counters_.cut;
  return true;
}

bool SimulatedNetwork::is_too_long(const PortAddress& port, std::uint32_t length) {
  const auto found = longest_.find({port.task, port.adapter});
  if (found == longest_.end() || length <= found->second) return false;
  ++counters_.too_long;
  return true;
}

Nanoseconds SimulatedNetwork::delay() {
  if (random_.chance(faults_.late)) {
    ++counters_.late;
    return random_.between(faults_.least_delay, std::max(faults_.latest, faults_.least_delay));
  }
  return random_.between(faults_.least_delay, faults_.most_delay);
}

namespace {

std::unique_ptr<std::uint64_t[]> gather(const OutgoingPacket& packet) {
  auto words = std::make_unique_for_overwrite<std::uint64_t[]>((packet.length + 7) / 8 + 1);
  auto* out = reinterpret_cast<std::byte*>(words.get());
  for (const ConstBuffer& piece : packet.pieces) {
    if (piece.length != 0) std::memcpy(out, piece.data, piece.length);
    out += piece.length;
  }
  return words;
}

}  // namespace

bool SimulatedNetwork::carry(SimulatedTransport& from, PeerIndex peer, const OutgoingPacket& packet) {
  if (from.config_.limits.reliable) return carry_reliably(from, peer, packet);
  const Nanoseconds now = time_.now();
  if (from.free_at_ > now + from.config_.longest_backlog || random_.chance(faults_.refusal)) return false;
  const auto time_for = [&](std::uint64_t bytes) { return bytes * kSecond / from.config_.bytes_per_second; };
  const Nanoseconds since = now - std::min(now, time_for(from.config_.burst_bytes));
  from.free_at_ = std::max(since, from.free_at_) + time_for(packet.length);
  const Nanoseconds departure = std::max(now, from.free_at_);
  ++counters_.carried;
  if (on_departure_) on_departure_(from.config_.address, peer, packet);
  const auto known = from.destinations_.find(peer);
  const PortAddress to = known != from.destinations_.end()
                             ? known->second
                             : PortAddress{peer, from.config_.address.context, from.config_.address.adapter};
  if (to.adapter != from.config_.address.adapter) ++counters_.crossed;
  if (random_.chance(faults_.loss)) {
    ++counters_.lost;
  } else {
    send_copy(from, to, packet, departure);
  }
  if (random_.chance(faults_.duplication)) {
    ++counters_.doubled;
    send_copy(from, to, packet, departure);
  }
  return true;
}

void SimulatedNetwork::send_copy(SimulatedTransport& from, PortAddress to, const OutgoingPacket& packet,
                                 Nanoseconds departure) {
  const PeerIndex source = from.config_.address.task;
  if (random_.chance(faults_.misdelivery)) {
    ++counters_.misdelivered;
    to = some_other_port(to);
  }
  if (separated(source, to.task) || is_cut(from.config_.address, Direction::outgoing) ||
      is_too_long(from.config_.address, packet.length) || is_too_long(to, packet.length)) {
    ++counters_.lost;
    return;
  }
  SimulatedTransport::Packet copy{gather(packet), packet.length, kUnknownPeer, 0, origin_of(from.config_.address)};
  if (!from.config_.limits.checked && random_.chance(faults_.corruption)) damage(copy);
  auto carried = std::make_shared<SimulatedTransport::Packet>(std::move(copy));
  time_.at(departure + from.config_.further_delay + delay(), [this, source, to, carried] {
    SimulatedTransport* port = find(to);
    if (port == nullptr || separated(source, to.task) || is_cut(to, Direction::incoming)) {
      ++counters_.lost;
    } else {
      port->arrive(std::move(*carried));
    }
  });
}

bool SimulatedNetwork::carry_reliably(SimulatedTransport& from, PeerIndex peer, const OutgoingPacket& packet) {
  const PortAddress to{peer, from.config_.address.context, from.config_.address.adapter};
  SimulatedTransport* target = find(to);
  ++counters_.carried;
  if (target == nullptr) return true;
  if (from.eras_.is_shut(peer, from.config_.address.task, target->eras_)) return false;
  const std::size_t waiting = target->queue_.size() + target->held_.size() + target->expected_;
  if (waiting >= target->config_.queue_packets || random_.chance(faults_.refusal)) return false;
  ++target->expected_;
  Nanoseconds& newest = from.newest_arrival_[peer];
  newest = std::max(newest, time_.now() + random_.between(100, 1000));
  auto carried = std::make_shared<SimulatedTransport::Packet>(SimulatedTransport::Packet{
      gather(packet), packet.length, from.config_.address.task, from.eras_.sends_for(peer)});
  time_.at(newest, [this, to, carried, serial = target->serial_] {
    SimulatedTransport* port = find(to);
    if (port == nullptr || port->serial_ != serial) return;
    --port->expected_;
    port->arrive(std::move(*carried));
  });
  return true;
}

void SimulatedNetwork::damage(SimulatedTransport::Packet& packet) {
  ++counters_.damaged;
  if (packet.length == 0) return;
  if (random_.chance(0.2)) {
    packet.length = static_cast<std::uint32_t>(random_.below(packet.length));
    return;
  }
  auto* bytes = reinterpret_cast<std::uint8_t*>(packet.words.get());
  for (std::uint64_t n = random_.between(1, 6); n != 0; --n) {
    bytes[random_.below(packet.length)] ^= static_cast<std::uint8_t>(random_.between(1, 255));
  }
}

PortAddress SimulatedNetwork::some_other_port(const PortAddress& address) {
  auto place = ports_.begin();
  std::advance(place, static_cast<std::ptrdiff_t>(random_.below(ports_.size())));
  return place->second->config_.limits.reliable ? address : place->first;
}

void SimulatedNetwork::inject(const PortAddress& to, std::span<const std::byte> bytes) {
  SimulatedTransport* port = find(to);
  if (port == nullptr) return;
  const ConstBuffer piece{bytes.data(), bytes.size()};
  const auto length = static_cast<std::uint32_t>(bytes.size());
  port->arrive({gather({{&piece, 1}, length}), length, kUnknownPeer});
}

}  // namespace openlapi
