#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/check.h"
#include "nic/dpdk/dpdk_transport.h"
#include "nic/dpdk/thread_data.h"

namespace openlapi {

namespace {

// Bursts of strangers' frames that are taken off a port before the next one gets its turn: whoever polls would
// otherwise take the transport for idle between two of them.
constexpr unsigned kMostUselessBursts = 16;

}  // namespace

std::size_t DpdkTransport::send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) {
  Remote* const found = remotes_.find(peer);
  OPENLAPI_CHECK(found != nullptr && found->added);
  if (!dpdk::have_thread_data()) [[unlikely]]
    return refuse();
  Remote& remote = *found;
  if (remote.port == nullptr || remote.port->full || !remote.port->ethernet.up()) [[unlikely]] {
    return send_hindered(remote, packets);
  }
  return send_on(*remote.port, remote, packets);
}

std::size_t DpdkTransport::send_on(Port& port, const Remote& remote, std::span<const OutgoingPacket> packets) {
  const std::size_t offered = packets.size();
  const auto fits = [&](const OutgoingPacket& packet) { return packet.length <= remote.max_packet; };
  const std::span<const OutgoingPacket> most = packets.first(std::min<std::size_t>(offered, kMaxBurst));
  const auto count = static_cast<std::uint32_t>(std::find_if_not(most.begin(), most.end(), fits) - most.begin());
  if (count == 0) return most.empty() ? 0 : lose(1);
  std::array<rte_mbuf*, kMaxBurst> buffers;
  if (!take_buffers(port, {buffers.data(), count})) [[unlikely]] {
    ++own_counters_.pool_exhausted;
    rte_eth_tx_done_cleanup(port.ethernet.id(), 0, 0);
    return refuse();
  }
  for (std::uint32_t i = 0; i < count; ++i) fill(*buffers[i], packets[i], remote);
  const std::uint16_t sent = port.ethernet.send({buffers.data(), count});
  port.full = sent < count;
  if (port.full) [[unlikely]]
    rte_pktmbuf_free_bulk(buffers.data() + sent, count - sent);
  counters_.packets_sent += sent;
  if (sent < offered) ++counters_.send_refused;
  return sent;
}

bool DpdkTransport::take_buffers(Port& port, std::span<rte_mbuf*> buffers) {
  untidy_ = true;
  if (buffers.size() > port.spares) {
    return rte_pktmbuf_alloc_bulk(port.ethernet.send_pool(), buffers.data(), static_cast<unsigned>(buffers.size())) ==
           0;
  }
  for (rte_mbuf*& buffer : buffers) buffer = port.spare[--port.spares];
  return true;
}

void DpdkTransport::fill(rte_mbuf& buffer, const OutgoingPacket& packet, const Remote& remote) const {
  auto* const frame = rte_pktmbuf_mtod(&buffer, std::byte*);
  const std::size_t header = remote.header.write(frame, packet.length);
  copy_pieces(frame + header, packet.pieces);
  remote.header.add_sum(frame, packet.length);
  auto length = static_cast<std::uint16_t>(header + packet.length);
  if (length < dpdk::kShortestFrame) {
    std::memset(frame + length, 0, dpdk::kShortestFrame - length);
    length = dpdk::kShortestFrame;
  }
  buffer.data_len = length;
  buffer.pkt_len = length;
  if (remote.port->ethernet.udp_sum() == dpdk::UdpSum::adapter) {
    buffer.l2_len = header - dpdk::kHeaderInDatagram;
    buffer.l3_len = 20;
    buffer.ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
  }
}

std::size_t DpdkTransport::receive_burst(std::span<IncomingPacket> packets) {
  if (!dpdk::have_thread_data()) [[unlikely]]
    return 0;
  std::size_t count = hand_out(packets);
  while (count < packets.size() && take_arrivals()) {
    count += hand_out(packets.subspan(count));
    if (ports_.size() == 1 && arrivals_end_ < kMaxBurst) break;  // that were all
  }
  counters_.packets_received += count;
  if (count == 0 && untidy_) tidy_up();
  if (count == 0 && rte_get_tsc_cycles() >= upkeep_at_) upkeep();
  return count;
}

// Takes frames that have arrived. False: there is no packet among them, or no room for more.
bool DpdkTransport::take_arrivals() {
  if (held_count_ + kMaxBurst > held_.size()) return false;
  first_arrival_ = arrivals_end_ = 0;
  std::array<rte_mbuf*, kMaxBurst> buffers;
  for (std::size_t tries = 0; tries < ports_.size() && arrivals_end_ == 0; ++tries) {
    Port& port = *ports_[next_port_];
    if (++next_port_ == ports_.size()) next_port_ = 0;
    if (!port.ethernet.pollable()) [[unlikely]]
      continue;
    std::uint16_t count = 0;
    unsigned bursts = 0;
    do {
      count = port.ethernet.receive(buffers);
      for (std::uint16_t i = 0; i < count; ++i) sort(port, buffers[i]);
    } while (count == kMaxBurst && arrivals_end_ == 0 && ++bursts < kMostUselessBursts);
  }
  return arrivals_end_ != 0;
}

void DpdkTransport::sort(Port& port, rte_mbuf* buffer) {
  if (buffer->nb_segs != 1 && rte_pktmbuf_linearize(buffer) != 0) [[unlikely]] {
    ++counters_.receive_dropped;
    rte_pktmbuf_free(buffer);
    return;
  }
  auto* const frame = rte_pktmbuf_mtod(buffer, std::byte*);
  const std::uint64_t udp = buffer->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
  const std::uint64_t ip = buffer->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;
  // None: a virtual adapter brings what has not left the machine, with the sum of the pseudo header alone.
  const dpdk::AdapterVerdict verdict{
      .udp_good = udp == RTE_MBUF_F_RX_L4_CKSUM_GOOD || udp == RTE_MBUF_F_RX_L4_CKSUM_NONE,
      .ip_good = ip == RTE_MBUF_F_RX_IP_CKSUM_GOOD || port.ethernet.in_memory()};
  const dpdk::FrameView view = dpdk::parse_frame({frame, buffer->data_len}, port.own, verdict);
  if (view.kind == dpdk::FrameKind::packet && udp != RTE_MBUF_F_RX_L4_CKSUM_BAD) [[likely]] {
    std::byte* data = frame + view.tag + dpdk::kHeaderLength;
    const std::uint64_t origin = dpdk::origin_of(frame + view.tag);
    if (reinterpret_cast<std::uintptr_t>(data) % 8 != 0) [[unlikely]] {
      // The driver began elsewhere; there is room behind the header's beginning.
      std::byte* const aligned = data - reinterpret_cast<std::uintptr_t>(data) % 8;
      std::memmove(aligned, data, view.length);
      data = aligned;
    }
    arrivals_[arrivals_end_++] = {buffer, data, view.length, origin};
    return;
  }
  const std::span<const std::byte> whole(frame, buffer->data_len);
  const bool taken = (view.kind == dpdk::FrameKind::arp && paths_.take_arp(port, whole.subspan(view.tag))) ||
                     (view.kind == dpdk::FrameKind::path && paths_.take_message(port, whole, view));
  if (taken) {
    rte_pktmbuf_free(buffer);
    return;
  }
  if (view.kind == dpdk::FrameKind::foreign || view.kind == dpdk::FrameKind::arp) {
    ++own_counters_.foreign_frames;
  } else {
    ++own_counters_.damaged_frames;
    ++counters_.receive_dropped;
  }
  rte_pktmbuf_free(buffer);
}

std::size_t DpdkTransport::hand_out(std::span<IncomingPacket> packets) {
  const std::size_t mask = held_.size() - 1;
  std::size_t count = 0;
  while (count < packets.size() && first_arrival_ < arrivals_end_) {
    const Arrival& arrival = arrivals_[first_arrival_++];
    held_[(first_held_ + held_count_++) & mask] = arrival.buffer;
    packets[count++] = {arrival.data, arrival.length, kUnknownPeer, false, arrival.origin};
  }
  return count;
}

// A packet's buffer is ready before it is needed, and the answer to a packet, which often leaves next, does not wait
// for the buffer that becomes free: both is done when there is nothing else to do.
void DpdkTransport::tidy_up() {
  untidy_ = false;
  give_back();
  for (const auto& port : ports_) {
    const std::uint32_t missing = Port::kSpareBuffers - port->spares;
    if (missing == 0) continue;
    rte_mbuf** const place = port->spare.data() + port->spares;
    if (rte_pktmbuf_alloc_bulk(port->ethernet.send_pool(), place, missing) == 0) port->spares = Port::kSpareBuffers;
  }
}

void DpdkTransport::release(std::size_t count) {
  released_ += count;
  untidy_ = true;
  OPENLAPI_CHECK(released_ <= held_count_);
  if (released_ >= kMostReleased) give_back();
}

void DpdkTransport::give_back() {
  while (released_ != 0) {
    const std::size_t run = std::min(released_, held_.size() - first_held_);
    rte_pktmbuf_free_bulk(held_.data() + first_held_, static_cast<unsigned>(run));
    first_held_ = (first_held_ + run) & (held_.size() - 1);
    held_count_ -= run;
    released_ -= run;
  }
}

}  // namespace openlapi
