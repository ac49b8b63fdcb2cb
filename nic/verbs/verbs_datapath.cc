#include <algorithm>

#include "dataplane/base/check.h"
#include "nic/verbs/verbs_transport.h"

namespace openlapi {

std::size_t VerbsTransport::send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) {
  OPENLAPI_CHECK(peer < remotes_.size() && remotes_[peer].handle);
  const verbs::Destination& destination = remotes_[peer].destination;
  if ((broken_ || port_down_) && !can_send()) [[unlikely]] {
    lose(packets.size());
    counters_.packets_sent += packets.size();
    return packets.size();
  }
  if (sends_.wants_completions()) reap_sends();
  const std::size_t taken = std::min<std::size_t>({packets.size(), sends_.room(), verbs::SendRing::kMaxBurst});
  for (const OutgoingPacket& packet : packets.first(taken)) {
    if (packet.length > destination.max_packet) [[unlikely]] {
      lose(1);
    } else {
      sends_.append(packet, destination);
    }
  }
  if (const std::uint32_t refused = sends_.post(*queue_pair_); refused != 0) [[unlikely]] {
    lose(refused);
    broken_ = true;
  }
  counters_.packets_sent += taken;
  if (taken < packets.size()) ++counters_.send_refused;
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
        ++error_completions_;
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
  return count > 0;
}

std::size_t VerbsTransport::receive_burst(std::span<IncomingPacket> packets) {
  std::size_t count = hand_out(packets);
  while (count < packets.size() && first_arrival_ == arrivals_end_ && look()) {
    count += hand_out(packets.subspan(count));
    if (arrivals_end_ < kPollBatch) break;  // that were all
  }
  counters_.packets_received += count;
  if (count != 0) return count;
  if (++quiet_ % kQuietChecks == 0) {
    reap_sends();
    if (bulk_) bulk_->look_around();
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
    const auto slot = static_cast<std::uint32_t>(arrival.wr_id);
    if (arrival.status != IBV_WC_SUCCESS) [[unlikely]] {
      ++error_completions_;
      broken_ = true;
      receives_.discard(slot);
    } else if (arrival.byte_len < verbs::ReceiveRing::kRouteHeader) [[unlikely]] {
      ++counters_.receive_dropped;
      receives_.discard(slot);
    } else if ((arrival.wc_flags & IBV_WC_WITH_IMM) != 0) [[unlikely]] {
      take_message(arrival, slot);
    } else {
      receives_.hold(slot);
      const std::uint32_t length = arrival.byte_len - verbs::ReceiveRing::kRouteHeader;
      packets[count++] = {receives_.packet_of(slot), length, kUnknownPeer};
    }
  }
  return count;
}

void VerbsTransport::release(std::size_t count) {
  receives_.release(count);
  if (!broken_) [[likely]]
    receives_.post(*queue_pair_);
}

// Asks for the event before the last look: what comes after that look makes one.
bool VerbsTransport::arm() {
  if (first_arrival_ < arrivals_end_ || look()) return false;
  reap_sends();
  if (broken_ && until_retry_ == 0) return false;  // the next look recovers it
  if (ibv_req_notify_cq(receive_completions_.get(), 0) != 0) broken_ = true;
  const bool bulk_waits = !bulk_ || bulk_->arm();
  if (!look() && bulk_waits) return true;
  disarm();
  return false;
}

void VerbsTransport::disarm() {
  ibv_cq* queue = nullptr;
  void* own = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &own) == 0) ibv_ack_cq_events(queue, 1);
}

}  // namespace openlapi
