#include "shm/direct/child_copy.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "shm/direct/mapping_in_place.h"
#include "shm/segment_layout.h"

namespace openlapi::direct {
namespace {

// Not by pread(): sanitizers that the program was built with would look at memory that is nobody's.
bool read_whole(int file, std::uint64_t offset, std::uint64_t length, std::uint64_t to) {
  while (length > 0) {
    const long count = syscall(SYS_pread64, file, to, length, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    const auto got = static_cast<std::uint64_t>(count);
    offset += got, to += got, length -= got;
  }
  return true;
}

// Fresh memory is zero, and so is what the file has no bytes for.
bool copy_bytes_of(int file, std::uint64_t begin, std::uint64_t end, std::uint64_t to) {
  for (std::uint64_t at = begin; at < end;) {
    const off_t data = lseek(file, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0) return errno == ENXIO;
    const auto from = static_cast<std::uint64_t>(data);
    if (from >= end) return true;
    const off_t hole = lseek(file, data, SEEK_HOLE);
    if (hole < 0) return false;
    at = std::min(static_cast<std::uint64_t>(hole), end);
    if (!read_whole(file, from, at - from, to + (from - begin))) return false;
  }
  return true;
}

}  // namespace

ChildCopy::Part* ChildCopy::list() const { return static_cast<Part*>(pointer_to(room_.begin)); }

bool ChildCopy::make(const DirectFile& file, const MappingList& mappings) {
  std::uint64_t parts = 0, bytes = 0;
  const bool listed = each_mapping_of(file.descriptor(), mappings, [&](const Mapping& mapping) {
    ++parts;
    bytes += mapping.end - mapping.begin;
  });
  const std::uint64_t list_bytes = (parts * sizeof(Part) / shm::kPage + 1) * shm::kPage;
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const room = listed ? mmap(nullptr, list_bytes + bytes, PROT_READ | PROT_WRITE, kind, -1, 0) : MAP_FAILED;
  if (room == MAP_FAILED) return false;
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(room);
  room_ = {begin, begin + list_bytes + bytes};
  bytes_ = begin + list_bytes;
  count_ = 0;
  if (fill(file, mappings, parts)) return true;
  discard();
  return false;
}

// Another thread may have changed the mappings since they were counted.
bool ChildCopy::fill(const DirectFile& file, const MappingList& mappings, std::uint64_t parts) {
  std::uint64_t to = bytes_;
  bool all = true;
  const bool listed = each_mapping_of(file.descriptor(), mappings, [&](const Mapping& mapping) {
    const std::uint64_t length = mapping.end - mapping.begin;
    all = all && count_ < parts && length <= room_.end - to &&
          copy_bytes_of(file.descriptor(), mapping.offset, mapping.offset + length, to);
    if (!all) return;
    list()[count_++] = {mapping.begin, length, rights_of(mapping)};
    to += length;
  });
  return listed && all;
}

void ChildCopy::put_in_place() {
  std::uint64_t from = bytes_;
  for (std::uint64_t number = 0; number < count_; ++number) {
    const Part& part = list()[number];
    mremap(pointer_to(from), part.length, part.length, MREMAP_MAYMOVE | MREMAP_FIXED, pointer_to(part.begin));
    if (part.rights != (PROT_READ | PROT_WRITE)) mprotect(pointer_to(part.begin), part.length, part.rights);
    from += part.length;
  }
  munmap(list(), bytes_ - room_.begin);
}

void ChildCopy::discard() {
  const AddressRange room = std::exchange(room_, {});
  munmap(pointer_to(room.begin), room.end - room.begin);
}

}  // namespace openlapi::direct
