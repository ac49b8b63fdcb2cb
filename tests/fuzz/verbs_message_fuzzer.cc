// Arbitrary bytes to the decoders of what verbs transports tell each other, an address and a message that connects:
// what they accept is encoded as it was, and has possible values only.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "dataplane/base/check.h"
#include "nic/verbs/connection_message.h"

using namespace openlapi;

namespace {

void check_address(const verbs::Address& address) {
  OPENLAPI_CHECK(address.mtu >= verbs::kSmallestMtu && address.mtu <= verbs::kLargestMtu);
  OPENLAPI_CHECK(address.queue_pair < 1u << 24 && address.qkey < 1u << 31);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  verbs::ConnectionMessage message;
  if (verbs::decode(bytes, message)) {
    check_address(message.address);
    OPENLAPI_CHECK(message.queue_pair < 1u << 24 && message.first_packet < 1u << 24);
    OPENLAPI_CHECK(message.ring < verbs::kRingsOfConnection && message.place.address % 8 == 0);
    OPENLAPI_CHECK(std::ranges::equal(verbs::encode(message), bytes));
  }
  PeerAddress published{};
  published.length = static_cast<std::uint32_t>(std::min<std::size_t>(size, PeerAddress::kCapacity));
  std::copy_n(bytes.begin(), published.length, published.bytes.begin());
  verbs::Address address;
  std::string reason;
  if (!verbs::decode(published, address, reason)) {
    OPENLAPI_CHECK(!reason.empty());
    return 0;
  }
  check_address(address);
  const PeerAddress again = verbs::encode(address);
  OPENLAPI_CHECK(std::equal(again.bytes.begin(), again.bytes.begin() + again.length, bytes.begin()));
  return 0;
}
