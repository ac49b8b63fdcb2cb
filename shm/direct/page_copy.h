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
  // At most so many pages are copied. False: there are more, or some could not be read or written.
  bool copy(const AddressRange& range, bool anonymous, int file, std::uint64_t offset, std::uint64_t& pages) const;

 private:
  template <typename Visit>
  bool each_run(const AddressRange& range, Visit visit) const;

  FileDescriptor file_;
};

}  // namespace openlapi::direct
