// Variables that look like this library's and are not: a mistyped one does nothing, and would do so in silence.
#pragma once

#include <string>
#include <vector>

namespace openlapi {

// One line for each name in `environment` (NAME=VALUE, a null pointer behind the last) that begins with LAPI_ or
// OPENLAPI_ and is no variable of the library, and for each that begins with MP_ and is as good as one: the others of
// those are POE's.
std::vector<std::string> unknown_variables(const char* const* environment);

}  // namespace openlapi
