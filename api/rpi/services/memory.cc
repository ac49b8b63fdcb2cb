// The specification's section 3.5.3 in C.
#include <cstdlib>
#include <cstring>

#include "api/rpi/include/mpisys.h"
#include "api/rpi/include/rpisys.h"

int lam_ssi_rpi_base_alloc_mem(MPI_Aint size, MPI_Info, void* baseptr) {
  if (size < 0 || baseptr == nullptr) return LAMERROR;
  // Also of no bytes it is an address of its own.
  void* memory = std::malloc(size == 0 ? 1 : static_cast<std::size_t>(size));
  if (memory == nullptr) return LAMERROR;
  std::memcpy(baseptr, &memory, sizeof memory);
  return 0;
}

int lam_ssi_rpi_base_free_mem(void* base) {
  std::free(base);
  return 0;
}

void* lam_memcpy(void* dest, const void* src, std::size_t size) { return std::memcpy(dest, src, size); }
