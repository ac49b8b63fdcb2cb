// Tells whether memory is still what it was when it was registered with an adapter. A registration pins the pages that
// were there; when the process unmaps or discards them, the adapter keeps using the old ones.
//
// The only monitor here is userfaultfd with its events for unmapped, moved and removed memory. The kernel reports
// such changes, whoever makes them (free() and trimming inside the C library too), and the thread that makes one waits
// until the event has been read. It does not report MADV_GUARD_INSTALL (Linux 6.13), which drops pages, too
// (LIMITS.md). Alternatives, and why they are not used:
// - Hooks in malloc, interposed or patched munmap() miss calls inside the C library or system calls made directly, and
//   two libraries that patch the same function undo each other.
// - On-demand paging exists on few adapters; where it does it serves beside this (on_demand_paging.h).
// Ranges are registered in write-protect mode but never protected, so there are no page faults to serve, and system
// calls into watched memory work. An ordinary user may have such a descriptor since Linux 5.11; seccomp filters in
// containers may forbid it. The program's variables with values (.data) can be watched since 6.7; those without (.bss)
// and transparent huge pages are as ordinary memory.
// Memory that neighbours reach directly (shm/direct/) has another owner of its events, who tells of them in another log
// (AdapterMemory); what is moved there is handed over.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dataplane/base/memory_changes.h"
#include "nic/verbs/memory_kind.h"

namespace openlapi::verbs {

class MemoryMonitor {
 public:
  virtual ~MemoryMonitor() = default;

  virtual const MemoryChanges& changes() const = 0;

  // From now on changes() reports what happens to these pages, and to others of what is returned, as long as they are
  // mapped and until unwatch() of it; of what others follow AdapterMemory::changes() does. Empty: not possible (kinds
  // of memory of which the kernel does not tell all, memory_kind.h; memory that another library watches; memory that is
  // not mapped).
  virtual PageRange watch(std::uint64_t begin, std::uint64_t end) = 0;

  // Once for each watch(). Where nobody else watches this memory, and it was not unmapped meanwhile, the kernel makes
  // its mapping one with its neighbours again.
  virtual void unwatch(const PageRange& range) noexcept = 0;

  // False: another thread is changing watched memory, or has just done so, and it may not have been told yet. One
  // system call, or some where neighbours reach memory directly.
  virtual bool settled() = 0;
};

// The process's monitor: created for the first user, destroyed with the last. Null: `reason` says why.
std::shared_ptr<MemoryMonitor> process_memory_monitor(std::string& reason);

}  // namespace openlapi::verbs
