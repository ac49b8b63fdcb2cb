// Whether this machine's kernel runs 32-bit programs: some are built or started without (ia32_emulation=0).
#pragma once

#include <string>

namespace openlapi::info {

// Runs the smallest 32-bit program that there is, which takes about a millisecond. False: it does not run, and `reason`
// says what the kernel answered.
bool runs_narrow_programs(std::string& reason);

}  // namespace openlapi::info
