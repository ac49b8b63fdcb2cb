// Which build the library of this process is, whatever its version and the day that it was built.
#pragma once

#include <string>

namespace openlapi {

// The build id that the linker gave to the object that this code is in, in hexadecimal; empty when it gave none.
std::string build_id();

}  // namespace openlapi
