// Memory for pools of the C++ library, from the operator new of this module: what they take themselves they take inside
// the C++ library (aligned_memory.cc).
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>

namespace openlapi::rpi {

class ModuleMemory final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return ::operator new(bytes, std::align_val_t(alignment));
  }
  void do_deallocate(void* place, std::size_t, std::size_t alignment) override {
    ::operator delete(place, std::align_val_t(alignment));
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace openlapi::rpi
