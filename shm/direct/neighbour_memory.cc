#include "shm/direct/neighbour_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "shm/direct/heap/preloaded_heap.h"

namespace openlapi::direct {

NeighbourMemory::NeighbourMemory(ControlMemory control, std::uint32_t accessor)
    : control_(std::move(control)), entrance_(control_, accessor) {}

NeighbourMemory::~NeighbourMemory() { forget(); }

void NeighbourMemory::forget() {
  places_.fill(Place{});
  for (const auto& [begin, window] : windows_) munmap(window.bytes, window.size);
  windows_.clear();
}

bool NeighbourMemory::use_file(std::uint64_t number, FileDescriptor descriptor, std::string& error) {
  if (entrance_.is_inside()) {
    error = "an operation is under way";
    return false;
  }
  DirectFile file = DirectFile::attach(std::move(descriptor), error);
  if (!file.valid()) return false;
  forget();
  file_ = std::move(file);
  file_number_ = number;
  heap_size_ = std::min(control_.header().heap_size.load(), kHeapPlace);
  return true;
}

// Of the window that shows this place of the file.
std::uint64_t NeighbourMemory::window_size(std::uint64_t offset) const {
  return offset >= kHeapPlace && offset - kHeapPlace < heap_size_ ? kHeapWindow : kRegion;
}

// Null: it cannot be mapped.
std::byte* NeighbourMemory::window(std::uint64_t begin, std::uint64_t size) {
  if (const auto known = windows_.find(begin); known != windows_.end()) return known->second.bytes;
  if (windows_.size() == kMostWindows) {
    if (entrance_.is_inside()) return nullptr;
    forget();
  }
  void* const bytes =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.descriptor(), static_cast<off_t>(begin));
  if (bytes == MAP_FAILED) return nullptr;
  madvise(bytes, size, MADV_DONTFORK);
  madvise(bytes, size, MADV_DONTDUMP);
  windows_[begin] = {static_cast<std::byte*>(bytes), size};
  return static_cast<std::byte*>(bytes);
}

// What the table says of these bytes, as far as it can be. It is true if the generation is the same before and after.
bool NeighbourMemory::read_entry(std::uint64_t address, std::uint64_t length, std::uint64_t& begin, std::uint64_t& end,
                                 std::uint64_t& offset) const {
  const ControlHeader& header = control_.header();
  const std::uint64_t count = std::min<std::uint64_t>(header.count.load(std::memory_order_acquire), kMostEntries);
  for (std::uint64_t number = 0; number < count; ++number) {
    const TableEntry& entry = header.entries[number];
    end = entry.end.load(std::memory_order_acquire);
    begin = entry.begin.load(std::memory_order_relaxed);
    offset = entry.offset.load(std::memory_order_relaxed);
    if (address >= begin && address < end && length <= end - address) {
      return offset < kFileSize && end - begin <= kFileSize - offset;
    }
  }
  return false;
}

bool NeighbourMemory::learn(std::uint64_t address, std::uint64_t length) {
  // The generation first: what is read of the table after it is of it, or of one that never comes again.
  const std::atomic<std::uint64_t>& now = control_.header().generation;
  const std::uint64_t generation = now.load(std::memory_order_acquire);
  if (is_closed(generation) || length == 0 || needs_file()) return false;
  // The table is long: what is not there is looked for again only when something has been added.
  const std::uint64_t page = address >> kPageBits, additions = control_.header().additions.load();
  Missing& missing = missing_[page % kMissing];
  if (missing.generation == generation && missing.additions == additions && missing.page == page) return false;
  std::uint64_t begin = 0, end = 0, offset = 0;
  if (!read_entry(address, length, begin, end, offset)) {
    if ((address + length - 1) >> kPageBits == page) missing = {generation, additions, page};
    return false;
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  if (now.load(std::memory_order_relaxed) != generation) return false;
  // Of the range, what is in one window.
  const std::uint64_t at = offset + (address - begin), size = window_size(at), region = at / size * size;
  const std::uint64_t from = std::max(offset, region);
  const std::uint64_t to = std::min(offset + (end - begin), region + size);
  if (length > to - at) return false;
  std::byte* const bytes = window(region, size);
  if (bytes == nullptr) return false;
  places_[place_number(address)] = {generation, begin + (from - offset), to - from, bytes + (from - region)};
  return true;
}

}  // namespace openlapi::direct
