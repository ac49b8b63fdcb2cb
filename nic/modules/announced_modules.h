// What the library says of the transports that are modules before it loads one, and without them: their names, devices
// and variables. Each has a file here of its own; the library knows none of them by name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace openlapi {

enum class DeviceKind : std::uint8_t { none, rdma, ethernet };

// An environment variable that is the module's own. What it says comes back in ModuleRequest::variables.
struct ModuleVariable {
  std::string_view name{};
  std::string_view meaning{};  // one line
  // The words that are allowed, of which the first counts when none is given. Empty: text, and what is allowed.
  std::span<const std::string_view> words{};
  std::string_view text{};
  std::string_view without{};  // what counts when no text is given
  bool (*accepts)(std::string_view text) = nullptr;  // null: any text
};

struct ModuleAnnouncement {
  std::string_view name{};          // of the module and its transports
  std::string_view title{};         // for people
  std::string_view device_names{};  // what MP_EUIDEVICE may be, with "the name" before it
  DeviceKind kind = DeviceKind::none;
  bool tags_count = false;  // others can see its packets, or change them, where OPENLAPI_PACKET_AUTH alone prevents it
  std::span<const ModuleVariable> variables{};
};

// Those that come with the library, the preferred one first.
std::span<const ModuleAnnouncement> announced_modules();

// Null: a module that does not come with the library.
const ModuleAnnouncement* announced_module(std::string_view name);

}  // namespace openlapi
