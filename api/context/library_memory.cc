// operator new and delete of the library alone: the version script keeps them inside it, so that the program's own stay
// what they are. Memory comes from the program's operator new, whichever that is, since the C++ library frees some of
// it; only what that one refuses comes from the reserve.
#include <dlfcn.h>

#include <cstdlib>
#include <new>

#include "api/context/memory_reserve.h"

namespace {

using New = void* (*)(std::size_t, const std::nothrow_t&);
using Delete = void (*)(void*);

// The program's function of this name.
template <class Function>
Function find(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) std::abort();  // no C++ library: this one could not have been loaded
  return reinterpret_cast<Function>(found);
}

void* allocate_from_heap(std::size_t bytes) noexcept {
  static const New programs_new = find<New>(sizeof(std::size_t) == 8 ? "_ZnwmRKSt9nothrow_t" : "_ZnwjRKSt9nothrow_t");
  return programs_new(bytes, std::nothrow);
}

void* allocate(std::size_t bytes) {
  if (void* const place = allocate_from_heap(bytes)) [[likely]]
    return place;
  if (void* const place = openlapi::take_from_reserve(bytes)) return place;
  throw std::bad_alloc();
}

void release(void* place) noexcept {
  static const Delete programs_delete = find<Delete>("_ZdlPv");
  if (place != nullptr && !openlapi::return_to_reserve(place)) programs_delete(place);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
// Who can do without asks so: nothing of the reserve.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_from_heap(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_from_heap(bytes); }
void operator delete(void* place) noexcept { release(place); }
void operator delete[](void* place) noexcept { release(place); }
void operator delete(void* place, std::size_t) noexcept { release(place); }
void operator delete[](void* place, std::size_t) noexcept { release(place); }
