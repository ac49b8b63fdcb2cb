#include "control/tools/tool_main.h"

namespace openlapi::daemon {

const char* tool_version() { return OPENLAPI_VERSION; }

}  // namespace openlapi::daemon
