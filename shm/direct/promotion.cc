#include "shm/direct/promotion.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "dataplane/base/process_maps.h"
#include "shm/direct/mapping_in_place.h"

namespace openlapi::direct {
namespace {

constexpr std::uint64_t kChunk = 64 << 10;
constexpr std::uint64_t kWriteProtectUnpopulated = 1 << 13;  // UFFD_FEATURE_WP_UNPOPULATED, since Linux 6.4
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;   // of pagemap

// Not by pwrite(): sanitizers that the program was built with would look at what is poisoned in its memory.
bool write_whole(int file, std::uint64_t from, std::uint64_t length, std::uint64_t offset) {
  while (length > 0) {
    const long count = syscall(SYS_pwrite64, file, from, length, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    const auto written = static_cast<std::uint64_t>(count);
    from += written, offset += written, length -= written;
  }
  return true;
}

// One page. It is read by the kernel, for the program may unmap it at any time.
bool write_unless_zero(int file, std::uint64_t from, std::uint64_t offset) {
  alignas(8) std::array<char, shm::kPage> page;
  const iovec here = {page.data(), page.size()}, there = {pointer_to(from), page.size()};
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(page.size())) return false;
  const bool is_zero = page[0] == 0 && std::memcmp(page.data(), page.data() + 1, page.size() - 1) == 0;
  return is_zero || write_whole(file, reinterpret_cast<std::uintptr_t>(page.data()), page.size(), offset);
}

}  // namespace

Promoter::Promoter(DirectFile& file, AddressTable& table, Gate& gate, const ProcessView& process,
                   const Userfault& events)
    : file_(file), table_(table), gate_(gate), process_(process), events_(events) {}

bool Promoter::start(std::string& reason) {
  page_map_.reset(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!page_map_.is_open()) {
    reason = std::string("/proc/self/pagemap cannot be read: ") + std::strerror(errno);
    return false;
  }
  fault_ = Userfault::open(UFFD_FEATURE_PAGEFAULT_FLAG_WP | kWriteProtectUnpopulated, reason);
  return fault_.is_open();
}

// What is not present may be swapped out, in the file of before a fork, or nowhere: then it is zero on both sides.
bool Promoter::copy(const AddressRange& range, std::uint64_t offset) const {
  std::array<std::uint64_t, 64> states;
  for (std::uint64_t at = range.begin; at < range.end;) {
    const std::uint64_t pages = std::min<std::uint64_t>((range.end - at) / shm::kPage, states.size());
    const ssize_t wanted = static_cast<ssize_t>(pages * sizeof states[0]);
    const auto place = static_cast<off_t>(at / shm::kPage * sizeof states[0]);
    if (pread(page_map_.get(), states.data(), static_cast<std::size_t>(wanted), place) != wanted) return false;
    for (std::uint64_t page = 0; page < pages;) {
      const std::uint64_t from = at + page * shm::kPage, to = offset + (from - range.begin);
      std::uint64_t present = 0;
      while (page + present < pages && (states[page + present] & kPresent) != 0) ++present;
      if (present == 0) {
        if (!write_unless_zero(file_.descriptor(), from, to)) return false;
      } else if (!write_whole(file_.descriptor(), from, present * shm::kPage, to)) {
        return false;
      }
      page += std::max<std::uint64_t>(present, 1);
    }
    at += pages * shm::kPage;
  }
  return true;
}

// Whether exactly this is mapped there.
bool Promoter::is_at(const AddressRange& range, std::uint64_t offset) const {
  AddressRange mapped{};
  std::uint64_t mapped_offset = 0;
  return find_in_file(range.begin, mapped, mapped_offset) && mapped.end >= range.end &&
         mapped_offset + (range.begin - mapped.begin) == offset;
}

bool Promoter::find_in_file(std::uint64_t address, AddressRange& range, std::uint64_t& offset) const {
  struct stat status {};
  if (fstat(file_.descriptor(), &status) != 0) return false;
  bool found = false;
  process_.mappings.each([&](const Mapping& mapping) {
    if (mapping.end <= address) return true;
    found =
        mapping.begin <= address && mapping.shared && mapping.inode == status.st_ino && mapping.device == status.st_dev;
    range = {mapping.begin, mapping.end};
    offset = mapping.offset;
    return false;
  });
  return found;
}

// The last look at whether it is still the memory that was protected is one call before it is replaced.
Refusal Promoter::replace(const AddressRange& range, std::uint64_t offset) {
  if (!copy(range, offset)) return Refusal::kSystem;
  if (!fault_.protect(range.begin, range.end)) return Refusal::kChanged;
  const bool mapped = map_in_place(range, PROT_READ | PROT_WRITE, MAP_SHARED, file_.descriptor(), offset);
  return mapped ? Refusal::kNone : Refusal::kSystem;
}

// What has changed before it is watched makes no event: so it is looked at afterwards, and nobody takes an event's
// range out of the table in between.
Refusal Promoter::publish(const AddressRange& range, std::uint64_t offset) {
  madvise(pointer_to(range.begin), range.end - range.begin, MADV_DONTFORK);
  if (range.end - range.begin >= kRegion) madvise(pointer_to(range.begin), range.end - range.begin, MADV_HUGEPAGE);
  const auto lock = table_.lock();
  if (!events_.watch(range.begin, range.end)) return Refusal::kSystem;
  if (!is_at(range, offset)) return Refusal::kChanged;
  return table_.add({range.begin, range.end, offset}) ? Refusal::kNone : Refusal::kNoRoom;
}

Refusal Promoter::move_to_file(const AddressRange& range) {
  const std::uint64_t offset = file_.place(range.begin, range.end);
  if (offset == 0) return Refusal::kNoRoom;
  if (!fault_.watch(range.begin, range.end)) return Refusal::kSystem;
  const bool is_protected = fault_.protect(range.begin, range.end);
  const Refusal refusal = is_protected ? replace(range, offset) : Refusal::kSystem;
  if (refusal != Refusal::kNone) fault_.unwatch(range.begin, range.end);
  fault_.wake(range.begin, range.end);
  return refusal != Refusal::kNone ? refusal : publish(range, offset);
}

// Before anything is moved: what is in the file and not in the table is of no use, and costs mappings.
bool Promoter::has_room() {
  const auto lock = table_.lock();
  return table_.has_room();
}

Refusal Promoter::promote(std::uint64_t address) {
  AddressRange range{};
  std::uint64_t offset = 0;
  if (!file_.valid()) return Refusal::kSystem;
  if (find_in_file(address, range, offset)) {
    // It is open, or was moved by mremap(): then it has lost its entries, but is still watched.
    {
      const auto lock = table_.lock();
      if (table_.has(address)) return Refusal::kNone;
    }
    gate_.shut();
    {
      const auto lock = table_.lock();
      table_.drop(range.begin, range.end, [](std::uint64_t, std::uint64_t) {});
    }
    gate_.open();
    return publish(range, offset);
  }
  if (!has_room()) return Refusal::kNoRoom;
  Refusal refusal = Refusal::kNone;
  const std::optional<AddressRange> found = promotable_range(address, kChunk, process_, refusal);
  return found ? move_to_file(*found) : refusal;
}

Refusal Promoter::promote_data_segment() {
  struct stat program {};
  if (stat("/proc/self/exe", &program) != 0) return Refusal::kSystem;
  std::array<AddressRange, 4> segments;
  std::size_t count = 0;
  process_.mappings.each([&](const Mapping& mapping) {
    const bool is_data = mapping.readable && mapping.writable && !mapping.executable && !mapping.shared &&
                         mapping.inode == program.st_ino && mapping.device == program.st_dev;
    if (is_data && count < segments.size()) segments[count++] = {mapping.begin, mapping.end};
    return true;
  });
  if (count == 0) return Refusal::kNotMapped;
  for (std::size_t number = 0; number < count; ++number) {
    const AddressRange& segment = segments[number];
    const std::uint64_t offset = file_.place(segment.begin, segment.end);
    if (offset == 0) return Refusal::kNoRoom;
    if (!write_whole(file_.descriptor(), segment.begin, segment.end - segment.begin, offset) ||
        !map_in_place(segment, PROT_READ | PROT_WRITE, MAP_SHARED, file_.descriptor(), offset)) {
      return Refusal::kSystem;
    }
    if (const Refusal refusal = publish(segment, offset); refusal != Refusal::kNone) return refusal;
  }
  return Refusal::kNone;
}

}  // namespace openlapi::direct
