// What connections need of the datagrams: a way for their messages.
#include <endian.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "nic/verbs/verbs_transport.h"

namespace openlapi {

const verbs::Address* VerbsTransport::address_of(PeerIndex peer) const {
  return peer < remotes_.size() && remotes_[peer].handle ? &remotes_[peer].address : nullptr;
}

PeerIndex VerbsTransport::find_peer(const verbs::Address& address) const {
  const auto same = [&](const Remote& remote) {
    const verbs::Address& one = remote.address;
    return remote.handle && one.queue_pair == address.queue_pair && one.qkey == address.qkey &&
           one.lid == address.lid && one.gid == address.gid;
  };
  const auto found = std::find_if(remotes_.begin(), remotes_.end(), same);
  return found != remotes_.end() ? static_cast<PeerIndex>(found - remotes_.begin()) : kUnknownPeer;
}

void VerbsTransport::send_message(PeerIndex peer, const verbs::ConnectionMessage& message) {
  if ((broken_ || port_down_) && !can_send()) return;
  reap_sends();
  if (sends_.room() == 0) return;
  const auto bytes = verbs::encode(message);
  const ConstBuffer piece{bytes.data(), bytes.size()};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes.size())};
  sends_.append(packet, remotes_[peer].destination, verbs::kConnectionImmediate);
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
  if (message.purpose == verbs::ConnectionMessage::Purpose::packets) {
    if (connections_) connections_->message_arrived(peer, message);
  } else if (bulk_) {
    bulk_->message_arrived(peer, message);
  }
}

}  // namespace openlapi
