#include "dataplane/wire/packet_tag.h"

#include "dataplane/wire/byte_order.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi::wire {

static_assert(kAssociationAt == 8 && kShortHeaderSize % 8 == 0, "what surrounds the tag are whole words");

std::uint64_t packet_tag(const SipKey& key, std::uint32_t wraps, std::span<const std::byte> head,
                         std::span<const std::byte> data) {
  SipHash hash(key);
  hash.add_word(wraps);
  hash.add_word(load_little_endian<std::uint64_t>(head.data()));
  hash.add(head.subspan(kAssociationAt + sizeof(std::uint64_t)));
  hash.add(data);
  return hash.finish();
}

void store_tag(std::byte* encoded_header, std::uint64_t tag) {
  store_little_endian(encoded_header + kAssociationAt, tag);
}

}  // namespace openlapi::wire
