// How an accessor counts what it has done, and loads and stores words that others may look at.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dataplane/base/copy_bytes.h"
#include "shm/direct/control_memory.h"

namespace openlapi::direct {

// The only one that writes there.
inline void count(std::atomic<std::uint64_t>& counted, std::uint64_t more) {
  counted.store(counted.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

inline void count_put(AccessorLine& line, std::uint64_t bytes) {
  count(line.puts, 1);
  count(line.put_bytes, bytes);
}

inline void count_get(AccessorLine& line, std::uint64_t bytes) {
  count(line.gets, 1);
  count(line.got_bytes, bytes);
}

// The line comes from another processor while the data's does: one wait instead of two.
inline void fetch_to_write(const std::byte* bytes) {
#ifdef __x86_64__
  asm volatile("prefetchw %0" : : "m"(*bytes));  // __builtin_prefetch() makes it only where all processors have it
#else
  __builtin_prefetch(bytes, 1);
#endif
}

// Words in one store or load: others may look at them at any time.
inline void copy_word_or_bytes(std::byte* target, const void* source, std::size_t length) {
  const auto* const from = static_cast<const std::byte*>(source);
  if (length == 8) {
    std::memcpy(target, from, 8);
  } else if (length == 4) {
    std::memcpy(target, from, 4);
  } else {
    copy_bytes(target, from, length);
  }
}

}  // namespace openlapi::direct
