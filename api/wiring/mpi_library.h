// MPI in the same program. An MPI library that does not find the job's launcher treats each task as a job of its own:
// MPI and LAPI would then disagree about the job's size, and nothing would say so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/client/bootstrap.h"

namespace openlapi {

// The result of MPI_Get_library_version; empty: the program has no MPI library.
std::string mpi_library();

// False: MPI_COMM_WORLD has, or will have, another size than the job; `reason` says what to do.
bool mpi_is_in_the_job(std::string_view library, const Bootstrap& bootstrap, const ReadEnvironment& read,
                       std::string& reason);

}  // namespace openlapi
