#include "nic/dpdk/thread_data.h"

#include <rte_lcore.h>

#include <cstdlib>

namespace openlapi::dpdk {

namespace {

// EAL's variables, and the table of such variables that the C library may have to enlarge.
constexpr std::size_t kRoom = 16 << 10;

}  // namespace

constinit thread_local bool thread_has_data [[gnu::tls_model("initial-exec")]] = false;

// Asking beforehand is all that can be done: the C library does not ask back. What another thread takes in between it
// takes from the rest of the room, or the process ends as it would have.
[[gnu::cold]] bool make_thread_data() {
  void* room = std::malloc(kRoom);
  asm volatile("" : "+r"(room));  // or the compiler finds that the room is not used
  if (room == nullptr) return false;
  std::free(room);
  asm volatile("" : : "r"(&RTE_PER_LCORE(_lcore_id)));  // one of them brings all
  thread_has_data = true;
  return true;
}

}  // namespace openlapi::dpdk
