#include "dataplane/wire/version_packet.h"

#include "dataplane/wire/association.h"

namespace openlapi::wire {

void encode_version_packet(const SipKey& job_key, const PacketHeader& header, bool wants_answer, std::byte* out) {
  PacketHeader told;
  told.flags = wants_answer ? kPacketAckWanted : std::uint8_t{0};
  told.instance = header.instance;
  told.path = header.path;
  told.length = static_cast<std::uint16_t>(kPacketHeaderSize);
  told.source = header.source;
  told.destination = header.destination;
  told.source_epoch = header.source_epoch;
  told.destination_epoch = header.destination_epoch;
  told.association = version_proof_of(job_key, kPacketVersion, told);
  encode(told, out);
}

bool is_version_packet(const SipKey& job_key, std::span<const std::byte> packet, const PacketHeader& header) {
  if (packet.size() != kPacketHeaderSize || header.source_epoch == 0 || header.destination_epoch == 0) return false;
  return version_proof_of(job_key, version_of(packet.data()), header) == header.association;
}

}  // namespace openlapi::wire
