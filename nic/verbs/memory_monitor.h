// Whether memory is still what it was when it was registered with an adapter. A registration keeps the pages that were
// there; when the process unmaps or empties them, the adapter goes on with the old ones.
//
// The only monitor here is userfaultfd, with its events for unmapped, moved and removed memory: the kernel tells of
// every such change, whoever makes it (the C library's free() and trimming too), and the thread that makes it waits
// until the event was read. What others do instead, and why not here:
// - Hooks in malloc, interposed or patched munmap() miss calls inside the C library or system calls made directly, and
//   two libraries that patch the same function undo each other.
// - On-demand paging exists on few adapters and not on soft-RoCE.
// Ranges are watched in write-protect mode, and nothing is ever protected: so there are no page faults to serve, and
// system calls into watched memory work. An ordinary user may have such a descriptor since Linux 5.11; filters of
// system calls in containers may forbid it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "nic/verbs/memory_changes.h"

namespace openlapi::verbs {

class MemoryMonitor {
 public:
  virtual ~MemoryMonitor() = default;

  virtual const MemoryChanges& changes() const = 0;

  // From now on changes() tells what becomes of these whole pages, for as long as they are mapped. False: it cannot
  // (memory of a file, memory that another library watches, memory that is not there).
  virtual bool watch(std::uint64_t begin, std::uint64_t end) = 0;

  // False: another thread is about to change watched memory, or has just done so, and changes() may not tell it yet.
  // One system call.
  virtual bool settled() = 0;
};

// The process's own: made for the first that asks, ended with the last that lets go. Null: `reason` says why.
std::shared_ptr<MemoryMonitor> process_memory_monitor(std::string& reason);

}  // namespace openlapi::verbs
