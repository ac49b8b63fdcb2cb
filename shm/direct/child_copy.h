// A copy of promoted memory for the child of a fork. It is made where the memory cannot become private, because an
// accessor is stopped in the middle of an operation on it: the parent and the accessor go on with what they have.
//
// What other threads and accessors store between the copy and the fork the child does not have, as if they had been
// slower. Nothing here allocates.
#pragma once

#include <cstdint>

#include "shm/direct/direct_file.h"
#include "shm/direct/promotable.h"

namespace openlapi::direct {

class ChildCopy {
 public:
  // Of all that is mapped of the file. False: there is no memory for it.
  bool make(const DirectFile& file, const MappingList& mappings);
  bool is_made() const { return room_.end != 0; }

  // In the child, which has nothing at these addresses (MADV_DONTFORK): puts the memory there.
  void put_in_place();
  // In the parent.
  void discard();

 private:
  struct Part {
    std::uint64_t begin, length;
    int rights;
  };
  bool fill(const DirectFile& file, const MappingList& mappings, std::uint64_t parts);
  Part* list() const;

  AddressRange room_{};  // the list of parts, and from bytes_ on what is in them
  std::uint64_t bytes_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace openlapi::direct
