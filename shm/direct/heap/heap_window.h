// A window of addresses whose memory is that of a file. What an allocator asks the system for is mapped in it, and
// given back to the system when the allocator says so, although it is shared memory.
//
// Nothing here allocates or needs the C++ library: it is loaded into every program that a task starts.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shm/direct/heap/preloaded_heap.h"

namespace openlapi::direct {

// One for a process, and never destroyed: the program frees memory until its end. Any thread.
class HeapWindow {
 public:
  // Before there are threads. Null: it is open; else the reason why not.
  const char* open(std::uint64_t size);

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  int file() const { return file_; }
  bool has(const void* memory) const {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    return address >= begin_ && address < end_;
  }
  bool is_shared() const { return shared_.load(std::memory_order_acquire); }

  // As the calls of those names; errno says why not. A null pointer: there is no room, or the heap is private.
  void* map(std::size_t bytes, int rights);
  int unmap(void* memory, std::size_t bytes);
  // Memory that reads as zero from now on (MADV_DONTNEED).
  int discard(void* memory, std::size_t bytes);

  // From now on it is ordinary private memory with the same bytes, of which children of a fork have their own copy.
  // `copied`: whoever still stores into the file does not change it. With the lock.
  void make_private(bool copied);

  // Signals of the caller come after unlock(): a handler may fork.
  void lock();
  void unlock();

 private:
  class Locked;
  static constexpr std::uint64_t kGranule = std::uint64_t{32} << 20;  // what allocators of today align their pieces to
  static constexpr std::uint64_t kGranules = kHeapPlace / kGranule;

  std::uint64_t size() const { return (end_ - begin_) / kGranule; }
  std::uint64_t find_room(std::uint64_t granules) const;
  void drop(std::uint64_t first);
  void make_private_part(std::uint64_t first, bool copied) const;

  std::uint64_t begin_ = 0, end_ = 0;
  int file_ = -1;
  std::atomic<bool> shared_ = false;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  sigset_t signals_{};                   // of who has locked it
  std::uint64_t lowest_free_ = 0;        // no granule below it is free
  std::uint64_t parts_[kGranules] = {};  // bytes of the part that begins with this granule; 0: none
};

}  // namespace openlapi::direct
