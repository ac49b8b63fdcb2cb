#include <endian.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/check.h"
#include "nic/verbs/verbs_transport.h"

namespace openlapi {

namespace {

bool goes_alone(const verbs::SendRing& ring, const verbs::Destination& destination,
                std::span<const OutgoingPacket> packets) {
  return packets.size() == 1 && packets[0].length <= destination.max_packet && ring.may_go_alone(packets[0]);
}

// False: some have ended.
bool arm_reads(verbs::BulkReads* bulk, verbs::ShortReads* short_reads) {
  const bool bulk_waits = bulk == nullptr || bulk->arm();
  return (short_reads == nullptr || short_reads->arm()) && bulk_waits;
}

}  // namespace

// What there is room for. Returns how many.
std::size_t VerbsTransport::append(verbs::SendRing& ring, const verbs::Destination& destination,
                                   std::span<const OutgoingPacket> packets) {
  const std::size_t taken = std::min<std::size_t>({packets.size(), ring.room(), verbs::SendRing::kMaxBurst});
  for (const OutgoingPacket& packet : packets.first(taken)) {
    if (packet.length > destination.max_packet) [[unlikely]] {
      lose(1);
    } else {
      ring.append(packet, destination);
    }
  }
  counters_.packets_sent += taken;
  if (taken < packets.size()) ++counters_.send_refused;
  return taken;
}

std::size_t VerbsTransport::send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) {
  const Remote* const remote = remotes_.find(peer);
  OPENLAPI_CHECK(remote != nullptr && remote->handle);
  if (remote->moves != moves_) [[unlikely]] {
    renew(peer);
    if (is_stale(*remote)) return lose_all(packets);
  }
  const verbs::Destination& destination = remote->destination;
  if (connections_ && remotes_.is_task(peer) && !packets.empty()) {
    auto* const connection = connections_->connection_to(peer, packets.size());
    if (connection != nullptr) return send_connected(*connection, destination, packets);
  }
  if ((broken_ || port_down_) && !can_send()) [[unlikely]] {
    return lose_all(packets);
  }
  if (sends_.wants_completions()) reap_sends();
  if (goes_alone(sends_, destination, packets)) {
    ++counters_.packets_sent;
    if (!sends_.post_alone(*queue_pair_, packets[0], destination)) [[unlikely]] {
      lose(1);
      broken_ = true;
    }
    return 1;
  }
  const std::size_t taken = append(sends_, destination, packets);
  if (const std::uint32_t refused = sends_.post(*queue_pair_); refused != 0) [[unlikely]] {
    lose(refused);
    broken_ = true;
  }
  return taken;
}

std::size_t VerbsTransport::send_connected(verbs::PacketConnections::Connection& connection,
                                           const verbs::Destination& destination,
                                           std::span<const OutgoingPacket> packets) {
  if (packets.size() == 1 && connections_->write(connection, packets[0])) {
    ++counters_.packets_sent;
    return 1;
  }
  if (goes_alone(connection.ring, destination, packets)) {
    ++counters_.packets_sent;
    if (!connections_->post_alone(connection, packets[0], destination)) [[unlikely]]
      lose(1);
    return 1;
  }
  const std::size_t taken = append(connection.ring, destination, packets);
  if (const std::uint32_t refused = connections_->post(connection); refused != 0) [[unlikely]]
    lose(refused);
  return taken;
}

void VerbsTransport::reap_sends() {
  std::array<ibv_wc, kPollBatch> done;
  int count = 0;
  do {
    count = ibv_poll_cq(send_completions_.get(), kPollBatch, done.data());
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = done[static_cast<std::size_t>(i)];
      if (completion.status != IBV_WC_SUCCESS) [[unlikely]] {
        if (!sends_.is_done(completion.wr_id)) lose(1);
        ++verbs_counters_.error_completions;
        broken_ = true;
      }
      sends_.complete(completion.wr_id);
    }
  } while (count == kPollBatch);
  if (count < 0) broken_ = true;
}

// Takes new completions. False: there are none.
bool VerbsTransport::look() {
  const int count = ibv_poll_cq(receive_completions_.get(), kPollBatch, arrivals_.data());
  if (count < 0) broken_ = true;
  first_arrival_ = 0;
  arrivals_end_ = std::max(count, 0);
  if (count >= 0 && count < kPollBatch) emptied_ = true;
  return count > 0;
}

// Rings come first, except after a burst that they have filled: they may do so again and again.
std::size_t VerbsTransport::receive_burst(std::span<IncomingPacket> packets) {
  const auto take_written = [this](std::span<IncomingPacket> out) {
    const std::size_t count = connections_ ? connections_->take_written(out) : 0;
    for (std::size_t i = 0; i < count; ++i) held_.push(verbs::PacketConnections::kWritten);
    return count;
  };
  const bool rings_last = std::exchange(rings_last_, false);
  std::size_t count = rings_last ? 0 : take_written(packets);
  rings_last_ = count != 0 && count == packets.size();
  if (first_arrival_ < arrivals_end_) count += hand_out(packets.subspan(count));
  while (count < packets.size() && first_arrival_ == arrivals_end_ && look()) {
    count += hand_out(packets.subspan(count));
    if (arrivals_end_ < kPollBatch) break;  // that were all
  }
  if (rings_last) count += take_written(packets.subspan(count));
  counters_.packets_received += count;
  if (count != 0) {
    if (++busy_ % kBusyChecks == 0) retire();
    return count;
  }
  if (released_ != 0) give_back();
  if (++quiet_ % kQuietChecks == 0) {
    give_back();  // slots of what was no packet are idle, too
    reap_sends();
    if (connections_) lose(connections_->reap());
    retire();
    if (bulk_) bulk_->look_around();
    if (short_reads_) short_reads_->look_around();
  }
  // Whatever had arrived before is handed out by now.
  if (broken_ && first_arrival_ == arrivals_end_) [[unlikely]]
    recover();
  return 0;
}

std::size_t VerbsTransport::hand_out(std::span<IncomingPacket> packets) {
  std::size_t count = 0;
  while (count < packets.size() && first_arrival_ < arrivals_end_) {
    const ibv_wc& arrival = arrivals_[static_cast<std::size_t>(first_arrival_++)];
    const bool connected = (arrival.wr_id & verbs::PacketConnections::kArrivalBit) != 0;
    if (connected ? take_connected(arrival, packets[count]) : take_datagram(arrival, packets[count])) ++count;
  }
  return count;
}

// False: it is no packet.
bool VerbsTransport::take_datagram(const ibv_wc& arrival, IncomingPacket& packet) {
  const auto slot = static_cast<std::uint32_t>(arrival.wr_id);
  if (arrival.status != IBV_WC_SUCCESS) [[unlikely]] {
    ++verbs_counters_.error_completions;
    broken_ = true;
    receives_.discard(slot);
    return false;
  }
  if (arrival.byte_len < verbs::ReceiveRing::kRouteHeader) [[unlikely]] {
    ++counters_.receive_dropped;
    receives_.discard(slot);
    return false;
  }
  if ((arrival.wc_flags & IBV_WC_WITH_IMM) != 0) [[unlikely]] {
    take_message(arrival, slot);
    return false;
  }
  receives_.take(slot);
  held_.push(slot);
  std::byte* const data = receives_.packet_of(slot);
  packet = {data, arrival.byte_len - verbs::ReceiveRing::kRouteHeader, kUnknownPeer, false,
            origins_.find(local_, arrival, data - verbs::ReceiveRing::kRouteHeader)};
  return true;
}

// The same. An error is one of the connection, whose sender finds it broken.
bool VerbsTransport::take_connected(const ibv_wc& arrival, IncomingPacket& packet) {
  verbs::ReceiveRing& ring = connections_->receives();
  const auto slot = static_cast<std::uint32_t>(arrival.wr_id);
  if (arrival.status != IBV_WC_SUCCESS) [[unlikely]] {
    ++verbs_counters_.error_completions;
    ring.discard(slot);
    return false;
  }
  ring.take(slot);
  held_.push(arrival.wr_id);
  connections_->count_received(arrival.qp_num);
  packet = {ring.packet_of(slot), arrival.byte_len, kUnknownPeer, false, 0};
  return true;
}

// The answer to a packet, which often leaves next, does not wait for its slot: few slots lie here until there is
// nothing else to do.
void VerbsTransport::release(std::size_t count) {
  released_ += count;
  OPENLAPI_CHECK(released_ <= held_.size());
  if (released_ >= kMostReleased) give_back();
}

void VerbsTransport::give_back() {
  for (; released_ != 0; --released_) {
    const std::uint64_t number = held_.pop();
    if (number == verbs::PacketConnections::kWritten) {
      connections_->release_written();
      continue;
    }
    const bool connected = (number & verbs::PacketConnections::kArrivalBit) != 0;
    (connected ? connections_->receives() : receives_).give_back(static_cast<std::uint32_t>(number));
  }
  if (!broken_) [[likely]]
    receives_.post();
  if (connections_) connections_->post_receives();
}

// What arrivals of a connection were taken by a look are out of its way, whether they are handed out or not.
void VerbsTransport::retire() {
  if (connections_) connections_->retire(std::exchange(emptied_, false));
}

// Asks for the event before the last look: what comes after that look makes one.
bool VerbsTransport::arm() {
  if (port_status_ && port_status_->look_for_news()) return false;
  if (first_arrival_ < arrivals_end_ || look()) return false;
  const CancellationOff off;
  give_back();
  reap_sends();
  if (connections_) {
    lose(connections_->reap());
    retire();
    if (connections_->served().want_looks()) return false;
    if (!given_up_ && !connections_->close_rings()) return false;
  }
  if (given_up_) return arm_reads(bulk_.get(), short_reads_.get());  // what was being read has ended
  if (broken_ && until_retry_ == 0) return false;                    // the next look recovers it
  forget_events();
  if (ibv_req_notify_cq(receive_completions_.get(), 0) != 0) broken_ = true;
  const bool reads_wait = arm_reads(bulk_.get(), short_reads_.get());
  return !look() && reads_wait;
}

// Of the sleep before, and of completions that have been taken without one.
void VerbsTransport::forget_events() {
  ibv_cq* queue = nullptr;
  void* own = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &own) == 0) ibv_ack_cq_events(queue, 1);
}

// What connections need of the datagrams: to carry their messages.

const verbs::Address* VerbsTransport::address_of(PeerIndex peer) const {
  const Remote* const remote = remotes_.find(peer);
  return remote != nullptr && remote->handle ? &remote->address : nullptr;
}

PeerIndex VerbsTransport::find_peer(const verbs::Address& address) const {
  const auto same = [&](const Remote& remote) {
    const verbs::Address& one = remote.address;
    return remote.handle && one.queue_pair == address.queue_pair && one.qkey == address.qkey &&
           one.lid == address.lid && one.gid == address.gid;
  };
  const std::vector<Remote>& all = remotes_.of_tasks();
  const auto found = std::find_if(all.begin(), all.end(), same);
  return found != all.end() ? static_cast<PeerIndex>(found - all.begin()) : kUnknownPeer;
}

void VerbsTransport::send_message(PeerIndex peer, const verbs::ConnectionMessage& message) {
  if ((broken_ || port_down_) && !can_send()) return;
  const Remote& remote = *remotes_.find(peer);
  if (is_stale(remote)) return;
  reap_sends();
  if (sends_.room() == 0) return;
  const auto bytes = verbs::encode(message);
  const ConstBuffer piece{bytes.data(), bytes.size()};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes.size())};
  sends_.append(packet, remote.destination, verbs::kConnectionImmediate);
  if (sends_.post(*queue_pair_) != 0) broken_ = true;
}

// The answer may find the queue pair broken and reset it: the slot is given back first.
void VerbsTransport::take_message(const ibv_wc& arrival, std::uint32_t slot) {
  std::array<std::byte, verbs::kConnectionMessageLength> bytes;
  const std::uint32_t length = arrival.byte_len - verbs::ReceiveRing::kRouteHeader;
  const bool whole = length == bytes.size() && be32toh(arrival.imm_data) == verbs::kConnectionImmediate;
  if (whole) std::memcpy(bytes.data(), receives_.packet_of(slot), bytes.size());
  receives_.discard(slot);
  if (!whole) ++counters_.receive_dropped;
  verbs::ConnectionMessage message;
  if (!whole || !verbs::decode(bytes, message)) return;
  const PeerIndex peer = find_peer(message.address);
  if (peer == kUnknownPeer) return;
  using Purpose = verbs::ConnectionMessage::Purpose;
  const Purpose purpose = message.purpose;
  if (purpose == Purpose::packets && connections_) connections_->message_arrived(peer, message);
  if (purpose == Purpose::reads && bulk_) bulk_->message_arrived(peer, message);
  if (purpose == Purpose::one_sided && short_reads_) short_reads_->message_arrived(peer, message);
}

}  // namespace openlapi
