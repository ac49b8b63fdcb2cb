// The memory of a task that one who lies may name, and what the task hands out to that one's messages. Nobody may write
// beside either.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>

#include "tests/support/guarded_bytes.h"

namespace openlapi::simulation {

class LieArena {
 public:
  // Of what one record names: more than is read of another's memory in one step.
  static constexpr std::uint64_t kLongest = 1200 * 1024;

  std::uint64_t place(std::uint64_t wanted, std::uint64_t length) {
    return reinterpret_cast<std::uintptr_t>(bytes_.data()) + wanted % (bytes_.size() - length);
  }
  std::uint64_t counter(std::uint64_t wanted) { return (place(wanted, 16) + 8) & ~std::uint64_t{7}; }

  // For a message to it; null: it has had enough.
  std::byte* buffer_of(std::uint64_t length) {
    if (length > kLongest || handed_out_ + length > kMostHandedOut) return nullptr;
    handed_out_ += length;
    return buffers_.emplace_back(static_cast<std::size_t>(length)).data();
  }
  // For an operation of the task's own.
  GuardedBytes& own(std::size_t length) { return buffers_.emplace_back(length); }

  bool intact() const {
    return bytes_.intact() && std::all_of(buffers_.begin(), buffers_.end(), [](const auto& b) { return b.intact(); });
  }

 private:
  static constexpr std::uint64_t kMostHandedOut = 4 * 1024 * 1024;
  GuardedBytes bytes_{2 * kLongest};
  std::list<GuardedBytes> buffers_;
  std::uint64_t handed_out_ = 0;
};

}  // namespace openlapi::simulation
