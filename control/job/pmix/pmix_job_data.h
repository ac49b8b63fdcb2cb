// What the PMIx server knows about the job and each task before the tasks start: the keys of the PMIx standard that
// clients ask for (also Open MPI's).
#pragma once

#include <string>

#include "control/job/pmix/pmix_server.h"

namespace openlapi {

// Registers the job and its tasks with the running server.
bool register_job_data(const PmixJob& job, std::string& error);

}  // namespace openlapi
