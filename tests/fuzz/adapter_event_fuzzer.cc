// Arbitrary bytes to the decoder of what tasks tell each other of their adapters by PMIx events: what it accepts is
// encoded as it was, and the boards of tasks and the relay of a node stay within their bounds.
#include <cstddef>
#include <cstdint>

#include "control/base/adapter_event.h"
#include "control/client/adapter_board.h"
#include "control/job/pmix/adapter_relay.h"
#include "dataplane/base/check.h"

using namespace openlapi;

// libFuzzer never frees what its own driver has allocated; beside libpmix that shows.
extern "C" const char* __lsan_default_suppressions() { return "leak:fuzzer::FuzzerDriver"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> bytes(data, data + size);
  const auto event = decode_adapter_event(bytes);
  if (!event) return 0;
  OPENLAPI_CHECK(encode(*event) == bytes);
  AdapterBoard board;
  board.hear(*event);
  OPENLAPI_CHECK(board.down().size() <= event->words.size());
  board.set_own(event->words.front().address, false);
  OPENLAPI_CHECK(!board.down().contains(event->words.front().address) && board.take_news() && !board.take_news());
  AdapterRelay relay;
  const auto news = relay.take(0, *event, {});
  OPENLAPI_CHECK(!news || (decode_adapter_event(encode(*news)) == news && news->words.size() <= event->words.size()));
  return 0;
}
