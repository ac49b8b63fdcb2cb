#include "dataplane/reliability/packet_filter.h"

#include "dataplane/wire/association.h"
#include "dataplane/wire/packet_tag.h"

namespace openlapi {

namespace {

bool count(std::uint64_t& counter) {
  ++counter;
  return false;
}

// Whose it is the channel finds out. A packet that needs a checksum has a long header.
inline bool admit_short(ChannelContext& context, std::span<const std::byte> packet, wire::DecodeResult result) {
  ReliabilityCounters& counters = context.counters;
  if (result != wire::DecodeResult::ok) return count(counters.malformed);
  if (packet.size() > context.max_packet || context.checksum) return count(counters.malformed);
  ++counters.packets_received;
  return true;
}

KnownAssociation work_out(const ChannelContext& context, const wire::PacketHeader& header) {
  KnownAssociation made;
  if (context.tagged) {
    made.tag_key = wire::tag_key_of(context.job_key, header);
  } else {
    made.association = wire::association_of(context.job_key, header);
  }
  made.source_epoch = header.source_epoch;
  made.destination_epoch = header.destination_epoch;
  made.source = header.source;
  made.path = header.path;
  return made;
}

bool is_about(const KnownAssociation& known, const wire::PacketHeader& header) {
  return known.source == header.source && known.path == header.path && known.source_epoch == header.source_epoch &&
         known.destination_epoch == header.destination_epoch;
}

bool proves(const ChannelContext& context, const KnownAssociation& known, std::span<const std::byte> packet,
            const wire::PacketHeader& header) {
  if (!context.tagged) return known.association == header.association;
  return wire::packet_tag(known.tag_key, header.wraps(), packet, {}) == header.association;
}

// The association, or the tag, is what the job's key makes of the header's own fields, and of the packet. To work it
// out takes some 30 ns, so what was right lately is kept.
bool is_from_job(ChannelContext& context, std::span<const std::byte> packet, const wire::PacketHeader& header) {
  KnownAssociation& kept = context.known_associations[header.source % context.known_associations.size()];
  const bool is_for_us = header.instance == context.instance;
  if (is_for_us && header.source_epoch != 0 && is_about(kept, header)) return proves(context, kept, packet, header);
  const KnownAssociation made = work_out(context, header);
  if (!proves(context, made, packet, header)) return false;
  if (is_for_us) kept = made;
  return true;
}

}  // namespace

bool admit_packet(ChannelContext& context, std::span<const std::byte> packet, wire::PacketHeader& header) {
  ReliabilityCounters& counters = context.counters;
  const wire::DecodeResult result = wire::decode(packet, header);
  if (result == wire::DecodeResult::too_short) return count(counters.malformed);
  if (header.is_short()) return admit_short(context, packet, result);
  header.destination = context.self;
  if (result == wire::DecodeResult::wrong_magic || result == wire::DecodeResult::wrong_version ||
      !is_from_job(context, packet, header)) {
    return count(counters.strangers);
  }
  if (result != wire::DecodeResult::ok || packet.size() > context.max_packet) return count(counters.malformed);
  if (context.checksum && !wire::checksum_matches(packet, header)) return count(counters.damaged);
  if (header.instance != context.instance) return count(counters.wrong_destination);
  ++counters.packets_received;
  return true;
}

}  // namespace openlapi
