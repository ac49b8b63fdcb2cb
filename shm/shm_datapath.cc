// The short path: no system call, no lock, no allocation. What is rare is behind [[unlikely]].
#include <cassert>

#include "shm/shm_transport.h"

namespace openlapi {
namespace {

// How many full queues in a row before it is worth a system call to ask whether their owner still lives.
constexpr std::uint32_t kAskAfterFull = 1024;

}  // namespace

std::size_t ShmTransport::send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) {
  const std::uint32_t index = group_->index_of(peer);
  assert(index != shm::kNoIndex);
  Peer& target = peers_[index];
  if (target.shut) [[unlikely]]
    return send_to_shut(peer, packets);
  const std::size_t offered = packets.size();
  const auto burst = offered <= limits_.max_burst ? packets : packets.first(limits_.max_burst);
  const std::size_t taken = target.queue.send(burst);
  if (taken != 0) {
    target.full_in_a_row = 0;
    counters_.packets_sent += taken;
    doorbell_.published(target.queue.header(), index);
  }
  if (taken == offered) return taken;
  // Those who filled the queue may have died before they rang: then its owner sleeps, for ever if nobody else rings.
  if (taken == 0) doorbell_.published(target.queue.header(), index);
  return refused(index, taken);
}

void ShmTransport::send_abandoned(PeerIndex peer) {
  const std::uint32_t index = group_->index_of(peer);
  Peer& target = peers_[index];
  target.queue.abandon();
  doorbell_.published(target.queue.header(), index);
}

// A queue that stays full may belong to a task that is gone: then nothing is copied there any more. What is refused
// waits, so that the engine looks after that task, and tells whose it was that it is lost.
std::size_t ShmTransport::refused(std::uint32_t index, std::size_t taken) {
  Peer& target = peers_[index];
  ++counters_.send_refused;
  if (taken == 0 && ++target.full_in_a_row % kAskAfterFull == 0 && group_->gone(index)) is_gone(target);
  return taken;
}

// Whoever has purged this task takes nothing until it resumes, and a later era only once peer_began_anew() has told of
// it.
std::size_t ShmTransport::send_to_shut(PeerIndex peer, std::span<const OutgoingPacket> packets) {
  const std::uint32_t index = group_->index_of(peer);
  Peer& target = peers_[index];
  if (target.gone) return 0;
  const std::uint64_t era = era_of(index);
  if (!is_open(target, era)) return refused(index, 0);
  target.era = era;
  target.shut = false;
  remote_memory_.begin_era(index, era);
  if (direct_memory_ != nullptr) direct_memory_->begin_era(index, era, target.queue);
  return send_burst(peer, packets);
}

std::size_t ShmTransport::receive_burst(std::span<IncomingPacket> packets) {
  const std::size_t count = queue_.receive(packets);
  counters_.packets_received += count;
  if (count == 0 && queue_.look_due()) [[unlikely]]
    look_for_orphans();
  return count;
}

void ShmTransport::look_for_orphans() {
  queue_.skip_orphans([this](std::uint32_t index) { return group_->gone(index); });
}

bool ShmTransport::peer_gone(PeerIndex peer) {
  const std::uint32_t index = group_->index_of(peer);
  if (index == shm::kNoIndex || !group_->gone(index)) return false;
  is_gone(peers_[index]);
  return true;
}

// Who has purged this task takes nothing of it, however much it takes of others.
ReliableDelivery::Intake ShmTransport::intake(PeerIndex peer) {
  const std::uint32_t index = group_->index_of(peer);
  if (!is_open(peers_[index], era_of(index))) return {UINT64_MAX, true};
  const shm::SegmentHeader& header = *group_->segment(index).header;
  const std::uint64_t head = header.head.load(std::memory_order_relaxed);
  return {head, header.tail.load(std::memory_order_relaxed) != head};
}

ReliableDelivery::Turn ShmTransport::awaited_turn() {
  const auto gone = [this](std::uint32_t index) { return group_->gone(index); };
  queue_.look_at_turn(gone);
  const auto holder = queue_.holder(gone);
  const bool is_awaited = !queue_.waiting() && queue_.claimed();
  if (holder.source == UINT32_MAX) return {kUnknownPeer, 0, is_awaited};
  return {group_->tasks()[holder.source], holder.ticket, is_awaited};
}

// The owner has given back all that it has received when it finds nothing more.
bool ShmTransport::waits_for_another(PeerIndex peer) {
  const shm::SegmentView segment = group_->segment(group_->index_of(peer));
  const std::uint64_t head = segment.header->head.load(std::memory_order_acquire);
  const std::uint64_t slot = head & (group_->memory().layout().slots - 1);
  const std::uint64_t control = segment.lines[slot].control.load(std::memory_order_acquire);
  if (shm::control_sequence(control) == static_cast<std::uint32_t>(head + 1)) return false;
  for (std::uint32_t source = 0; source < group_->size(); ++source) {
    const std::uint64_t claim = segment.senders[source].claim.load(std::memory_order_acquire);
    if (source != group_->self() && shm::intent_covers(claim, head)) return true;
  }
  return false;
}

void ShmTransport::purge_peer(PeerIndex peer) {
  const std::uint32_t index = group_->index_of(peer);
  if (index == shm::kNoIndex) return;
  queue_.close(index);
  if (direct_memory_ != nullptr) direct_memory_->end_visits(index);
}

void ShmTransport::resume_peer(PeerIndex peer) {
  const std::uint32_t index = group_->index_of(peer);
  if (index != shm::kNoIndex) queue_.open(index);
}

void ShmTransport::give_up_peer(PeerIndex peer) {
  const std::uint32_t index = group_->index_of(peer);
  if (index == shm::kNoIndex) return;
  queue_.give_up(index);
  if (direct_memory_ != nullptr) direct_memory_->end_visits(index);
}

bool ShmTransport::peer_began_anew(PeerIndex peer) {
  const std::uint32_t index = group_->index_of(peer);
  const std::uint64_t era = era_of(index);
  if (peers_[index].gone || shm::is_closed(era) || is_open(peers_[index], era)) return false;
  begin_era(index);
  return true;
}

bool ShmTransport::gave_up(PeerIndex peer) const { return (peers_[group_->index_of(peer)].era & shm::kGivenUp) != 0; }

std::uint32_t ShmTransport::era_with(PeerIndex peer) const {
  return shm::era_number(queue_.era_of(group_->index_of(peer)));
}

std::uint32_t ShmTransport::era_sent_for(PeerIndex peer) const {
  return shm::era_number(peers_[group_->index_of(peer)].era);
}

bool ShmTransport::peer_left(PeerIndex peer) {
  const std::uint32_t index = group_->index_of(peer);
  return index != shm::kNoIndex && group_->closed(index);
}

TransportCounters ShmTransport::counters() const {
  TransportCounters now = counters_;
  now.receive_dropped = queue_.dropped();
  return now;
}

std::int32_t ShmTransport::local_index(PeerIndex peer) const {
  const std::uint32_t index = group_->index_of(peer);
  return index == shm::kNoIndex ? -1 : static_cast<std::int32_t>(index);
}

}  // namespace openlapi
