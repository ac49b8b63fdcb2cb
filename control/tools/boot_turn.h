// One lamboot at a time for each session: two that booted at once would each get some of the nodes, and refuse these to
// each other.
#pragma once

#include <string>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {

// Keep it open until the boot has succeeded or failed; the end of the process gives it back as well. Throws
// std::runtime_error: another lamboot of this user has it.
FileDescriptor take_turn_to_boot(const std::string& session_folder);

}  // namespace openlapi::daemon
