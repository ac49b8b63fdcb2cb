// One lamboot at a time for each session: two that booted at once would each get some of the nodes, and refuse these to
// each other.
#pragma once

#include <string>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {

// To be kept open until the universe is booted or has failed; a process that is killed gives it back. Throws
// std::runtime_error: another lamboot of this user has it.
FileDescriptor take_turn_to_boot(const std::string& session_folder);

}  // namespace openlapi::daemon
