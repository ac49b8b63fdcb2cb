// Who says which variables of the tasks are mistyped (unknown_variables.h): task 0 its own, and of the others who has
// lines that task 0 has not. Tasks may have different environments: a host's start-up files may set some.
#pragma once

#include <string>
#include <vector>

#include "control/client/bootstrap.h"

namespace openlapi {

// The lines on this process's environment; `say`: prints them, too.
std::vector<std::string> look_at_variables(bool say);

// What is published of them before a job's first exchange (TaskTexts::variables); empty: there are none.
std::string checksum_of(const std::vector<std::string>& lines);

// After it: prints the lines of a task other than 0 that no other task says.
void compare_unknown_variables(Bootstrap& bootstrap, const std::vector<std::string>& lines);

}  // namespace openlapi
