// Arbitrary bytes to the decoder of records: whatever it accepts lies inside the packet, and it comes to an end.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "dataplane/base/check.h"
#include "dataplane/wire/layout_description.h"
#include "dataplane/wire/operation_header.h"

namespace wire = openlapi::wire;

namespace {

void check_inside(std::span<const std::byte> packet, const std::byte* from, std::size_t length) {
  OPENLAPI_CHECK(from >= packet.data() && from <= packet.data() + packet.size());
  OPENLAPI_CHECK(length <= static_cast<std::size_t>(packet.data() + packet.size() - from));
}

// What is accepted as a put's pieces lies inside the packet and is as long as its data.
void check_pieces(std::span<const std::byte> packet, const wire::Record& record) {
  if (record.kind() != wire::RecordKind::put_pieces) return;
  wire::PutPiecesBody body;
  std::memcpy(&body, record.body, sizeof(body));
  wire::PiecesAndData payload;
  if (!wire::split_pieces(record, body, payload)) return;
  check_inside(packet, payload.pieces, payload.count * sizeof(wire::LayoutPiece));
  check_inside(packet, payload.data, payload.length);
  OPENLAPI_CHECK(wire::total_of({payload.pieces, payload.count * sizeof(wire::LayoutPiece)}) == payload.length);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> packet(bytes, bytes + size);
  std::span<std::byte> rest(packet);
  wire::Record record;
  for (std::size_t before = rest.size(); wire::next_record(rest, record); before = rest.size()) {
    OPENLAPI_CHECK(rest.size() < before);
    check_inside(packet, record.body, wire::body_size(record.header.kind));
    check_inside(packet, record.user_header, record.header.user_header_length);
    check_inside(packet, record.payload, record.header.payload_length);
    check_pieces(packet, record);
    // The payload of one that is pulled is keys.
    OPENLAPI_CHECK(!record.is_long() || record.is_bulk() ||
                   record.extension.total_length >= record.header.payload_length);
  }
  return 0;
}
