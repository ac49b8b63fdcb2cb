// The version of a library that is like this one and calls itself another: of another build, or of another wire
// version, as the packet_version.h says that it is compiled with.
#include "api/wiring/libraries.h"
#include "api/wiring/version.h"
#include "dataplane/wire/packet_version.h"

namespace openlapi {

unsigned wire_version() { return wire::kPacketVersion; }
const char* version_number() { return "9.9.9"; }
const char* version_text() { return "openlapi 9.9.9"; }
const char* build_stamp() { return "another day"; }

}  // namespace openlapi
