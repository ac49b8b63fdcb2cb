#include "shm/direct/promotion.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/base/process_maps.h"
#include "shm/direct/mapping_in_place.h"

namespace openlapi::direct {
namespace {

constexpr std::uint64_t kWriteProtectUnpopulated = 1 << 13;  // UFFD_FEATURE_WP_UNPOPULATED, since Linux 6.4
// LAPI_Init may take 3 ms longer for static data: so many pages of them are copied, at about a microsecond each.
constexpr std::uint64_t kMostDataPages = 1024;

}  // namespace

Promoter::Promoter(DirectFile& file, AddressTable& table, Gate& gate, const ProcessView& process,
                   const Userfault& events)
    : file_(file), table_(table), gate_(gate), process_(process), events_(events), room_(fault_, process.room) {}

bool Promoter::start(std::string& reason) {
  if (!page_map_.open()) {
    reason = std::string("/proc/self/pagemap cannot be read: ") + std::strerror(errno);
    return false;
  }
  fault_ = Userfault::open_moving(UFFD_FEATURE_PAGEFAULT_FLAG_WP | kWriteProtectUnpopulated, reason);
  room_.open();
  return fault_.is_open();
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

bool Promoter::map_file(const AddressRange& range, std::uint64_t offset) {
  return map_in_place(range, PROT_READ | PROT_WRITE, MAP_SHARED, file_.descriptor(), offset);
}

// The last look at whether it is still the memory that was protected is one call before it is replaced.
Refusal Promoter::replace_protected(const AddressRange& range, std::uint64_t offset) {
  std::uint64_t pages = (range.end - range.begin) / shm::kPage;
  if (!fault_.protect(range.begin, range.end)) return Refusal::kSystem;
  if (!page_map_.copy(range, false, file_.descriptor(), offset, pages)) return Refusal::kSystem;
  if (!fault_.protect(range.begin, range.end)) return Refusal::kChanged;
  return map_file(range, offset) ? Refusal::kNone : Refusal::kSystem;
}

// Likewise.
Refusal Promoter::replace_taken(const AddressRange& range, std::uint64_t offset) {
  std::uint64_t pages = (range.end - range.begin) / shm::kPage;
  if (!room_.take(range)) return Refusal::kPinned;
  Refusal refusal = Refusal::kSystem;
  if (page_map_.copy(room_.pages_of(range), true, file_.descriptor(), offset, pages)) {
    const bool is_same = fault_.is_watched(range.begin, range.end);
    if (is_same && map_file(range, offset)) return room_.clear(), Refusal::kNone;
    if (!is_same) refusal = Refusal::kChanged;
  }
  room_.give_back(range);
  return refusal;
}

// What has changed before it is watched makes no event: so it is looked at afterwards, and nobody takes an event's
// range out of the table in between.
Refusal Promoter::publish(const AddressRange& range, std::uint64_t offset) {
  madvise(pointer_to(range.begin), range.end - range.begin, MADV_DONTFORK);
  if (range.end - range.begin >= kRegion) madvise(pointer_to(range.begin), range.end - range.begin, MADV_HUGEPAGE);
  const auto lock = table_.lock();
  if (events_.is_open() && !events_.watch(range.begin, range.end)) return Refusal::kSystem;
  if (!is_at(range, offset)) return Refusal::kChanged;
  return table_.add({range.begin, range.end, offset}) ? Refusal::kNone : Refusal::kNoRoom;
}

// No transfer by an adapter begins meanwhile, and nobody watches the memory for one before its events are read here.
Refusal Promoter::move(const AddressRange& range, std::uint64_t offset) {
  AdapterMemory::Change change(adapters_);
  const bool knows_all = change.knows_all(pinned_bytes());
  if (change.is_used(range.begin, range.end) || (!knows_all && !room_.is_open())) return Refusal::kPinned;
  if (!knows_all) PageRoom::make_own(range);
  change.take(range.begin, range.end);
  const bool watched = knows_all ? fault_.watch(range.begin, range.end) : fault_.watch_all(range.begin, range.end);
  if (!watched) return Refusal::kSystem;
  const Refusal refusal = knows_all ? replace_protected(range, offset) : replace_taken(range, offset);
  if (refusal != Refusal::kNone) fault_.unwatch(range.begin, range.end);
  fault_.wake(range.begin, range.end);
  return refusal != Refusal::kNone ? refusal : publish(range, offset);
}

Refusal Promoter::move_to_file(const AddressRange& range) {
  const std::uint64_t offset = file_.place(range.begin, range.end);
  return offset != 0 ? move(range, offset) : Refusal::kNoRoom;
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

Refusal Promoter::move_data(const DataMapping& data, std::uint64_t offset, std::uint64_t& pages) {
  const AddressRange& range = data.range;
  const std::uint64_t most = pages;
  AdapterMemory::Change change(adapters_);
  if (change.is_used(range.begin, range.end) || !change.knows_all(pinned_bytes())) return Refusal::kPinned;
  change.take(range.begin, range.end);  // before it is copied: the log may lie in it
  if (!page_map_.copy(range, data.anonymous, file_.descriptor(), offset, pages)) {
    file_.discard(offset, range.end - range.begin);
    pages = most;
    return Refusal::kTooMuch;
  }
  return map_file(range, offset) ? publish(range, offset) : Refusal::kSystem;
}

Refusal Promoter::open_data(const DataMapping& data, std::uint64_t& pages) {
  const AddressRange& range = data.range;
  if (is_locked(range)) return Refusal::kLocked;
  if (!has_room()) return Refusal::kNoRoom;
  const std::uint64_t offset = file_.place(range.begin, range.end);
  return offset != 0 ? move_data(data, offset, pages) : Refusal::kNoRoom;
}

// A segment's mappings are of the program's file, and behind it of no file, until they have been promoted once.
std::vector<Promoter::DataMapping> Promoter::data_mappings(const std::vector<AddressRange>& segments) const {
  std::vector<DataMapping> all;
  process_.mappings.each([&](const Mapping& mapping) {
    if (!mapping.readable || !mapping.writable || mapping.executable || mapping.shared) return true;
    for (const AddressRange& segment : segments) {
      const AddressRange range{std::max(mapping.begin, segment.begin), std::min(mapping.end, segment.end)};
      if (range.begin < range.end) all.push_back({range, mapping.inode == 0});
    }
    return true;
  });
  return all;
}

Refusal Promoter::promote_data_segments(const std::vector<AddressRange>& segments) {
  if (!page_map_.open()) return Refusal::kSystem;
  Refusal first = Refusal::kNone;
  std::uint64_t pages = kMostDataPages;
  for (const DataMapping& data : data_mappings(segments)) {
    const Refusal refusal = open_data(data, pages);
    if (first == Refusal::kNone) first = refusal;
  }
  return first;
}

}  // namespace openlapi::direct
