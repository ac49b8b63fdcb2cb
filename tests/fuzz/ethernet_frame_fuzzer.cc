// Arbitrary bytes to the parsers of Ethernet frames: a packet lies inside its frame, and only whole ones are packets.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/check.h"
#include "nic/dpdk/arp_message.h"
#include "nic/dpdk/ethernet_frame.h"
#include "nic/dpdk/path_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace openlapi::dpdk;
  const FrameEnd own{{0x02, 0x0d, 0, 0, 0, 2}, 0x0a4e0002, 50001, 0xa1b2c3d4, 5};
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> frame(bytes, bytes + size);
  const FrameView view = parse_frame(frame, own);
  const bool has_content = view.kind == FrameKind::packet || view.kind == FrameKind::path;
  if (has_content) OPENLAPI_CHECK(view.tag + kHeaderLength + view.length <= frame.size());
  if (!has_content) OPENLAPI_CHECK(view.length == 0);
  PathMessage path;
  if (view.kind == FrameKind::path && parse_path_frame(frame, view, path)) {
    OPENLAPI_CHECK((path.sender.mac[0] & 1) == 0 && path.sender.token != 0);
  }
  ArpMessage message;
  if (parse_arp_frame(frame, message)) OPENLAPI_CHECK(frame.size() >= 42 && (message.sender_mac[0] & 1) == 0);
  return 0;
}
