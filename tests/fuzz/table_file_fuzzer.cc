// Arbitrary text to the reader of network tables, which users write (man lapi_ntbl): it says what is wrong with a text,
// or what it accepts survives the way to a daemon.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "control/daemon/messages/network_message.h"
#include "control/daemon/tables/table_file.h"
#include "dataplane/base/check.h"

using namespace openlapi::daemon;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    NetworkTable table = parse_table({reinterpret_cast<const char*>(data), size});
    table.identity = 1;  // the tool's, of its own
    OPENLAPI_CHECK(!table.key.empty() && table.tasks != 0 && !table.windows.empty());
    for (const TableWindow& window : table.windows) OPENLAPI_CHECK(window.task < table.tasks);
    const NetworkAction action = LoadTable{table};
    OPENLAPI_CHECK(decode_action(encode_action(action)) == action);
  } catch (const std::invalid_argument& wrong) {
    OPENLAPI_CHECK(std::string_view(wrong.what()).size() > 0);
  }
  return 0;
}
