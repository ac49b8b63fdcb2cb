#include "shm/direct/address_table.h"

namespace openlapi::direct {

void AddressTable::publish(std::uint32_t number) {
  TableEntry& entry = header_.entries[number];
  entry.begin.store(ranges_[number].begin, std::memory_order_relaxed);
  entry.offset.store(ranges_[number].offset, std::memory_order_relaxed);
  entry.end.store(ranges_[number].end, std::memory_order_release);
}

bool AddressTable::has(std::uint64_t address) const { return has_all(address, address + 1); }

bool AddressTable::has_all(std::uint64_t begin, std::uint64_t end) const {
  for (std::uint32_t number = 0; number < count_; ++number) {
    const OpenRange& range = ranges_[number];
    if (begin >= range.begin && begin < range.end) return range.end >= end || has_all(range.end, end);
  }
  return false;
}

bool AddressTable::add(const OpenRange& range) {
  for (std::uint32_t number = 0; number < count_; ++number) {
    OpenRange& before = ranges_[number];
    if (before.end != range.begin || before.offset + (before.end - before.begin) != range.offset) continue;
    before.end = range.end;
    header_.entries[number].end.store(range.end, std::memory_order_release);
    header_.additions.fetch_add(1, std::memory_order_release);
    return true;
  }
  if (count_ == kMostEntries) return false;
  ranges_[count_] = range;
  publish(count_++);
  header_.count.store(count_, std::memory_order_release);
  header_.additions.fetch_add(1, std::memory_order_release);
  return true;
}

}  // namespace openlapi::direct
