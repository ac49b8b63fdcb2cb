// Arbitrary bytes to the decoder of what the rpi module's processes tell each other as they meet: what it accepts must
// be encoded as the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/rpi/lapi/meeting_message.h"
#include "dataplane/base/check.h"

using openlapi::rpi::MeetingMessage;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  MeetingMessage message;
  std::string reason;
  if (!openlapi::rpi::decode(bytes, message, reason)) {
    OPENLAPI_CHECK(!reason.empty());
    return 0;
  }
  OPENLAPI_CHECK(std::ranges::equal(openlapi::rpi::encode(message), bytes));
  return 0;
}
