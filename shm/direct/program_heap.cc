#include "shm/direct/program_heap.h"

#include <dlfcn.h>

namespace openlapi::direct {

const PreloadedHeap* find_program_heap(std::string& reason) {
  const auto function = reinterpret_cast<PreloadedHeapFunction*>(dlsym(RTLD_DEFAULT, kPreloadedHeapSymbol));
  const PreloadedHeap* const heap = function != nullptr ? function() : nullptr;
  if (heap == nullptr) {
    reason = "libopenlapi-heap.so is not preloaded (lapirun --direct-heap does that)";
  } else if (heap->version != kPreloadedHeapVersion) {
    reason = "libopenlapi-heap.so is of another openlapi";
  } else if (heap->refusal != nullptr) {
    reason = heap->refusal;
  } else if (!heap->is_shared()) {
    reason = "the process has forked";
  } else {
    return heap;
  }
  return nullptr;
}

}  // namespace openlapi::direct
