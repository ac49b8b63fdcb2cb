// The table of what neighbours can reach, as its owner keeps it. Neighbours read a copy in the control memory, which
// they could also spoil; the owner goes by its own.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "shm/direct/control_memory.h"

namespace openlapi::direct {

struct OpenRange {
  std::uint64_t begin, end;
  std::uint64_t offset;  // of `begin` in the owner's file

  bool operator==(const OpenRange&) const = default;
};

// Any thread. Whoever has locked it must neither change the process's mappings nor wait for one who does.
class AddressTable {
 public:
  // `header` outlives it.
  explicit AddressTable(ControlHeader& header) : header_(header) {}

  // Also for the time between a look at the mappings and what is made of it.
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  // With the lock. What continues the end of a range is joined with it. False: the table is full.
  bool add(const OpenRange& range);
  // With the lock and the gate closed: nothing of [begin, end) is open any more. calls `dropped(offset, length)` for
  // what was.
  template <typename Dropped>
  void drop(std::uint64_t begin, std::uint64_t end, Dropped dropped);

  // With the lock.
  bool has(std::uint64_t address) const;
  // Whether all of it is open.
  bool has_all(std::uint64_t begin, std::uint64_t end) const;
  std::uint32_t size() const { return count_; }
  // Whether a range that continues no other one can be added.
  bool has_room() const { return count_ < kMostEntries; }
  const OpenRange& operator[](std::uint32_t number) const { return ranges_[number]; }

 private:
  void publish(std::uint32_t number);

  ControlHeader& header_;
  std::mutex mutex_;
  std::uint32_t count_ = 0;
  std::array<OpenRange, kMostEntries> ranges_;
};

// Of one range, what is before and what is after the hole stay. A full table loses what is after it.
template <typename Dropped>
void AddressTable::drop(std::uint64_t begin, std::uint64_t end, Dropped dropped) {
  std::uint32_t kept = 0;
  OpenRange behind{};
  for (std::uint32_t next = 0; next < count_; ++next) {
    const OpenRange range = ranges_[next];
    const std::uint64_t from = range.begin > begin ? range.begin : begin, to = range.end < end ? range.end : end;
    if (from >= to) {
      ranges_[kept++] = range;
      continue;
    }
    dropped(range.offset + (from - range.begin), to - from);
    const OpenRange after = {to, range.end, range.offset + (to - range.begin)};
    if (range.begin < from) {
      ranges_[kept++] = {range.begin, from, range.offset};
      if (to < range.end) behind = after;  // of one range only: they do not overlap
    } else if (to < range.end) {
      ranges_[kept++] = after;
    }
  }
  count_ = kept;
  if (behind.end != 0 && count_ < kMostEntries) ranges_[count_++] = behind;
  for (std::uint32_t number = 0; number < count_; ++number) publish(number);
  header_.count.store(count_, std::memory_order_release);
}

}  // namespace openlapi::direct
