// Which task reports mistyped variables (unknown_variables.h): task 0 reports its own, and other tasks those lines that
// task 0 does not have. Tasks may have different environments: a host's start-up files may set some.
#pragma once

#include <string>
#include <vector>

#include "control/client/bootstrap.h"

namespace openlapi {

// The lines about this process's environment; `say`: print them, too.
std::vector<std::string> look_at_variables(bool say);

// A summary that is published before a job's first exchange (TaskTexts::variables); empty: there are no lines.
std::string checksum_of(const std::vector<std::string>& lines);

// Call it after the exchange: on tasks other than 0 it prints the lines that no other task prints.
void compare_unknown_variables(Bootstrap& bootstrap, const std::vector<std::string>& lines);

}  // namespace openlapi
