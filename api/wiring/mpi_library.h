// MPI in the same program. An MPI library that does not find the job's launcher takes each task for a job of its own:
// the two would see different sizes, and nothing would say so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/client/bootstrap.h"

namespace openlapi {

// What MPI_Get_library_version says; empty: the program has no MPI library.
std::string mpi_library();

// False: MPI_COMM_WORLD has, or will have, another size than the job; `reason` says what to do.
bool mpi_is_in_the_job(std::string_view library, const Bootstrap& bootstrap, const ReadEnvironment& read,
                       std::string& reason);

}  // namespace openlapi
