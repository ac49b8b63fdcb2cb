// The memory file that an owner's open memory lies in. It is sparse and larger than any address space will be. Its size
// is sealed: nobody can take pages away from under those who map it, and every place can be mapped before it is used.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/file_descriptor.h"
#include "shm/direct/file_size.h"

namespace openlapi::direct {

// The size of windows. Addresses and places are the same modulo this, so that both sides can have huge pages.
inline constexpr std::uint64_t kRegion = 2u << 20;
// What lies behind a place is kept free, for the program may let a mapping grow (mremap).
inline constexpr std::uint64_t kPlaceSpacing = std::uint64_t{1} << 36;

class DirectFile {
 public:
  // The owner's.
  static DirectFile create(std::string& error);
  // The owner's, made before, in which the next place is that one. It takes a descriptor of its own.
  static DirectFile adopt(int descriptor, std::uint64_t next_place, std::string& error);
  // A neighbour's: takes the descriptor and checks size and seals.
  static DirectFile attach(FileDescriptor file, std::string& error);

  bool valid() const { return file_.is_open(); }
  int descriptor() const { return file_.get(); }

  // The owner's: a place for the mapping [begin, end), which no other mapping gets: stale windows never show bytes that
  // are another one's. The offset of `begin`. Zero: the file is used up, or the mapping is too long.
  std::uint64_t place(std::uint64_t begin, std::uint64_t end);
  std::uint64_t next_place() const { return next_; }

  // Gives bytes back to the system. They read as zero from now on.
  void discard(std::uint64_t offset, std::uint64_t length) const;

 private:
  FileDescriptor file_;
  std::uint64_t next_ = kPlaceSpacing;
};

}  // namespace openlapi::direct
