// LAM's library has malloc(), free() and memalign() for the whole process, but no posix_memalign() and aligned_alloc():
// memory from the C library's is then freed by LAM's free(), which takes it for its own, and ends the process sooner or
// later. RDMA libraries get memory so, and give it back; so does libstdc++.
#pragma once

namespace openlapi::rpi {

// Where free() is not of those who have these two functions, but of somebody who has memalign(): leads all calls of
// them there, in what is loaded now and has that free() itself. Call it again when something was loaded. Does nothing
// elsewhere.
void lead_aligned_calls();

}  // namespace openlapi::rpi
