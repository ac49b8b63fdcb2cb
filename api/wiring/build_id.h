// Identifies the build of this process's library, independent of its version and build date.
#pragma once

#include <string>

namespace openlapi {

// The build id that the linker gave to the object containing this code, in hexadecimal; empty: it has none.
std::string build_id();

}  // namespace openlapi
