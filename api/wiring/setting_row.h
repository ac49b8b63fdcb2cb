// One row of the table of settings (environment.cc): everything that is known about a variable.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/wiring/environment.h"

namespace openlapi {

struct SettingRow {
  const char* name;
  const char* type;
  std::string allowed;
  std::string default_value;
  std::string meaning;
  FailureKind failure;  // of a wrong value
  std::function<bool(std::string_view text, Settings& settings)> store;
};

}  // namespace openlapi
