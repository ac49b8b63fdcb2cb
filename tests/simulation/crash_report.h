// Names the seed that was running when the process dies of a signal: a failed check of the engine aborts.
#pragma once

#include <string>

namespace openlapi::simulation {

void set_crash_report(const std::string& replay_command);

}  // namespace openlapi::simulation
