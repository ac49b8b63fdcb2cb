// Lines for the user in a process whose output nobody sees: a helper keeps them for the booting agent to print.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace openlapi::ssi {

// At most so many bytes are kept: the last ones, in whole lines, and a line that says what was dropped.
inline constexpr std::size_t kMostKeptErrors = 1 << 20;

// From now on lines of print_error() are kept and, with this host's name, what modules and daemons that are starting
// write to standard error. take_kept_errors() hands them out. Thread safe.
void keep_errors();
std::vector<std::string> take_kept_errors();
// Gives back the memory of what will be dropped; to be called now and then.
void trim_kept_errors();

}  // namespace openlapi::ssi
