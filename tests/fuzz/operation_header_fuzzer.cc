// Arbitrary bytes to the decoder of records: whatever it accepts lies inside the packet, and it comes to an end.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/check.h"
#include "dataplane/wire/operation_header.h"

namespace wire = openlapi::wire;

namespace {

void check_inside(std::span<const std::byte> packet, const std::byte* from, std::size_t length) {
  OPENLAPI_CHECK(from >= packet.data() && from <= packet.data() + packet.size());
  OPENLAPI_CHECK(length <= static_cast<std::size_t>(packet.data() + packet.size() - from));
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
    OPENLAPI_CHECK(!record.is_long() || record.extension.total_length >= record.header.payload_length);
  }
  return 0;
}
