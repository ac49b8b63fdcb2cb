#include "tests/support/allocation_count.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> allocations{0};
std::atomic<std::size_t> bytes_held{0};
std::atomic<std::size_t> refused_from{SIZE_MAX};
std::atomic<std::size_t> refused_below{SIZE_MAX};

void* allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const bool refused =
      size >= refused_from.load(std::memory_order_relaxed) && size < refused_below.load(std::memory_order_relaxed);
  void* const memory = refused ? nullptr : std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  bytes_held.fetch_add(malloc_usable_size(memory), std::memory_order_relaxed);
  return memory;
}

void release(void* memory) {
  bytes_held.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }

namespace openlapi::test {

std::uint64_t allocation_count() { return allocations.load(std::memory_order_relaxed); }

std::size_t allocated_bytes() { return bytes_held.load(std::memory_order_relaxed); }

void refuse_allocations(std::size_t from, std::size_t below) {
  refused_below.store(below, std::memory_order_relaxed);
  refused_from.store(from, std::memory_order_relaxed);
}

void allow_allocations() { refuse_allocations(SIZE_MAX); }

}  // namespace openlapi::test
