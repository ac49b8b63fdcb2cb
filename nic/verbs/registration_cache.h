// Memory that is registered with an adapter, found again without a system call, and never used again after the process
// changed it.
//
// An entry covers whole pages. Listed entries, those that can be found, may overlap, but none lies within another: so
// they have one order, by their begin and by their end, and the last one that begins before a range is the only one
// that can cover it. Entries are not merged: memory that is used piece by piece would be registered again for each
// piece. An entry is deregistered when it is not listed and not in use. The least recently used ones leave when there
// are too many, or too many bytes; those in use may exceed that bound. An entry is listed only if a monitor watches its
// memory; without one nothing is kept beyond its use. Not thread-safe: belongs to one transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "nic/verbs/memory_changes.h"
#include "nic/verbs/memory_monitor.h"

namespace openlapi::verbs {

// How memory becomes known to the adapter.
class Registrar {
 public:
  struct Region {
    void* handle = nullptr;
    std::uint32_t local_key = 0;
    std::uint32_t remote_key = 0;
  };
  enum class Outcome : std::uint8_t {
    done,
    no_room,  // may succeed after others were removed
    refused,
  };

  virtual ~Registrar() = default;
  virtual Outcome add(std::uint64_t begin, std::uint64_t end, bool writable, Region& region) = 0;
  virtual void remove(const Region& region) = 0;
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
    std::uint64_t refused = 0;      // the adapter took the memory not even after all that was idle had gone
    std::uint64_t evicted = 0;      // left for others
    std::uint64_t invalidated = 0;  // the process changed their memory
    std::uint64_t unwatched = 0;    // kept for one use only
  };

  struct Entry {
    std::uint64_t begin = 0, end = 0;  // whole pages
    Registrar::Region region;
    bool writable = false;
    bool listed = false;           // can be found
    bool changed = false;          // the process changed the memory
    std::uint32_t uses = 0;        // 0 and not listed: there is no registration
    std::uint32_t number = 0;      // of its place
    std::uint32_t generation = 0;  // of what lies at its place
    std::uint64_t last_use = 0;    // counts uses of all entries
  };

  // `monitor` may be null. Both outlive the cache.
  RegistrationCache(Registrar& registrar, MemoryMonitor* monitor, const Limits& limits);
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  // An entry that covers the range, in use until release(). Null: this memory cannot be registered. A hit makes no
  // system call.
  // It is right for memory that this thread, or one that this thread has synchronised with, had mapped. One case is
  // left: thread A is still within munmap(), and thread B has got the same addresses from the kernel already.
  Entry* acquire(const void* address, std::size_t length, bool writable);

  // The same, and right in that case too; for one system call more, if there is a monitor.
  Entry* acquire_current(const void* address, std::size_t length, bool writable);

  void release(Entry& entry);

  // Deregisters what was changed meanwhile, if anything was.
  void settle() {
    if (reader_ && reader_->behind()) take_changes();
  }

  Entry* find(std::uint32_t number, std::uint32_t generation);  // one in use; null: none

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
  bool register_range(Entry& entry);
  Entry& new_entry();
  void list(Entry& entry);
  void unlist(Entry& entry);
  void invalidate(std::uint64_t begin, std::uint64_t end);
  void drop_if_unused(Entry& entry);
  std::uint64_t evict_one();
  void take_changes();
  std::size_t first_place_after(std::uint64_t address) const;

  Registrar& registrar_;
  MemoryMonitor* monitor_;
  std::optional<MemoryChanges::Reader> reader_;  // of the monitor
  Limits limits_;
  std::uint64_t page_;
  std::deque<Entry> all_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint64_t> begins_;  // of the listed ones, in order
  std::vector<Place> places_;          // of the same
  std::uint64_t uses_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t entries_ = 0;
  Counters counters_;
};

}  // namespace openlapi::verbs
