#include "api/wiring/version.h"

namespace openlapi {

const char* version_number() { return OPENLAPI_VERSION; }

const char* version_text() { return "openlapi " OPENLAPI_VERSION; }

const char* build_stamp() { return __DATE__ " " __TIME__; }

}  // namespace openlapi
