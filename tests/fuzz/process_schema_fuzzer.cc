// Arbitrary text as a process schema: it is refused with a message of one line, or every process can be executed.
#include <cstddef>
#include <cstdint>
#include <string>

#include "control/boot/errors/boot_error.h"
#include "control/boot/schemas/process_schema.h"
#include "dataplane/base/check.h"

using openlapi::boot::BootError;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const openlapi::boot::SchemaVariables variables{{"inet_topo", "-H 10.0.0.1 -P 1"}, {"debug", ""}};
  try {
    const auto processes = openlapi::boot::parse_process_schema(text, "conf", variables);
    OPENLAPI_CHECK(!processes.empty());
    for (const auto& process : processes) {
      OPENLAPI_CHECK(!process.words.empty() && process.delay >= 0 && process.delay <= 3600);
      for (const std::string& word : process.words) OPENLAPI_CHECK(word.find('\0') == std::string::npos);
    }
  } catch (const BootError& error) {
    OPENLAPI_CHECK(std::string(error.what()).starts_with("conf:"));
    OPENLAPI_CHECK(std::string(error.what()).find_first_of("\n\r\x1b") == std::string::npos);
  }
  return 0;
}
