// This machine as a place for tasks.
#pragma once

#include <cstdint>
#include <string>

#include "control/job/options/job_options.h"

namespace openlapi {

// Whether a user who writes this means the machine that he is on.
bool is_this_host(const std::string& name);

// How many tasks a job has whose places are all on this machine, as in a universe of it alone: as many as places are
// named, unless -n says more. Throws std::invalid_argument if -N leaves no room for them.
std::uint32_t tasks_here(const JobPlacement& placement);

}  // namespace openlapi
