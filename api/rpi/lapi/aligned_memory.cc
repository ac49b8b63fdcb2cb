// The module's memory with an alignment of its own. LAM's library has malloc() and free() for the whole process, but no
// aligned_alloc(): what the C++ library's operator new gets from the C library's would be freed by LAM's, which takes
// it for its own; from a thread it ends the process then. So all of it comes from malloc(). The version script keeps
// these functions inside the module.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

// Before the place that is given out lies the address of what malloc() has given.
void* allocate(std::size_t bytes, std::align_val_t alignment) noexcept {
  const std::size_t step = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  if (bytes > SIZE_MAX / 2 || step > SIZE_MAX / 4) return nullptr;
  auto* const whole = static_cast<std::byte*>(std::malloc(bytes + step + sizeof(void*)));
  if (whole == nullptr) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(whole) + sizeof(void*);
  std::byte* const place = whole + sizeof(void*) + (step - first % step) % step;
  reinterpret_cast<void**>(place)[-1] = whole;
  return place;
}

void* allocate_or_throw(std::size_t bytes, std::align_val_t alignment) {
  if (void* const place = allocate(bytes, alignment)) return place;
  throw std::bad_alloc();
}

void release(void* place) noexcept {
  if (place != nullptr) std::free(static_cast<void**>(place)[-1]);
}

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t alignment) { return allocate_or_throw(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return allocate_or_throw(bytes, alignment); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, alignment);
}
void operator delete(void* place, std::align_val_t) noexcept { release(place); }
void operator delete[](void* place, std::align_val_t) noexcept { release(place); }
void operator delete(void* place, std::size_t, std::align_val_t) noexcept { release(place); }
void operator delete[](void* place, std::size_t, std::align_val_t) noexcept { release(place); }
void operator delete(void* place, std::align_val_t, const std::nothrow_t&) noexcept { release(place); }
void operator delete[](void* place, std::align_val_t, const std::nothrow_t&) noexcept { release(place); }
