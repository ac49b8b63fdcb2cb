// Who says which variables of the tasks are mistyped (unknown_variables.h): task 0 its own, and of the others who has
// lines that task 0 has not. Tasks may have different environments: a host's start-up files may set some.
#pragma once

#include <string>
#include <vector>

#include "control/bootstrap.h"

namespace openlapi {

// The lines on this process's environment; `say`: prints them, too.
std::vector<std::string> look_at_variables(bool say);

// Before the first exchange of a job: `lines` for those who compare. False: `reason`.
bool publish_unknown_variables(Bootstrap& bootstrap, const std::vector<std::string>& lines, std::string& reason);

// After it: prints the lines of a task other than 0 that no other task says.
void compare_unknown_variables(Bootstrap& bootstrap, const std::vector<std::string>& lines);

}  // namespace openlapi
