// Says in users' words what CLI11 says of an option that was given too often.
#pragma once

#include <string>
#include <string_view>

namespace openlapi {

// "-t: At Most 1 required but received 2" is "-t is there 2 times; allowed: once"; all else stays.
inline std::string told_once(const std::string& reason) {
  constexpr std::string_view kTooMany = ": At Most 1 required but received ";
  const std::size_t at = reason.find(kTooMany);
  if (at == std::string::npos) return reason;
  return reason.substr(0, at) + " is there " + reason.substr(at + kTooMany.size()) + " times; allowed: once";
}

}  // namespace openlapi
