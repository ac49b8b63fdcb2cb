// What the user is told besides failures.
#pragma once

#include <cstdint>
#include <string>

namespace openlapi {

// The value of MP_INFOLEVEL that is needed.
inline constexpr int kLevelError = 0;
inline constexpr int kLevelWarning = 1;
inline constexpr int kLevelInformation = 2;

// Each face words these in its own form, and prints them at its own level.
enum class Notice : std::uint8_t {
  path_found,  // an address of this task, or the path to another task
  alone_on_node,
  shared_memory_not_created,
  shared_memory_not_found,
  shared_memory_not_attached,
  shared_memory_not_set_up,
  failover_without_matrix,
  failover_without_adapters,  // of several that were asked for not all could be opened
  failover_with_named_adapter,
};
using TellNotice = void (*)(Notice notice, int info_level, const std::string& text);

inline void tell(TellNotice listener, Notice notice, int info_level, const std::string& text) {
  if (listener != nullptr) listener(notice, info_level, text);
}

}  // namespace openlapi
