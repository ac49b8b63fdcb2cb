// Packets that say something of the paths themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/paths/peer_path.h"
#include "dataplane/reliability/reliable_channel.h"

namespace openlapi {

// What follows the header is in `bytes`. Returns the number of packets: 0 where there is no room.
inline unsigned send_for_path(ReliableChannel& reliable, const PeerPath& to, std::span<std::byte> bytes,
                              std::uint8_t flags, Nanoseconds now) {
  reliable.encode_for_path(bytes, flags, now);
  const ConstBuffer piece{bytes.data(), bytes.size()};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes.size())};
  return static_cast<unsigned>(to.transport->send_burst(to.end, {&packet, 1}));
}

}  // namespace openlapi
