// What kind of memory lies at an address, according to /proc/self/maps: whether the kernel tells of every change of its
// pages if it is watched (memory_monitor.h).
//
// - Private memory of no file, transparent huge pages too: whoever takes its pages away does so by a call in this
//   process about these addresses.
// - Variables of the program, which lie in a private mapping of its file: the file of a program that runs cannot be
//   written or truncated (ETXTBSY). A file server may do that all the same; the program has then lost its code and all
//   of its variables.
// - Not libraries' variables, nor other files: truncating the file takes pages away, without an event.
// - Not huge pages (MAP_HUGETLB), though the kernel tells of their changes: those that are pinned it copies at once
//   when the process forks, and the fork fails if none is free then. How many will be nobody can tell beforehand.
// - Not shared memory (shm_open, memfd_create, shmget, MAP_SHARED): another process, or this one through a descriptor
//   or another mapping, can truncate it or punch holes (MADV_REMOVE, fallocate), without an event here. The adapter
//   would go on with pages that are not part of it any more. But for what neighbours reach directly (shm/direct/):
//   nobody does so to its file, and whoever has moved the memory there tells of its changes (AdapterMemory). What was
//   taken back is private memory of that file, of which the kernel tells as of the program's variables.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/adapter_memory.h"
#include "dataplane/base/process_maps.h"

namespace openlapi::verbs {

// Whole pages; empty: none.
struct PageRange {
  std::uint64_t begin = 0, end = 0;
  explicit operator bool() const { return end != begin; }
  bool operator==(const PageRange&) const = default;
};

// Some file systems show several files with one number, or another device than their files'.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;  // 0: none
  std::string path;
};

// Of the program that this process runs.
FileIdentity program_file();

// Whether it is of such a kind.
bool is_watchable(const Mapping& mapping, const FileIdentity& program);

// Takes the process's mappings, in their order, and tells whether memory of which all changes can be told covers the
// whole range.
class WatchableMemoryScan {
 public:
  // `memory` knows what is followed by others.
  WatchableMemoryScan(std::uint64_t begin, std::uint64_t end, const FileIdentity& program, AdapterMemory& memory)
      : next_(begin), end_(end), program_(program), memory_(memory) {}

  void take(const Mapping& mapping);

  bool covered() const { return next_ >= end_ && !refused_; }
  bool over() const { return next_ >= end_ || refused_; }
  // What has to be watched so that all is told, in order.
  const std::vector<PageRange>& unfollowed() const { return unfollowed_; }

 private:
  void add_unfollowed(const PageRange& part);

  std::uint64_t next_;  // everything in the range before it is watchable
  std::uint64_t end_;
  FileIdentity program_;
  AdapterMemory& memory_;
  std::vector<PageRange> unfollowed_;
  bool refused_ = false;
};

// Reads the list, which takes tens of microseconds or more.
WatchableMemoryScan scan_memory(const PageRange& range, const FileIdentity& program, AdapterMemory& memory);

}  // namespace openlapi::verbs
