#include "shm/direct/neighbour_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

namespace openlapi::direct {

namespace {

// Addresses for one neighbour. Most of them are the program's where it may have only so many (ulimit -v).
std::uint64_t most_mapped(std::uint64_t neighbours) {
  constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 40, kProgramsShare = 8;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const std::uint64_t share = limit.rlim_cur / kProgramsShare / neighbours;
  return std::clamp(share, 4 * NeighbourMemory::kSmallestWindow, kUnlimited);
}

}  // namespace

NeighbourMemory::NeighbourMemory(ControlMemory control, std::uint32_t accessor, std::uint64_t window_size)
    : control_(std::move(control)),
      entrance_(control_, accessor),
      most_mapped_(most_mapped(std::max<std::uint64_t>(control_.accessors(), 1))),
      window_size_(std::clamp(std::bit_floor(most_mapped_ / 4), kSmallestWindow, window_size)) {}

NeighbourMemory::~NeighbourMemory() { forget(); }

void NeighbourMemory::forget() {
  places_.fill(Place{});
  for (const auto& [number, bytes] : windows_) munmap(bytes, window_size_);
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
  return true;
}

// Null: it cannot be mapped, or not of this size: then they are smaller next time.
std::byte* NeighbourMemory::window(std::uint64_t number) {
  if (const auto known = windows_.find(number); known != windows_.end()) return known->second;
  if (is_full()) {
    if (entrance_.is_inside()) return nullptr;
    forget();
  }
  void* const bytes = mmap(nullptr, window_size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.descriptor(),
                           static_cast<off_t>(number * window_size_));
  if (bytes == MAP_FAILED) {
    if (errno == ENOMEM && window_size_ > kSmallestWindow && !entrance_.is_inside()) {
      forget();
      window_size_ /= 2;
    }
    return nullptr;
  }
  madvise(bytes, window_size_, MADV_DONTFORK);
  madvise(bytes, window_size_, MADV_DONTDUMP);
  return windows_[number] = static_cast<std::byte*>(bytes);
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
    offset = begin + entry.distance.load(std::memory_order_relaxed);
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
  const std::uint64_t at = offset + (address - begin);
  std::byte* bytes = nullptr;
  for (std::uint64_t size = 0; bytes == nullptr && size != window_size_;) {
    size = window_size_;
    bytes = window(at / size);
  }
  if (bytes == nullptr) return false;
  const std::uint64_t window_begin = at / window_size_ * window_size_;
  const std::uint64_t from = std::max(offset, window_begin);
  const std::uint64_t to = std::min(offset + (end - begin), window_begin + window_size_);
  if (length > to - at) return false;
  places_[place_number(address)] = {generation, begin + (from - offset), to - from, bytes + (from - window_begin)};
  return true;
}

}  // namespace openlapi::direct
