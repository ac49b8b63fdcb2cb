// Arbitrary bytes to the decoder of MPI messages' envelopes: what it accepts is encoded as it was and is within what
// MPI can have.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "api/rpi/lapi/envelope.h"
#include "dataplane/base/check.h"

using namespace openlapi::rpi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  // A copy of its own: a read behind its end is found.
  const std::vector<std::byte> header(bytes, bytes + size);
  const auto envelope = decode_envelope(header);
  if (!envelope) return 0;
  std::array<std::byte, kMostEnvelope> room;
  const auto encoded = encode(*envelope, room);
  OPENLAPI_CHECK(encoded.size() == size && std::memcmp(encoded.data(), data, size) == 0);
  OPENLAPI_CHECK(envelope->length <= INT32_MAX && envelope->address + envelope->length >= envelope->address);
  OPENLAPI_CHECK(envelope->rank >= 0 && envelope->rank <= kMostRank);
  return 0;
}
