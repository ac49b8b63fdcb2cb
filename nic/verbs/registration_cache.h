// Memory that is registered with an adapter: found again without a system call, and never reused after the process has
// unmapped or replaced it.
//
// An entry covers whole pages. Listed entries, those that can be found, may overlap, but none lies within another. So
// they have the same order by begin and by end, and only the last one that begins before a range can cover it. Entries
// are not merged: memory that is used piece by piece would be registered anew for every piece. An entry is deregistered
// when it is neither listed nor in use. When there are too many entries or bytes, the least recently used ones go;
// those in use may exceed the limit. Where the adapter has a region of all memory, that serves for what cannot be kept,
// or not be registered for want of room. An entry is listed only if a monitor watches its memory, and as long as it
// does; without a monitor nothing is kept beyond its use. Memory of entries in use stays where it is (AdapterMemory),
// unless it must go at once (fork). Not thread-safe: belongs to one transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "dataplane/base/adapter_memory.h"
#include "dataplane/base/memory_changes.h"
#include "nic/verbs/memory_monitor.h"

namespace openlapi::verbs {

// Makes memory known to the adapter.
class Registrar {
 public:
  struct Region {
    void* handle = nullptr;
    std::uint32_t local_key = 0;
    std::uint32_t remote_key = 0;
  };
  enum class Outcome : std::uint8_t {
    done,
    no_room,  // may succeed after other memory was deregistered
    refused,
  };

  virtual ~Registrar() = default;
  virtual Outcome add(std::uint64_t begin, std::uint64_t end, bool writable, Region& region) = 0;
  virtual void remove(const Region& region) = 0;
  // A region of all memory, which pins none of it and stays. False: there is none, or this range cannot be used in it.
  virtual bool whole_memory(std::uint64_t, std::uint64_t, bool, Region&) { return false; }
};

class RegistrationCache {
 public:
  struct Limits {
    std::uint64_t bytes = 2u << 30;
    std::uint32_t entries = 1024;
  };

  struct Counters {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t refused = 0;      // times the adapter refused although nothing idle was left to remove
    std::uint64_t evicted = 0;      // removed to make room
    std::uint64_t invalidated = 0;  // removed because the process changed their memory
    std::uint64_t unwatched = 0;    // used once and not kept
    std::uint64_t on_demand = 0;    // used in the region of all memory
  };

  struct Entry {
    std::uint64_t begin = 0, end = 0;  // whole pages
    Registrar::Region region;
    PageRange watched;  // while it is listed
    bool writable = false;
    bool on_demand = false;        // its region is that of all memory
    bool listed = false;           // can be found
    bool changed = false;          // the process changed the memory
    bool moved = false;            // while in use, to other pages: what the adapter has written may be lost
    std::uint32_t uses = 0;        // 0 and not listed: there is no registration
    std::uint32_t number = 0;      // its index in the table
    std::uint32_t generation = 0;  // distinguishes entries that have used the same index
    std::uint64_t last_use = 0;    // counts uses of all entries
    AdapterMemory::Pinned pinned;  // unless on demand
  };

  // `monitor` may be null. Both outlive the cache.
  RegistrationCache(Registrar& registrar, MemoryMonitor* monitor, const Limits& limits);
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  // An entry that covers the range; in use until release(). Null: this memory cannot be registered. A hit makes no
  // system call.
  // Correct for memory that was mapped by this thread or by one that this thread has synchronised with. One case
  // remains: thread A is still inside munmap() while thread B has already got the same addresses from the kernel.
  Entry* acquire(const void* address, std::size_t length, bool writable);

  // The same, and correct in that case too; costs one more system call if there is a monitor.
  Entry* acquire_current(const void* address, std::size_t length, bool writable);

  void release(Entry& entry);

  // Deregisters memory that was changed meanwhile, if any.
  void settle() {
    if ((reader_ && reader_->behind()) || moves_.behind()) take_changes();
  }

  Entry* find(std::uint32_t number, std::uint32_t generation);  // one that is in use; null: none

  const Counters& counters() const { return counters_; }
  std::uint64_t bytes() const { return bytes_; }  // registered
  std::uint32_t entries() const { return entries_; }

 private:
  struct Place {
    std::uint64_t end;
    Entry* entry;
  };

  Entry* lookup(std::uint64_t begin, std::uint64_t end, bool writable);
  Entry* make(std::uint64_t begin, std::uint64_t end, bool writable);
  Registrar::Outcome register_range(Entry& entry, bool writable);
  bool use_whole_memory(Entry& entry, bool writable);
  Entry& new_entry();
  void list(Entry& entry);
  void unlist(Entry& entry);
  void invalidate(std::uint64_t begin, std::uint64_t end);
  void mark_moved(std::uint64_t begin, std::uint64_t end);
  void drop_if_unused(Entry& entry);
  void deregister(Entry& entry);
  std::uint64_t evict_one();
  void take_changes();
  std::size_t first_place_after(std::uint64_t address) const;

  Registrar& registrar_;
  MemoryMonitor* monitor_;
  std::optional<MemoryChanges::Reader> reader_;  // of the monitor
  MemoryChanges::Reader moves_{AdapterMemory::of_process().changes()};
  Limits limits_;
  std::uint64_t page_;
  std::deque<Entry> all_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint64_t> begins_;  // of the listed entries, in order
  std::vector<Place> places_;          // of the same entries
  std::uint64_t uses_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t entries_ = 0;
  Counters counters_;
};

}  // namespace openlapi::verbs
