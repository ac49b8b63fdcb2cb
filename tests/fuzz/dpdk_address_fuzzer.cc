// Arbitrary bytes to the decoder of what a task with DPDK publishes of itself: what it accepts is encoded as it was,
// has possible values only, and room for the engine's smallest packets.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dataplane/base/check.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/packet_header.h"
#include "nic/dpdk/dpdk_address.h"

using namespace openlapi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  PeerAddress published{};
  published.length = static_cast<std::uint32_t>(std::min<std::size_t>(size, PeerAddress::kCapacity));
  std::copy_n(reinterpret_cast<const std::byte*>(data), published.length, published.bytes.begin());
  dpdk::Address address;
  std::string reason;
  if (!dpdk::decode(published, address, reason)) {
    OPENLAPI_CHECK(!reason.empty());
    return 0;
  }
  OPENLAPI_CHECK(address.end.token != 0 && address.end.port != 0 && address.ports != 0);
  OPENLAPI_CHECK(address.end.address != 0 && (address.end.mac[0] & 1) == 0);
  OPENLAPI_CHECK(address.further.empty() || address.further.size() + 1 == address.ports);
  for (const dpdk::MacAddress& mac : address.further) OPENLAPI_CHECK((mac[0] & 1) == 0 && mac != dpdk::MacAddress{});
  OPENLAPI_CHECK(address.mtu <= dpdk::kLargestMtu);
  OPENLAPI_CHECK(dpdk::packet_of(address.mtu) >= wire::kPacketHeaderSize + tuning::kSmallestRecord);
  const PeerAddress again = dpdk::encode(address);
  OPENLAPI_CHECK(again.length == published.length && again.bytes == published.bytes);
  return 0;
}
