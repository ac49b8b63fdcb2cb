// Arbitrary bytes to everything that reads the startup protocol: the two messages, what they accept is encoded as it
// was; and both ends of an exchange, which never get past a proof that they cannot have.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "control/boot/startup/startup_messages.h"
#include "dataplane/base/check.h"

using namespace openlapi::boot;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const StartupBytes bytes(data, data + size);
  if (const auto info = decode_daemon_info(bytes)) OPENLAPI_CHECK(encode(*info) == bytes);
  if (auto universe = decode_universe(bytes)) {
    for (int n = 0; n < universe->count(); ++n) {
      const lamnode& node = (*universe)[static_cast<std::size_t>(n)];
      OPENLAPI_CHECK(node.lnd_nodeid >= 0 || node.lnd_nodeid == NOTNODEID);
    }
    int count = universe->count();
    OPENLAPI_CHECK(encode_universe(&(*universe)[0], count).size() == bytes.size());
  }
  StartupExchange server(StartupKey{1}, StartupKind::kUniverse, 1000);
  StartupExchange client(StartupKey{1}, StartupKind::kUniverse, StartupBytes{1, 2, 3});
  for (std::size_t at = 0; at < size; at += 61) {
    const auto piece = std::span(bytes).subspan(at, std::min<std::size_t>(61, size - at));
    OPENLAPI_CHECK(server.take(piece) != StartupExchange::State::kPayload);
    OPENLAPI_CHECK(client.take(piece) != StartupExchange::State::kDone);
  }
  return 0;
}
