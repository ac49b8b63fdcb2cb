// What the user hears besides failures.
#pragma once

#include <cstdint>
#include <string>

namespace openlapi {

// How much of MP_INFOLEVEL it needs.
inline constexpr int kLevelError = 0;
inline constexpr int kLevelWarning = 1;
inline constexpr int kLevelInformation = 2;

// What each face says in its own form, and at the level that it has for it.
enum class Notice : std::uint8_t {
  path_found,  // an address of this task, or the path to another task
  alone_on_node,
  shared_memory_not_created,
  shared_memory_not_found,
  shared_memory_not_attached,
  shared_memory_not_set_up,
};
using TellNotice = void (*)(Notice notice, int info_level, const std::string& text);

inline void tell(TellNotice listener, Notice notice, int info_level, const std::string& text) {
  if (listener != nullptr) listener(notice, info_level, text);
}

}  // namespace openlapi
