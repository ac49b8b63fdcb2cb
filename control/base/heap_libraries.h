// What is preloaded into tasks whose heap neighbours reach directly (shm/direct/heap).
#pragma once

namespace openlapi {

inline constexpr char kHeapLibrary[] = "libopenlapi-heap.so";
// Of the distribution; with the number of the interface that is known to serve.
inline constexpr char kHeapAllocator[] = "libmimalloc.so.2";

}  // namespace openlapi
