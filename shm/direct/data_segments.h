// Where the static data of the program lies, and those of the libraries that it was linked with.
#pragma once

#include <vector>

#include "shm/direct/promotable.h"

namespace openlapi::direct {

// The writable parts of the program and of libraries that stay as long as it runs, since it was linked with them; but
// not of those that this library is linked with, for they, the C library among them, may have threads of their own.
std::vector<AddressRange> data_segments();

}  // namespace openlapi::direct
