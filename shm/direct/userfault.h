// userfaultfd(2): what keeps threads from writing into memory while it is promoted, and what tells when promoted memory
// is unmapped or moved.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::direct {

class Userfault {
 public:
  Userfault() = default;

  // For `features` (UFFD_FEATURE_*). Not open: `reason` says why.
  static Userfault open(std::uint64_t features, std::string& reason);

  bool is_open() const { return descriptor_.is_open(); }
  int descriptor() const { return descriptor_.get(); }
  // Whether it stops what system calls write, too. An ordinary user's does not: they fail (EFAULT).
  bool stops_system_calls() const { return stops_system_calls_; }

  // Each of whole pages that are mapped. False: errno says why.
  bool watch(std::uint64_t begin, std::uint64_t end) const;
  bool unwatch(std::uint64_t begin, std::uint64_t end) const;
  // What is watched: whoever writes there waits from now on. Fails if some of it is not watched any more.
  bool protect(std::uint64_t begin, std::uint64_t end) const;
  // False: a thread is unmapping or moving what is watched, and its event has not been read, or only just.
  bool settled() const;
  // Who waits there tries again.
  void wake(std::uint64_t begin, std::uint64_t end) const;

  void close() { descriptor_.reset(); }

 private:
  FileDescriptor descriptor_;
  bool stops_system_calls_ = false;
};

}  // namespace openlapi::direct
