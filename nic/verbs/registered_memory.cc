#include "nic/verbs/registered_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "dataplane/base/cancellation.h"

namespace openlapi::verbs {

RegisteredMemory::~RegisteredMemory() {
  if (region_) pinned_.end();
  region_.reset();
  if (data_ != nullptr) munmap(data_, bytes_);
}

int RegisteredMemory::open(ibv_pd& domain, std::size_t bytes, int rights) {
  const CancellationOff off;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  data_ = static_cast<std::byte*>(memory);
  bytes_ = bytes;
  // Otherwise a fork would let this process write to a copy of a page while the adapter goes on with the page itself.
  madvise(memory, bytes, MADV_DONTFORK);
  region_.reset(ibv_reg_mr(&domain, memory, bytes, rights));
  if (region_) {
    const auto begin = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory));
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    pinned_.begin(begin, begin + (bytes + page - 1) / page * page);
    return 0;
  }
  const int error = errno;
  munmap(std::exchange(data_, nullptr), bytes_);
  return error;
}

}  // namespace openlapi::verbs
