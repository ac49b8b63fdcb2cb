// Copies private memory of this process to a file, where other threads, and a debugger, may be at it. Does not
// allocate.
#pragma once

#include <cstdint>

#include "dataplane/base/file_descriptor.h"
#include "shm/direct/promotable.h"

namespace openlapi::direct {

// What the kernel says of each page.
class PageMap {
 public:
  // False: errno says why not.
  bool open();
  void close() { file_.reset(); }

  // What is not present may be swapped out, in a file, or nowhere: then it is zero. `anonymous`: it is in no file.
  // False: some of it could not be read or written.
  bool copy(const AddressRange& range, bool anonymous, int file, std::uint64_t offset) const;

  // Pages that are present or swapped out. Nothing is known: all.
  std::uint64_t count_pages(const AddressRange& range) const;

 private:
  template <typename Visit>
  bool each_run(const AddressRange& range, Visit visit) const;

  FileDescriptor file_;
};

}  // namespace openlapi::direct
