// For tasks of 32 bits, whose addresses leave no room for windows.
#include "shm/shm_direct_memory.h"

namespace openlapi {

bool ShmDirectMemory::is_possible(std::string& reason) {
  reason = "direct access needs 64-bit programs";
  return false;
}

std::unique_ptr<ShmDirectMemory> ShmDirectMemory::open(shm::ShmGroup&, ShmDoorbell&, DirectUse, std::string& reason) {
  is_possible(reason);
  return nullptr;
}

}  // namespace openlapi
