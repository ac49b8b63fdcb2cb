// How often neighbours have sent messages for something short in a unit of memory: what is asked for often is worth
// promoting. There are small units, for what is hot in itself, and large ones, for what is hot all over.
//
// A unit has a place in one set of a table, which is found by a hash: units at regular distances are not of one set. In
// a full set a unit that is new takes messages off the coldest one until that has none: what is hot stays, however many
// cold ones come by, and what was hot long ago goes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace openlapi::direct {

// Of units of 2^Bits bytes.
template <unsigned Bits>
class UnitDemand {
 public:
  // One more. True: it has `hot`, or twice as many, and so on: what was refused may be possible by then, and costs
  // little if not.
  bool grows(std::uint64_t address, std::uint64_t hot) {
    Place* const place = place_of(address);
    if (place == nullptr) return false;
    *place = (*place & kMessages) == kMessages ? unit_of(address) | hot : *place + 1;
    const std::uint64_t messages = *place & kMessages;
    return messages >= hot && std::has_single_bit(messages);
  }

  void forget(std::uint64_t address) {
    for (Place& place : sets_[set_of(address)]) {
      if (unit_of(place) == unit_of(address)) place = 0;
    }
  }

  void forget_all() {
    for (auto& set : sets_) set.fill(0);
  }

 private:
  using Place = std::uint64_t;  // where the unit begins, and in the bits below its messages; 0: free
  static constexpr std::uint64_t kUnit = std::uint64_t{1} << Bits, kMessages = (1 << 16) - 1;
  static constexpr unsigned kSetBits = 10;
  static constexpr std::size_t kPlaces = 8;  // of a set: a cache line

  static std::uint64_t unit_of(std::uint64_t address) { return address & ~(kUnit - 1); }
  static std::size_t set_of(std::uint64_t address) {
    return static_cast<std::size_t>((address >> Bits) * 0x9e3779b97f4a7c15 >> (64 - kSetBits));
  }

  // Null: other units of the set are hotter.
  Place* place_of(std::uint64_t address) {
    auto& set = sets_[set_of(address)];
    Place* coldest = set.data();
    for (Place& place : set) {
      if (place != 0 && unit_of(place) == unit_of(address)) return &place;
      if ((place & kMessages) < (*coldest & kMessages)) coldest = &place;
    }
    if ((*coldest & kMessages) > 1) {
      --*coldest;
      return nullptr;
    }
    *coldest = unit_of(address);
    return coldest;
  }

  alignas(64) std::array<std::array<Place, kPlaces>, std::size_t{1} << kSetBits> sets_{};
};

using ChunkDemand = UnitDemand<16>;

class Demand {
 public:
  static constexpr std::uint64_t kChunk = 64 << 10, kBlock = 2 << 20;
  // Messages. What is open sends none, so these of a block are for a quarter of its chunks at least, or for chunks that
  // are refused.
  static constexpr std::uint64_t kHot = 32, kHotAllOver = 256;

  static std::uint64_t chunk_of(std::uint64_t address) { return address & ~(kChunk - 1); }

  // One more. How much memory around it should be promoted now; 0: none.
  std::uint64_t grows(std::uint64_t address) {
    const bool chunk = chunks_.grows(address, kHot), block = blocks_.grows(address, kHotAllOver);
    return block ? kBlock : chunk ? kChunk : 0;
  }

  // That much has been opened. What comes by message all the same, for other reasons, makes it grow anew.
  void forget(std::uint64_t address, std::uint64_t opened) {
    if (opened == kBlock) blocks_.forget(address);
    chunks_.forget(address);
  }

  void forget_all() {
    chunks_.forget_all();
    blocks_.forget_all();
  }

 private:
  ChunkDemand chunks_;
  UnitDemand<21> blocks_;
};

}  // namespace openlapi::direct
