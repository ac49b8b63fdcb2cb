#include "dataplane/reliability/packet_filter.h"

namespace openlapi {

namespace {

bool count(std::uint64_t& counter) {
  ++counter;
  return false;
}

// Whose it is the channel finds out. A packet that needs a checksum has a long header.
inline bool admit_short(ChannelContext& context, std::span<const std::byte> packet, wire::PacketHeader& header) {
  ReliabilityCounters& counters = context.counters;
  if (wire::decode(packet, header) != wire::DecodeResult::ok) return count(counters.malformed);
  if (packet.size() > context.max_packet || context.checksum) return count(counters.malformed);
  ++counters.packets_received;
  return true;
}

}  // namespace

bool admit_packet(ChannelContext& context, std::span<const std::byte> packet, wire::PacketHeader& header) {
  ReliabilityCounters& counters = context.counters;
  if (packet.size() < wire::kShortHeaderSize) return count(counters.malformed);
  if (wire::begins_short(packet.data())) return admit_short(context, packet, header);
  if (packet.size() < wire::kPacketHeaderSize) return count(counters.malformed);
  if (wire::load_cookie(packet.data()) != context.cookie) return count(counters.wrong_cookie);
  if (wire::decode(packet, header) != wire::DecodeResult::ok) return count(counters.malformed);
  if (packet.size() > context.max_packet) return count(counters.malformed);
  if (context.checksum && !wire::checksum_matches(packet, header)) return count(counters.damaged);
  if (header.destination != context.self || header.instance != context.instance) {
    return count(counters.wrong_destination);
  }
  ++counters.packets_received;
  return true;
}

}  // namespace openlapi
