// Arbitrary bytes to the decoders of the daemons' messages (what they accept is encoded as it was), to a tool's stream,
// and to both ends of a sealed one, which never come to believe them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "control/daemon/messages/daemon_message.h"
#include "control/daemon/messages/sealed_stream.h"
#include "dataplane/base/check.h"

using namespace openlapi::daemon;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MessageBytes bytes(data, data + size);
  if (const auto message = decode(bytes)) OPENLAPI_CHECK(encode(*message) == bytes);
  if (const auto action = decode_action(bytes)) OPENLAPI_CHECK(encode_action(*action) == bytes);
  MessageStream plain;
  SealedStream connects(BootKey{1}, SealedStream::Role::kConnects), accepts(BootKey{1}, SealedStream::Role::kAccepts);
  for (std::size_t at = 0; at < size; at += 61) {
    const auto piece = std::span(bytes).subspan(at, std::min<std::size_t>(61, size - at));
    plain.take(piece);
    connects.take(piece);
    accepts.take(piece);
  }
  while (const auto message = plain.next()) decode(*message);
  OPENLAPI_CHECK(!connects.is_trusted() && !accepts.is_trusted());
  OPENLAPI_CHECK(!connects.next() && !accepts.next());
  return 0;
}
