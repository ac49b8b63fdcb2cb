// Memory for MPI_Alloc_mem (rpi SSI specification, 4.14, 4.15): pages that nothing else shares. An adapter registers
// them when data first go from or to them, keeps them registered from then on, and registers nothing else with them;
// those of long transfers are large pages if the system has them.
#pragma once

#include <cstddef>
#include <unordered_map>

namespace openlapi::rpi {

class TransferMemory {
 public:
  TransferMemory() = default;
  // What has not been freed stays: the program may still use it.
  ~TransferMemory() = default;
  TransferMemory(const TransferMemory&) = delete;
  TransferMemory& operator=(const TransferMemory&) = delete;

  // Of no bytes it is an address of its own, too. nullptr: there is no memory.
  void* allocate(std::size_t size);
  // False: allocate() has not returned it, or it has been freed.
  bool free(void* memory);

 private:
  std::unordered_map<void*, std::size_t> sizes_{};
};

}  // namespace openlapi::rpi
