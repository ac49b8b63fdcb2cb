// Whether tasks can share memory on this machine, tried for real; for lapi_info.
#pragma once

#include <string>

namespace openlapi {

// Joins a group of one task and leaves it. False: `reason` says what is refused.
bool probe_shared_memory(std::string& reason);

// Whether a process may copy from another one of the same user that is not its child (process_vm_readv). Starts two
// processes and waits for them; call it while the process has one thread. False: `reason` says who refuses; messages
// then go through slots only.
bool probe_attach(std::string& reason);

}  // namespace openlapi
