// Finds variables that look like this library's but are not: a mistyped variable would silently do nothing.
#pragma once

#include <string>
#include <vector>

namespace openlapi {

// One line for each name in `environment` (NAME=VALUE; a null pointer ends it) that begins with LAPI_ or OPENLAPI_ but
// is no variable of the library, and for each that begins with MP_ and nearly equals one of ours. (Other MP_ variables
// belong to POE.)
std::vector<std::string> unknown_variables(const char* const* environment);

}  // namespace openlapi
