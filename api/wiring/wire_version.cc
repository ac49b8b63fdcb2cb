// Apart from the rest of libraries.cc, for a test has a library of another wire version.
#include "api/wiring/libraries.h"
#include "dataplane/endpoint/endpoint.h"

namespace openlapi {

unsigned wire_version() { return Endpoint::wire_version(); }

}  // namespace openlapi
