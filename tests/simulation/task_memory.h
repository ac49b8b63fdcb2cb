// The memory of one simulated task that others may write to: filled with a guard pattern, of which regions are cut out.
// It stays at the same addresses in all incarnations of the task, so that a write that was meant for a former
// incarnation is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/simulation/data_layout.h"

namespace openlapi::simulation {

class TaskMemory {
 public:
  TaskMemory(std::size_t bytes, std::uint64_t key);

  // A new incarnation: everything is guard pattern again, with another key.
  void renew();

  // A region with guards around it; an empty span when the memory is used up. Its bytes still have the guard pattern.
  std::span<std::byte> take(std::size_t bytes, std::size_t alignment = 1);
  // Of the region that was taken last only these bytes may be written; the others are guards.
  void open_only(const std::vector<DataRun>& runs);
  std::size_t left() const { return bytes_ - used_; }

  // Byte of the guard pattern at this address: what a byte of a region was before it was written.
  std::byte guard_at(const std::byte* address) const;

  // All bytes outside of regions are as they were; else says where not.
  bool guards_hold(std::string& where) const;

 private:
  struct Region {
    std::size_t begin, end;
  };

  std::size_t bytes_;
  std::uint64_t key_;
  std::size_t used_ = 0;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<Region> regions_;
};

}  // namespace openlapi::simulation
