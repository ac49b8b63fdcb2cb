#include "dataplane/reliability/packet_filter.h"

namespace openlapi {

namespace {

bool count(std::uint64_t& counter) {
  ++counter;
  return false;
}

}  // namespace

bool admit_packet(ChannelContext& context, std::span<const std::byte> packet, wire::PacketHeader& header) {
  ReliabilityCounters& counters = context.counters;
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
