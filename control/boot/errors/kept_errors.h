// Lines for the user where there is no user: a helper keeps them for the booting agent to print.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace openlapi::boot {

// What is kept at most: the last bytes, in whole lines. A line tells of what was dropped.
inline constexpr std::size_t kMostKeptErrors = 1 << 20;

// From now on print_error keeps its lines, and what modules and young daemons write to standard error is kept too, with
// this host's name; those kept so far. Thread safe.
void keep_errors();
std::vector<std::string> take_kept_errors();
// Gives back the memory of what will be dropped; to be called now and then.
void trim_kept_errors();

}  // namespace openlapi::boot
