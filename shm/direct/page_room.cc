#include "shm/direct/page_room.h"

#include <sched.h>
#include <sys/mman.h>

#include <cerrno>

#include "shm/direct/mapping_in_place.h"
#include "shm/segment_layout.h"

namespace openlapi::direct {
namespace {

constexpr int kMoveTries = 100;  // each may take a part

}  // namespace

bool PageRoom::open() {
  open_ = fault_.moves_pages() && fault_.watch_all(room_.begin, room_.end);
  return open_;
}

void PageRoom::make_own(const AddressRange& range) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, since Linux 5.14
  const std::uint64_t length = range.end - range.begin;
  while (madvise(pointer_to(range.begin), length, kPopulateWrite) != 0 && (errno == EINTR || errno == EAGAIN)) continue;
}

// A huge page of which some is pinned cannot be divided, which the kernel calls EAGAIN, too.
bool PageRoom::take(const AddressRange& range) {
  const std::uint64_t length = range.end - range.begin;
  std::uint64_t moved = 0;
  for (int tries = 0; moved < length && tries < kMoveTries; ++tries) {
    const std::int64_t count = fault_.move(range.begin + moved, room_.begin + moved, length - moved);
    if (count > 0) moved += static_cast<std::uint64_t>(count);
    if (count < 0 && errno != EAGAIN) break;
    if (count < 0) sched_yield();
  }
  if (moved == length) return true;
  give_back({range.begin, range.begin + moved});
  return false;
}

// Page by page: the program may have unmapped some. Nobody else has these.
void PageRoom::give_back(const AddressRange& range) {
  for (std::uint64_t at = 0; at < range.end - range.begin; at += shm::kPage) {
    while (fault_.move(room_.begin + at, range.begin + at, shm::kPage) < 0 && (errno == EAGAIN || errno == EBUSY)) {
      sched_yield();
    }
  }
  clear();
}

void PageRoom::clear() { madvise(pointer_to(room_.begin), room_.end - room_.begin, MADV_DONTNEED); }

}  // namespace openlapi::direct
