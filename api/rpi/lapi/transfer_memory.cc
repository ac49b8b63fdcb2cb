#include "api/rpi/lapi/transfer_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

namespace openlapi::rpi {
namespace {

constexpr std::size_t kLargePage = 2u << 20;

std::byte* map(std::size_t size) {
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

// Begins at a large page, so that these can be used for all but its end.
std::byte* map_aligned(std::size_t size) {
  std::byte* const memory = map(size + kLargePage);
  if (memory == nullptr) return nullptr;
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(memory) % kLargePage;
  if (before > 0) munmap(memory, before);
  if (before < kLargePage) munmap(memory + before + size, kLargePage - before);
  madvise(memory + before, size, MADV_HUGEPAGE);
  return memory + before;
}

}  // namespace

void* TransferMemory::allocate(std::size_t size) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (size > SIZE_MAX / 2) return nullptr;
  const std::size_t whole = size == 0 ? page : (size + page - 1) / page * page;
  void* const memory = whole < kLargePage ? map(whole) : map_aligned(whole);
  if (memory == nullptr) return nullptr;
  try {
    sizes_.emplace(memory, whole);
  } catch (const std::bad_alloc&) {
    munmap(memory, whole);
    return nullptr;
  }
  return memory;
}

bool TransferMemory::free(void* memory) {
  const auto found = sizes_.find(memory);
  if (found == sizes_.end()) return false;
  munmap(memory, found->second);
  sizes_.erase(found);
  return true;
}

}  // namespace openlapi::rpi
