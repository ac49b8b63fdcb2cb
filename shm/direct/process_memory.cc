#include "shm/direct/process_memory.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include "shm/direct/program_heap.h"

namespace openlapi::direct {
namespace {

// Others' allocators give memory back in ways that promoted memory does not follow (shm/README.md).
bool has_libc_allocator() {
  Dl_info allocator{}, library{};
  return dladdr(dlsym(RTLD_DEFAULT, "malloc"), &allocator) != 0 &&
         dladdr(reinterpret_cast<void*>(gnu_get_libc_version), &library) != 0 &&
         allocator.dli_fbase == library.dli_fbase;
}

// The library has threads of its own, so what needs a task of one thread is of no use.
OpenMemory::Pointer open_promoting(std::uint32_t accessors, std::string& reason) {
  if (!has_libc_allocator()) {
    reason = "malloc() is not the C library's";
    return nullptr;
  }
  OpenMemory::Pointer memory = OpenMemory::start(accessors, reason);
  if (!memory || memory->promotes_anytime()) return memory;
  reason = "userfaultfd is restricted (vm.unprivileged_userfaultfd=1, or access to /dev/userfaultfd, would allow it)";
  return nullptr;
}

}  // namespace

OpenMemory::Pointer open_process_memory(std::uint32_t accessors, bool alone, DirectReach& reach) {
  const PreloadedHeap* const heap = find_program_heap(reach.no_heap);
  OpenMemory::Pointer memory = open_promoting(accessors, reach.no_promotion);
  if (!memory) {
    std::string reason;
    memory = OpenMemory::start({.accessors = accessors, .promotes = false, .heap = heap}, reason);
    if (!memory) reach.no_promotion = reason;
  }
  if (!memory) return nullptr;
  const Refusal refusal = alone ? memory->promote_data_segments() : Refusal::kOtherThreads;
  if (refusal != Refusal::kNone) reach.no_data = text_of(refusal);
  return memory;
}

}  // namespace openlapi::direct
