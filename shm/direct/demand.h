// How often neighbours have sent messages for something short in a chunk of memory: what is asked for often is worth
// promoting. Chunks that fall on one place of the table push each other out, so only what is hot stays.
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
    const std::uint64_t chunk = address >> kChunkBits;
    Place& place = places_[chunk % kPlaces];
    if (place.chunk != chunk) place = {chunk, 0};
    ++place.messages;
    return place.messages >= kHot && std::has_single_bit(place.messages);
  }

 private:
  struct Place {
    std::uint64_t chunk = 0;
    std::uint64_t messages = 0;
  };
  static constexpr unsigned kChunkBits = 16;  // what is promoted at once
  static constexpr std::size_t kPlaces = 1024;

  std::array<Place, kPlaces> places_;
};

}  // namespace openlapi::direct
