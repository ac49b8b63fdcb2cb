// Arbitrary data gather/scatter programs: the library runs what it accepts as the reference machine does, wherever a
// packet begins, and never writes outside of the template.
#include <cstddef>
#include <cstdint>

#include "tests/support/gather_scatter_reference.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  openlapi::check_against_reference({data, size});
  return 0;
}
