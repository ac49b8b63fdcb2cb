// Tasks whose heap neighbours reach directly.
#pragma once

#include <string>

#include "control/job/node/task_environment.h"

namespace openlapi {

// Where OPENLAPI_DIRECT_HEAP asks for it: has the library of that path preloaded, and an allocator, behind what the
// user has preloaded; and has direct access used. Else changes nothing. False: `library` is empty, though it was asked
// for.
bool preload_heap(TaskEnvironment& environment, const std::string& library);

}  // namespace openlapi
