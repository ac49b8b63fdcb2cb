// What a task that dies of a wrong address says of it.
#pragma once

#include "dataplane/message/served_packet.h"

namespace openlapi {

// Handlers of SIGSEGV and SIGBUS that write the line and let the signal do what it does by default, or the handler of a
// run-time library that only tells where the program dies. Where the program has another handler it stays.
// `endpoint_inside`: that whose functions the calling thread is in, null: none. `self`: this
// task. At most once per process; any thread.
void explain_memory_faults(const MessageDirectory* (*endpoint_inside)(), unsigned self);

}  // namespace openlapi
