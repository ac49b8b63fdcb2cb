// For tasks of 32 bits, whose addresses leave no room for windows.
#include "shm/shm_direct_memory.h"

namespace openlapi {

std::string ShmDirectMemory::why_not(DirectReach& reach) {
  reach.no_heap = reach.no_data = reach.no_promotion = "direct access needs 64-bit programs";
  return reach.no_promotion;
}

std::unique_ptr<ShmDirectMemory> ShmDirectMemory::open(shm::ShmGroup&, ShmDoorbell&, const ShmConfig&,
                                                       DirectReach& reach) {
  why_not(reach);
  return nullptr;
}

std::uint32_t ShmDirectMemory::count_threads() { return 0; }

}  // namespace openlapi
