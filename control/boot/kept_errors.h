// Lines for the user where there is no user: a helper keeps them for the booting agent to print.
#pragma once

#include <string>
#include <vector>

namespace openlapi::boot {

// From now on print_error keeps its lines, and what modules and young daemons write to standard error is kept too, with
// this host's name; those kept so far. Thread safe.
void keep_errors();
std::vector<std::string> take_kept_errors();

}  // namespace openlapi::boot
