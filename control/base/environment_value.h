// Variables of this process.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string>

namespace openlapi {

// The first of these variables that is set and not empty.
inline std::string environment_value(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

}  // namespace openlapi
