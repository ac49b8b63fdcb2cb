#include "shm/direct/address_table.h"

namespace openlapi::direct {

void AddressTable::publish(std::uint32_t number) {
  TableEntry& entry = header_.entries[number];
  entry.begin.store(ranges_[number].begin, std::memory_order_relaxed);
  entry.distance.store(ranges_[number].offset - ranges_[number].begin, std::memory_order_relaxed);
  entry.end.store(ranges_[number].end, std::memory_order_release);
}

bool AddressTable::has(std::uint64_t address) const {
  for (std::uint32_t number = 0; number < count_; ++number) {
    if (address >= ranges_[number].begin && address < ranges_[number].end) return true;
  }
  return false;
}

AddressTable::Touching AddressTable::touching(const OpenRange& range) {
  Touching found;
  for (std::uint32_t number = 0; number < count_; ++number) {
    OpenRange& other = ranges_[number];
    if (other.begin == other.end || other.offset - other.begin != range.offset - range.begin) continue;
    if (other.end == range.begin) found.before = &other;
    if (other.begin == range.end) found.after = &other;
  }
  return found;
}

bool AddressTable::has_room_for(const OpenRange& range) {
  const Touching touched = touching(range);
  return touched.before != nullptr || touched.after != nullptr || count_ < kMostEntries;
}

// What neighbours still read in an entry that has become a part of another one is true as long as the generation is.
bool AddressTable::add(const OpenRange& range) {
  const Touching touched = touching(range);
  if (touched.before != nullptr) {
    OpenRange& grown = *touched.before;
    grown.end = touched.after != nullptr ? touched.after->end : range.end;
    entry_of(grown).end.store(grown.end, std::memory_order_release);
    if (touched.after != nullptr) {
      *touched.after = {};
      ++joined_;
    }
  } else if (touched.after != nullptr) {
    OpenRange& grown = *touched.after;
    grown = {range.begin, grown.end, range.offset};
    entry_of(grown).begin.store(grown.begin, std::memory_order_release);
  } else {
    has_lost_some_ |= count_ == kMostEntries;
    if (count_ == kMostEntries) return false;
    ranges_[count_] = range;
    publish(count_++);
    header_.count.store(count_, std::memory_order_release);
  }
  header_.additions.fetch_add(1, std::memory_order_release);
  return true;
}

}  // namespace openlapi::direct
