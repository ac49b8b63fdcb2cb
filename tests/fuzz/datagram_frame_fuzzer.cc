// Arbitrary bytes to the decoder of a datagram's frames: every packet lies inside the datagram, and it comes to an end.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/check.h"
#include "nic/udp/datagram_frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> datagram(bytes, bytes + size);
  std::span<std::byte> rest(datagram);
  std::span<std::byte> packet;
  for (std::size_t before = rest.size(); openlapi::udp::next_frame(rest, packet); before = rest.size()) {
    OPENLAPI_CHECK(rest.size() < before);
    OPENLAPI_CHECK(packet.data() >= datagram.data());
    OPENLAPI_CHECK(packet.data() + packet.size() <= datagram.data() + datagram.size());
    for (std::byte& byte : packet) byte ^= std::byte{1};
  }
  return 0;
}
