// DPDK's thread-local variables: EAL needs 4.5 KB for each thread. The C library allocates them when a thread first
// uses one, and ends the process if there is no memory. So they are allocated here, where failing is possible, before a
// thread calls DPDK for packets.
#pragma once

namespace openlapi::dpdk {

// This module's own flag: one byte in the space that the C library reserves for libraries loaded later.
extern constinit thread_local bool thread_has_data [[gnu::tls_model("initial-exec")]];

bool make_thread_data();

// Whether the calling thread has the variables, or gets them now. False: no memory for them; it must not call DPDK.
inline bool have_thread_data() { return thread_has_data || make_thread_data(); }

}  // namespace openlapi::dpdk
