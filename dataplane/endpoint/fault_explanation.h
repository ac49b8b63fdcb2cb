// The message of a task that dies because of a wrong address.
#pragma once

#include "dataplane/message/served_packet.h"

namespace openlapi {

// Installs handlers of SIGSEGV and SIGBUS that print one line and then let the signal have its default effect, or call
// the handler of a run-time library that only reports where the program dies. If the program has another handler, that
// one stays. `endpoint_inside`: returns the endpoint whose functions the calling thread is in; null: none. `self`: this
// task. Has an effect once per process; any thread.
void explain_memory_faults(const MessageDirectory* (*endpoint_inside)(), unsigned self);

}  // namespace openlapi
