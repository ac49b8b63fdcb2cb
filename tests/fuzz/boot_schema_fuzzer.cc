// Arbitrary text as a boot schema: it is refused with a message of one line, or every host is one that could be booted.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "control/boot/errors/boot_error.h"
#include "control/boot/schemas/host_schema.h"
#include "dataplane/base/check.h"

using openlapi::boot::BootError;
using openlapi::boot::HostEntry;

namespace {

std::string lower_case(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    std::set<std::string> names;
    const auto hosts = openlapi::boot::parse_host_schema(text, "hosts");
    OPENLAPI_CHECK(!hosts.empty());
    for (const HostEntry& host : hosts) {
      OPENLAPI_CHECK(!host.name.empty() && host.name.front() != '-' && host.cpus >= 1);
      OPENLAPI_CHECK(host.user.empty() || host.user.front() != '-');
      OPENLAPI_CHECK(names.insert(lower_case(host.name)).second);
    }
  } catch (const BootError& error) {
    OPENLAPI_CHECK(std::string(error.what()).starts_with("hosts:"));
    OPENLAPI_CHECK(std::string(error.what()).find_first_of("\n\r\x1b") == std::string::npos);
  }
  return 0;
}
