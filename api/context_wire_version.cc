// Apart from the rest of context_libraries, for a test has a library of another wire version.
#include "api/context_libraries.h"
#include "dataplane/endpoint/endpoint.h"

namespace openlapi {

unsigned wire_version() { return Endpoint::wire_version(); }

}  // namespace openlapi
