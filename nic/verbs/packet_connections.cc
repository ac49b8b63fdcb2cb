#include "nic/verbs/packet_connections.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/random_number.h"
#include "nic/verbs/device_kind.h"

namespace openlapi::verbs {

std::unique_ptr<PacketConnections> PacketConnections::make(const PacketConnectionSetting& setting, ConnectionPath& path,
                                                           const PacketConnectionLimits& limits) {
  std::unique_ptr<PacketConnections> made(new PacketConnections(setting, path, limits));
  if (!made->open()) return nullptr;
  return made;
}

PacketConnections::PacketConnections(const PacketConnectionSetting& setting, ConnectionPath& path,
                                     const PacketConnectionLimits& limits)
    : setting_(setting), path_(path), limits_(limits), served_(receiving_, path, 2 * limits.connections) {}

// Queue pairs go before what they use.
PacketConnections::~PacketConnections() { connections_.clear(); }

bool PacketConnections::open() {
  ibv_device_attr device{};
  if (ibv_query_device(setting_.context, &device) != 0 || device.max_srq < 1) return false;
  asking_ = asking_of(limits_.packets_before_asking, is_software(*setting_.context->device, device));
  setting_.receive_slots = std::min(setting_.receive_slots, static_cast<std::uint32_t>(std::max(device.max_srq_wr, 0)));
  // Twice: what connections that were given up have left behind lies there, too.
  const std::uint32_t most = static_cast<std::uint32_t>(std::max(device.max_cqe, 0)) / (2 * kSlots);
  limits_.connections = std::min(limits_.connections, most);
  if (limits_.connections == 0 || setting_.receive_slots == 0) return false;
  const auto length = static_cast<int>(2 * kSlots * limits_.connections);
  completions_ = setting_.domains->make_completion_queue(length, nullptr);
  sending_ = {.context = setting_.context,
              .domain = &setting_.domains->of_queues(),
              .completions = completions_.get(),
              .arrivals = setting_.arrivals,
              .place = setting_.place,
              .purpose = ConnectionMessage::Purpose::packets,
              .queue_length = kSlots,
              .pieces = setting_.pieces,
              .inline_limit = InlineLimit(setting_.inline_bytes),
              .destruction = setting_.domains->have_locks() ? &destruction_ : nullptr};
  receiving_ = sending_;
  receiving_.queue_length = 1;
  receiving_.inline_limit = InlineLimit();
  if (limits_.rings != Rings::never && completions_) open_rings(device);
  return completions_ != nullptr;
}

// The receiver of a ring posts through its end of the connection, for the sake of the ring alone.
void PacketConnections::open_rings(const ibv_device_attr& device) {
  const bool in_order = writes_in_order(*setting_.context->device, device);
  if ((limits_.rings != Rings::always && !in_order) || limits_.most_rings == 0) return;
  const std::uint32_t wanted = 4 * limits_.most_rings * ArrivalRings::kRequests;  // with what rings have left behind
  const auto length = static_cast<int>(std::min(wanted, static_cast<std::uint32_t>(device.max_cqe)));
  ring_completions_ = setting_.domains->make_completion_queue(length, nullptr);
  if (!ring_completions_) return;
  rings_wanted_ = true;
  sending_.rights = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  receiving_.rights = IBV_ACCESS_REMOTE_WRITE;
  receiving_.completions = ring_completions_.get();
  receiving_.queue_length = ArrivalRings::kRequests;
  receiving_.inline_limit = InlineLimit(sizeof(RingNews));
  served_.serve_rings(
      std::make_unique<ArrivalRings>(setting_.domains->of_memory(), *ring_completions_, limits_.most_rings));
}

// Made for the first peer that asks: it takes as much locked memory as the transport's own queue.
bool PacketConnections::open_receives() {
  if (shared_) return true;
  const CancellationOff off;
  ibv_srq_init_attr wanted{};
  wanted.attr = {.max_wr = setting_.receive_slots, .max_sge = 1, .srq_limit = 0};
  SharedReceiveQueue made(ibv_create_srq(&setting_.domains->of_queues(), &wanted));
  if (!made) return false;
  if (receives_.open(setting_.domains->of_memory(), setting_.receive_slots, setting_.max_packet, 0, kArrivalBit) != 0)
    return false;
  receives_.post_to(*made);
  receiving_.shared = made.get();
  shared_ = std::move(made);
  receives_.post();
  return true;
}

void PacketConnections::add(PeerIndex peer) { peers_.resize(peer + 1, stranger()); }

PacketConnections::Connection* PacketConnections::usable(Peer& state) {
  if (state.connection->ring.wants_completions()) lost_ += reap();
  if (state.connection == nullptr) [[unlikely]]
    return nullptr;  // that found it broken
  state.connection->last_use = ++uses_;
  return state.connection;
}

void PacketConnections::ask(PeerIndex peer) {
  Peer& state = peers_[peer];
  state.until_asking = given_up_ ? UINT32_MAX : Peer::kAskAgain;
  if (given_up_) return;
  if (state.connection == nullptr) state.connection = make_connection(peer);
  if (state.connection == nullptr) {
    state.stay_without(asking_);
  } else if (state.connection->asked++ == Peer::kAskAtMost) {
    failed(*state.connection);
  } else {
    say(*state.connection, ConnectionMessage::Kind::request);
  }
}

PacketConnections::Connection* PacketConnections::make_connection(PeerIndex peer) {
  if (connections_.size() >= limits_.connections && (!peers_[peer].may_displace || !close_idle_one())) return nullptr;
  if (destruction_.count() >= limits_.connections) return nullptr;  // their completions take room in the queue
  auto made = std::make_unique<Connection>();
  made->peer = peer;
  made->name = unused_name();
  made->number = random_number<std::uint64_t>();
  made->queue_pair = ReliableQueuePair::make(sending_);
  if (!made->queue_pair) return nullptr;
  const std::uint64_t first = (std::uint64_t{made->name} << kCountBits) + limits_.first_count;
  if (made->ring.open(setting_.domains->of_memory(), kSlots, setting_.max_packet, first) != 0) return nullptr;
  made->ring.set_inline(made->queue_pair->inline_bytes(), setting_.pieces);
  made->to_peer.open(rings_wanted_ ? ring_after(asking_) : 0, made->number);
  connections_.push_back(std::move(made));
  return connections_.back().get();
}

// One that others have not been waiting for: what it has sent has arrived long ago.
bool PacketConnections::close_idle_one() {
  Connection* oldest = nullptr;
  for (const auto& connection : connections_) {
    if (oldest == nullptr || connection->last_use < oldest->last_use) oldest = connection.get();
  }
  if (oldest == nullptr || uses_ - oldest->last_use < kIdleUses) return false;
  say(*oldest, ConnectionMessage::Kind::close);
  ++counters_.connections_closed;
  remove(*oldest);
  return true;
}

void PacketConnections::say(const Connection& connection, ConnectionMessage::Kind kind) {
  path_.send_message(connection.peer, {.kind = kind,
                                       .purpose = ConnectionMessage::Purpose::packets,
                                       .reads = 1,
                                       .queue_pair = connection.queue_pair->number(),
                                       .first_packet = connection.queue_pair->first_packet(),
                                       .connection = connection.number,
                                       .address = path_.own_address()});
}

void PacketConnections::message_arrived(PeerIndex peer, const ConnectionMessage& message) {
  using Kind = ConnectionMessage::Kind;
  if (message.kind == Kind::request) {
    if (!open_receives()) return served_.decline(peer, message);
    return served_.requested(peer, message);
  }
  if (message.kind == Kind::ring_request) return served_.ring_requested(peer, message);
  if (message.kind == Kind::close) served_.closed(peer, message.connection);
  Connection* const connection = peer < peers_.size() ? peers_[peer].connection : nullptr;
  if (connection == nullptr || connection->number != message.connection) return;
  if (message.kind == Kind::accept) {
    if (!connection->ready) accepted(*connection, message);
  } else if (message.is_of_ring()) {
    ring_answered(*connection, message);
  } else if (message.kind == Kind::refuse) {
    failed(*connection);
  } else {
    ++counters_.connections_closed;
    failed(*connection);  // the other end has too many: it is asked less often
  }
}

void PacketConnections::accepted(Connection& connection, const ConnectionMessage& message) {
  const ReliablePeer end{.queue_pair = message.queue_pair,
                         .first_packet = message.first_packet,
                         .mtu = std::min(path_.own_address().mtu, message.address.mtu),
                         .reads = 1,
                         .route = path_.route_to_address(message.address)};
  if (connection.queue_pair->connect(end) != 0) return failed(connection);
  ++counters_.connections_made;
  connection.ready = true;
  connection.last_use = ++uses_;
}

void PacketConnections::failed(Connection& connection) {
  Peer& state = peers_[connection.peer];
  lost_ += connection.ring.forget_posted();
  remove(connection);
  state.ask_later(asking_);
}

void PacketConnections::broken(Connection& connection) {
  ++counters_.connections_broken;
  failed(connection);
}

void PacketConnections::remove(Connection& connection) {
  Peer& state = peers_[connection.peer];
  state.connection = nullptr;
  state.stay_without(asking_);
  std::erase_if(connections_, [&](const auto& one) { return one.get() == &connection; });
}

std::uint32_t PacketConnections::post(Connection& connection) {
  const std::uint32_t chained = connection.ring.chained();
  const std::uint32_t refused = connection.ring.post(*connection.queue_pair->queue_pair());
  counters_.packets_sent += chained - refused;
  if (refused != 0) [[unlikely]]
    broken(connection);
  return refused;
}

bool PacketConnections::post_alone(Connection& connection, const OutgoingPacket& packet,
                                   const Destination& destination) {
  const bool taken = connection.ring.post_alone(*connection.queue_pair->queue_pair(), packet, destination);
  if (!taken) [[unlikely]]
    broken(connection);
  else
    ++counters_.packets_sent;
  return taken;
}

bool PacketConnections::write_slot(Connection& connection, const OutgoingPacket& packet) {
  RingToPeer& to_peer = connection.to_peer;
  if (!to_peer.granted()) {
    if (to_peer.count_packet()) ask_for_ring(connection);
    return false;
  }
  SlotImage image;
  if (!connection.ring.may_write(slot_length(packet.length)) || !to_peer.compose(packet, image)) return false;
  const std::span<const std::byte> bytes = std::span(image.bytes).subspan(image.begin);
  if (connection.ring.post_write(*connection.queue_pair->queue_pair(), bytes, to_peer.address_of(image), to_peer.key()))
      [[likely]] {
    ++counters_.packets_sent;
    ++counters_.packets_written;
  } else {
    ++lost_;
    broken(connection);
  }
  return true;
}

void PacketConnections::ask_for_ring(Connection& connection) {
  const RingPlace words = connection.to_peer.next_control(setting_.domains->of_memory());
  if (words.address == 0) return;
  path_.send_message(connection.peer, {.kind = ConnectionMessage::Kind::ring_request,
                                       .purpose = ConnectionMessage::Purpose::packets,
                                       .connection = connection.number,
                                       .address = path_.own_address(),
                                       .ring = connection.to_peer.ring(),
                                       .place = words});
}

void PacketConnections::ring_answered(Connection& connection, const ConnectionMessage& message) {
  if (!connection.ready) return;
  if (message.kind == ConnectionMessage::Kind::ring_grant) {
    connection.to_peer.grant(message.place, message.ring);
  } else {
    connection.to_peer.refuse(message.ring);
  }
}

std::uint16_t PacketConnections::unused_name() {
  while (named(next_name_) != nullptr) ++next_name_;
  return next_name_++;
}

PacketConnections::Connection* PacketConnections::named(std::uint16_t name) const {
  for (const auto& connection : connections_) {
    if (connection->name == name) return connection.get();
  }
  return nullptr;
}

std::uint64_t PacketConnections::reap() {
  std::array<ibv_wc, kPollBatch> done;
  int count = connections_.empty() ? 0 : kPollBatch;
  while (count == kPollBatch) {
    count = ibv_poll_cq(completions_.get(), kPollBatch, done.data());
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = done[static_cast<std::size_t>(i)];
      Connection* const connection = named(static_cast<std::uint16_t>(completion.wr_id >> kCountBits));
      if (connection == nullptr) continue;  // given up before
      if (completion.status != IBV_WC_SUCCESS) [[unlikely]] {
        broken(*connection);
      } else {
        connection->ring.complete(completion.wr_id);
        peers_[connection->peer].failures = 0;
      }
    }
  }
  return std::exchange(lost_, 0);
}

void PacketConnections::use_partition(std::uint16_t index) {
  sending_.place.partition_index = receiving_.place.partition_index = index;
}

void PacketConnections::give_up() {
  given_up_ = true;
  while (!connections_.empty()) failed(*connections_.back());
}

void PacketConnections::peer_changed(PeerIndex peer) {
  served_.forget(peer);
  if (peer >= peers_.size()) return;
  if (peers_[peer].connection != nullptr) remove(*peers_[peer].connection);
  peers_[peer] = stranger();
}

ibv_qp* PacketConnections::queue_pair_to(PeerIndex peer) const {
  const bool ready = peer < peers_.size() && peers_[peer].connection != nullptr && peers_[peer].connection->ready;
  return ready ? peers_[peer].connection->queue_pair->queue_pair() : nullptr;
}

}  // namespace openlapi::verbs
