// DPDK's thread-local variables: 4.5 KB of EAL's for each thread, which the C library allocates when the thread first
// uses one of them, and when it finds no memory then it ends the process. So a thread has them before it calls DPDK for
// packets.
#pragma once

namespace openlapi::dpdk {

// Of the module's own, one byte in the room that the C library keeps for libraries that are loaded later.
extern constinit thread_local bool thread_has_data [[gnu::tls_model("initial-exec")]];

bool make_thread_data();

// Whether the calling thread has them, or gets them now. False: there is no memory for them; it must not call DPDK.
inline bool have_thread_data() { return thread_has_data || make_thread_data(); }

}  // namespace openlapi::dpdk
