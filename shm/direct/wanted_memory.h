// What an operation wants of a neighbour's memory: one range, or several. All of it is found before any of it is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/transport/direct_memory.h"
#include "shm/direct/neighbour_memory.h"

namespace openlapi::direct {

class WantedRange {
 public:
  WantedRange(std::uint64_t address, std::uint64_t length) : range_{address, length} {}

  // In a visit, until whose end bytes() are valid. False: not found.
  bool find(const NeighbourMemory& memory, const Entrance::Visit& visit) {
    bytes_ = memory.find(visit, range_.address, range_.length);
    return bytes_ != nullptr;
  }
  // Not in a visit, when find() has failed. False: it will fail again.
  bool learn(NeighbourMemory& memory) { return memory.learn(range_.address, range_.length); }

  std::byte* bytes() const { return bytes_; }

 private:
  const MemoryRange range_;
  std::byte* bytes_ = nullptr;
};

class WantedPieces {
 public:
  // At most DirectMemory::kMostPieces, which outlive it.
  explicit WantedPieces(DirectMemory::Pieces pieces) : pieces_(pieces) {}

  bool find(const NeighbourMemory& memory, const Entrance::Visit& visit) {
    for (found_ = 0; found_ < pieces_.size(); ++found_) {
      const MemoryRange& piece = pieces_[found_];
      bytes_[found_] = memory.find(visit, piece.address, piece.length);
      if (bytes_[found_] == nullptr) return false;
    }
    return true;
  }
  // All that is missing, as a visit for each would take long.
  bool learn(NeighbourMemory& memory) {
    std::uint64_t learned = UINT64_MAX;
    for (const MemoryRange& piece : pieces_.subspan(found_)) {
      const std::uint64_t chunk = NeighbourMemory::chunk_of(piece.address);
      if (chunk != learned && !memory.learn(piece.address, piece.length)) return false;
      learned = chunk;
    }
    return true;
  }

  // Calls act(bytes, length) for each.
  template <typename Act>
  void for_each(Act act) const {
    for (std::size_t number = 0; number < pieces_.size(); ++number) act(bytes_[number], pieces_[number].length);
  }
  std::uint64_t total() const {
    std::uint64_t total = 0;
    for (const MemoryRange& piece : pieces_) total += piece.length;
    return total;
  }

 private:
  const DirectMemory::Pieces pieces_;
  std::size_t found_ = 0;  // as many as the latest find() has found
  std::array<std::byte*, DirectMemory::kMostPieces> bytes_;
};

}  // namespace openlapi::direct
