// From lapirun's options to a job over the universe that is booted here.
#pragma once

#include <optional>

#include "control/job/node/task_environment.h"
#include "control/job/options/job_options.h"

namespace openlapi::jobs {

// Whether the job is for a universe. Throws std::runtime_error: it must be, and there is none.
bool is_for_universe(const JobOptions& options);

// Runs the job; lapirun's exit status. Throws std::runtime_error and std::invalid_argument (a mistake of the user's).
int run_in_universe(JobOptions options, const TaskEnvironment& environment);

// Prints the jobs that the daemon here has a part in. Throws std::runtime_error.
int list_jobs(const JobOptions& options);

}  // namespace openlapi::jobs
