#include "shm/direct/change_monitor.h"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "shm/direct/mapping_in_place.h"

namespace openlapi::direct {
namespace {

// What the file has of these bytes, to memory that is zero. Not by pread(): sanitizers would look at that memory.
bool read_bytes(int file, std::uint64_t offset, std::uint64_t length, std::uint64_t to) {
  const std::uint64_t end = offset + length;
  for (std::uint64_t at = offset; at < end;) {
    const off_t data = lseek(file, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 || static_cast<std::uint64_t>(data) >= end) return data >= 0 || errno == ENXIO;
    at = static_cast<std::uint64_t>(data);
    const off_t hole = lseek(file, data, SEEK_HOLE);
    const std::uint64_t data_end = hole < 0 ? end : std::min(end, static_cast<std::uint64_t>(hole));
    while (at < data_end) {
      const long count = syscall(SYS_pread64, file, to + (at - offset), data_end - at, at);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      at += static_cast<std::uint64_t>(count);
    }
  }
  return true;
}

}  // namespace

bool ChangeMonitor::start(const AddressRange& stack, std::string& reason) {
  events_ =
      Userfault::open(UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_PAGEFAULT_FLAG_WP, reason);
  if (!events_.is_open()) return false;
  stop_.reset(eventfd(0, EFD_CLOEXEC));
  const auto body = [](void* self) -> void* {
    static_cast<ChangeMonitor*>(self)->run();
    return nullptr;
  };
  if (stop_.is_open() && thread_.start(stack, "lapi-changes", body, this)) return true;
  reason = std::string("no thread to read what happens to memory: ") + std::strerror(errno);
  return false;
}

void ChangeMonitor::stop() {
  if (stop_.is_open()) eventfd_write(stop_.get(), 1);
  thread_.join();
}

void ChangeMonitor::close() {
  events_.close();
  stop_.reset();
}

void ChangeMonitor::run() {
  pollfd ready[] = {{events_.descriptor(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    if (poll(ready, 2, -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    means_.gate.shut();
    read_events();
    means_.gate.open();
  }
}

// The table is locked before the thread that waits is let go: it may map other memory at the same addresses at once,
// and have it promoted.
void ChangeMonitor::read_events() {
  const auto lock = means_.table.lock();
  uffd_msg event;
  while (read(events_.descriptor(), &event, sizeof event) == static_cast<ssize_t>(sizeof event)) {
    if (event.event == UFFD_EVENT_UNMAP) {
      take_unmapped(event.arg.remove.start, event.arg.remove.end);
    } else if (event.event == UFFD_EVENT_REMAP) {
      take_moved(event.arg.remap.from, event.arg.remap.to, event.arg.remap.len);
    }
  }
}

// By the kernel's list, in the order of addresses. The program break is no mapping that mremap() makes longer.
ChangeMonitor::Surroundings ChangeMonitor::look_around(std::uint64_t begin, std::uint64_t end) const {
  struct stat status {};
  Surroundings found;
  if (fstat(means_.file.descriptor(), &status) != 0) return found;
  means_.mappings.each([&](const Mapping& mapping) {
    const bool is_ours = mapping.shared && mapping.inode == status.st_ino && mapping.device == status.st_dev;
    if (mapping.end == begin || mapping.contains(begin)) {
      found.life_below = is_ours ? mapping.offset / FilePlaces::kAddresses : UINT64_MAX;
    }
    const std::uint64_t place = mapping.offset % FilePlaces::kAddresses;  // another one than its address if it moves
    if (is_ours && place >= end) found.next = std::min(found.next, place);
    return true;
  });
  const std::uint64_t program_break = reinterpret_cast<std::uintptr_t>(sbrk(0));
  if ((program_break + shm::kPage - 1) / shm::kPage * shm::kPage == begin) found.life_below = UINT64_MAX;
  return found;
}

// The bytes are given back, but for those that the mapping below has, or has again, as soon as it grows (mremap): the
// program may have written there, since its thread goes on. They are given back with that mapping. What the table does
// not have is what mappings have grown by; most often it is no memory of the file at all.
void ChangeMonitor::take_unmapped(std::uint64_t begin, std::uint64_t end) {
  const Surroundings around = look_around(begin, end);
  std::uint64_t known = 0, latest = around.life_below;
  const auto discard_in = [&](std::uint64_t life) {
    if (life == latest || life == around.life_below) return;
    means_.file.discard(life * FilePlaces::kAddresses + begin, around.next - begin);
    latest = life;
  };
  means_.table.drop(begin, end, [&](std::uint64_t offset, std::uint64_t length) {
    means_.places.give_up(offset, length);
    const std::uint64_t life = offset / FilePlaces::kAddresses;
    if (!some_is_elsewhere_) {
      discard_in(life);
    } else if (life != around.life_below) {
      means_.file.discard(offset, length);
    }
    known += length;
  });
  const AddressRange moved = std::exchange(moved_away_, {});
  if (known == end - begin || (known == 0 && moved.begin == begin && moved.end == end)) return;
  const bool is_any = (known == 0 && around.life_below == UINT64_MAX) || means_.table.has_lost_some();
  means_.places.give_up_all(begin, end, [&](std::uint64_t life) {
    if (is_any && !some_is_elsewhere_) discard_in(life);
  });
}

void ChangeMonitor::take_moved(std::uint64_t from, std::uint64_t to, std::uint64_t length) {
  means_.table.drop(from, from + length,
                    [&](std::uint64_t offset, std::uint64_t bytes) { means_.places.give_up(offset, bytes); });
  means_.table.drop(to, to + length, [](std::uint64_t, std::uint64_t) {});
  const std::optional<Moved> moved = find_moved(from, to, length);
  if (!moved) return;
  if (!moved->is_left_behind && make_private(*moved)) {
    moved_away_ = {from, from + length};
  } else {
    some_is_elsewhere_ = true;
    cover_end(*moved);
  }
}

// With what it has grown by meanwhile. There it shows what is behind it in the file, which is its own only if that has
// been moved, too (by another thread, whose event comes next).
std::optional<ChangeMonitor::Moved> ChangeMonitor::find_moved(std::uint64_t from, std::uint64_t to,
                                                              std::uint64_t length) const {
  std::optional<Moved> found;
  each_mapping_of(means_.file.descriptor(), means_.mappings, [&](const Mapping& mapping) {
    if (!mapping.contains(to)) return;
    found = Moved{{to, mapping.end}, rights_of(mapping), mapping.offset + (to - mapping.begin), mapping.end - to};
  });
  if (!found) return found;
  each_mapping_of(means_.file.descriptor(), means_.mappings, [&](const Mapping& mapping) {
    const auto stays = [&](std::uint64_t address) {
      return mapping.end > address && mapping.offset - mapping.begin == found->offset - from;
    };
    found->is_left_behind |= stays(from) && mapping.begin <= from;
    const std::uint64_t behind = std::max(mapping.begin, from + length);
    if (stays(behind)) found->bytes = std::min(found->bytes, behind - from);
  });
  return found;
}

// Of what stays in the file: what it has grown by is anonymous.
void ChangeMonitor::cover_end(const Moved& moved) {
  const std::uint64_t begin = moved.range.begin + moved.bytes, end = moved.range.end;
  if (begin == end) return;
  events_.unwatch(begin, end);
  syscall(SYS_mmap, begin, end - begin, moved.rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

// It gets anonymous memory in one step. Nobody uses it before its thread goes on. False: it stays as it is.
bool ChangeMonitor::make_private(const Moved& moved) {
  const auto& [begin, end] = moved.range;
  const std::uint64_t length = end - begin;
  if (!events_.unwatch(begin, end)) return false;  // or else it would wait for itself below
  const long fresh = syscall(SYS_mmap, 0, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == -1) return false;
  if (!read_bytes(means_.file.descriptor(), moved.offset, moved.bytes, static_cast<std::uint64_t>(fresh)) ||
      syscall(SYS_mremap, fresh, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, begin) == -1) {
    syscall(SYS_munmap, fresh, length);
    return false;
  }
  if (moved.rights != (PROT_READ | PROT_WRITE)) mprotect(pointer_to(begin), length, moved.rights);
  means_.places.give_up(moved.offset, moved.bytes);
  means_.file.discard(moved.offset, moved.bytes);
  return true;
}

}  // namespace openlapi::direct
