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
  // The same, and for moving pages where the kernel can do that.
  static Userfault open_moving(std::uint64_t features, std::string& reason);

  bool is_open() const { return descriptor_.is_open(); }
  int descriptor() const { return descriptor_.get(); }
  // Whether it stops what system calls write, too. An ordinary user's does not: they fail (EFAULT).
  bool stops_system_calls() const { return stops_system_calls_; }
  bool moves_pages() const { return moves_pages_; }

  // Each of whole pages that are mapped. False: errno says why.
  bool watch(std::uint64_t begin, std::uint64_t end) const;
  bool unwatch(std::uint64_t begin, std::uint64_t end) const;
  // The same, and whoever touches pages there that are not present waits.
  bool watch_all(std::uint64_t begin, std::uint64_t end) const;
  // What is watched: whoever writes there waits from now on. Fails if some of it is not watched any more.
  bool protect(std::uint64_t begin, std::uint64_t end) const;
  // Whether all of it is watched. Nothing of it is protected any more.
  bool is_watched(std::uint64_t begin, std::uint64_t end) const;
  // Pages of `from` to where none are, and where all is watched. How many bytes, holes among them; or -1: errno says
  // why, EBUSY: a page is pinned, or shared with a child.
  std::int64_t move(std::uint64_t from, std::uint64_t to, std::uint64_t length) const;
  // False: a thread is unmapping or moving what is watched, and its event has not been read, or only just.
  bool settled() const;
  // Who waits there tries again.
  void wake(std::uint64_t begin, std::uint64_t end) const;

  void close() { descriptor_.reset(); }

 private:
  static Userfault open_any(std::string& reason);
  bool agree_on(std::uint64_t features) const;
  bool register_pages(std::uint64_t begin, std::uint64_t end, std::uint64_t mode) const;
  bool change_protection(std::uint64_t begin, std::uint64_t end, std::uint64_t mode) const;

  FileDescriptor descriptor_;
  bool stops_system_calls_ = false;
  bool moves_pages_ = false;
};

}  // namespace openlapi::direct
