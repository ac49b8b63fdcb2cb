// Arbitrary bytes to the decoder of packet headers: what it accepts must encode to the same bytes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/check.h"
#include "dataplane/wire/packet_header.h"

namespace wire = openlapi::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span packet(reinterpret_cast<const std::byte*>(data), size);
  wire::PacketHeader header;
  if (wire::decode(packet, header) != wire::DecodeResult::ok) return 0;
  OPENLAPI_CHECK(header.length == size && header.size() <= size);
  std::array<std::byte, wire::kPacketHeaderSize> encoded;
  wire::encode(header, encoded.data());
  OPENLAPI_CHECK(std::equal(encoded.begin(), encoded.begin() + header.size(), packet.begin()));
  OPENLAPI_CHECK(wire::begins_short(packet.data()) == header.is_short());
  OPENLAPI_CHECK(wire::load_association(packet.data()) == header.association);
  OPENLAPI_CHECK(wire::asks_for_ack(packet.data()) == ((header.flags & wire::kPacketAckWanted) != 0));
  if (header.is_short()) return 0;
  OPENLAPI_CHECK(header.source_epoch != 0);
  const bool flagged = (header.flags & wire::kPacketHasChecksum) != 0;
  const bool right = wire::packet_checksum(packet, {}) == header.checksum;
  OPENLAPI_CHECK(wire::checksum_matches(packet, header) == (flagged && right));
  return 0;
}
