// Takes pages away from private memory under running threads, unless somebody has pinned some of them: the kernel looks
// at each (UFFDIO_MOVE, Linux 6.8). So nobody need know who has pinned what.
#pragma once

#include "shm/direct/promotable.h"
#include "shm/direct/userfault.h"

namespace openlapi::direct {

class PageRoom {
 public:
  // `room`: as long as a chunk, for nothing else, and never promoted. `fault` outlives it.
  PageRoom(const Userfault& fault, const AddressRange& room) : fault_(fault), room_(room) {}

  // False: the kernel cannot do it.
  bool open();
  bool is_open() const { return open_; }

  // Pages that are shared with a child, or swapped out, cannot be taken: before the range is watched.
  static void make_own(const AddressRange& range);

  // Takes the pages of a range that is watched in all (Userfault::watch_all()): whoever touches it from now on waits.
  // They are where pages_of() says. False: some cannot be taken, and all are where they were.
  bool take(const AddressRange& range);
  AddressRange pages_of(const AddressRange& range) const {
    return {room_.begin, room_.begin + (range.end - range.begin)};
  }
  // Then one of these: back to the range, but for what of it is not watched any more; or away.
  void give_back(const AddressRange& range);
  void clear();

 private:
  const Userfault& fault_;
  const AddressRange room_;
  bool open_ = false;
};

}  // namespace openlapi::direct
