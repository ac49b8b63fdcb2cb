// How often neighbours have sent messages for something short in a chunk of memory: what is asked for often is worth
// promoting.
//
// A chunk has a place in one set of the table, which is found by a hash: chunks at regular distances are not of one
// set. In a full set a chunk that is new takes messages off the coldest one until that has none: what is hot stays,
// however many cold chunks come by, and what was hot long ago goes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace openlapi::direct {

class Demand {
 public:
  static constexpr std::uint32_t kHot = 32;  // messages

  // One more. True: the chunk should be promoted now. It says so again after twice as many: what was refused may be
  // possible by then, and costs little if not.
  bool grows(std::uint64_t address) {
    Place* const place = place_of(address);
    if (place == nullptr) return false;
    *place = (*place & kMessages) == kMessages ? chunk_of(address) | kHot : *place + 1;
    const std::uint64_t messages = *place & kMessages;
    return messages >= kHot && std::has_single_bit(messages);
  }

  // The chunk has been opened. What comes by message all the same, for other reasons, makes it grow anew.
  void forget(std::uint64_t address) {
    for (Place& place : sets_[set_of(address)]) {
      if (chunk_of(place) == chunk_of(address)) place = 0;
    }
  }

  void forget_all() {
    for (auto& set : sets_) set.fill(0);
  }

  static std::uint64_t chunk_of(std::uint64_t address) { return address & ~kMessages; }

 private:
  using Place = std::uint64_t;                // where the chunk begins, and in the bits below its messages; 0: free
  static constexpr unsigned kChunkBits = 16;  // what is promoted at once
  static constexpr std::uint64_t kMessages = (std::uint64_t{1} << kChunkBits) - 1;
  static constexpr unsigned kSetBits = 10;
  static constexpr std::size_t kPlaces = 8;  // of a set: a cache line

  static std::size_t set_of(std::uint64_t address) {
    return static_cast<std::size_t>((address >> kChunkBits) * 0x9e3779b97f4a7c15 >> (64 - kSetBits));
  }

  // Null: other chunks of the set are hotter.
  Place* place_of(std::uint64_t address) {
    auto& set = sets_[set_of(address)];
    Place* coldest = set.data();
    for (Place& place : set) {
      if (place != 0 && chunk_of(place) == chunk_of(address)) return &place;
      if ((place & kMessages) < (*coldest & kMessages)) coldest = &place;
    }
    if ((*coldest & kMessages) > 1) {
      --*coldest;
      return nullptr;
    }
    *coldest = chunk_of(address);
    return coldest;
  }

  alignas(64) std::array<std::array<Place, kPlaces>, std::size_t{1} << kSetBits> sets_{};
};

}  // namespace openlapi::direct
