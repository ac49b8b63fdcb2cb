// Which place in the owner's file the memory at an address gets: one that depends on the address alone, so that
// neighbours in memory are neighbours in the file, one mapping to the kernel and one entry of the table.
//
// No place is given out twice: an accessor that is late stores into bytes that nobody has. The file is as long as many
// address spaces one behind the other; what was given up in one of them gets its next place in the one behind it.
// That is counted for regions, and regions at a great distance share a count, which costs no more than neighbours that
// are not joined.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "shm/direct/direct_file.h"

namespace openlapi::direct {

// Used with the lock of the table. It allocates nothing: the thread that waits for its user may be in the allocator.
class FilePlaces {
 public:
  static constexpr unsigned kAddressBits = 48;
  static constexpr std::uint64_t kAddresses = std::uint64_t{1} << kAddressBits;
  static constexpr std::uint64_t kLives = kFileSize >> kAddressBits;

  // A place for [begin, end), of which nothing is in the file: the offset of `begin`. Nothing: the file has no more.
  std::optional<std::uint64_t> take(std::uint64_t begin, std::uint64_t end) {
    if (end > kAddresses) return std::nullopt;
    std::uint64_t life = 0;
    each_region(begin, end, [&](std::uint16_t& next) { life = std::max<std::uint64_t>(life, next); });
    if (life >= kLives) return std::nullopt;
    each_region(begin, end, [&](std::uint16_t& next) { next = static_cast<std::uint16_t>(life); });
    lives_ = std::max(lives_, life + 1);
    return life * kAddresses + begin;
  }

  // Nobody gets these bytes of the file again.
  void give_up(std::uint64_t offset, std::uint64_t length) {
    give_up(offset % kAddresses, offset % kAddresses + length, offset / kAddresses + 1);
  }

  // The same for all places that these addresses may have had. Calls visit(life) for each.
  template <typename Visit>
  void give_up_all(std::uint64_t begin, std::uint64_t end, Visit visit) {
    for (std::uint64_t life = 0; life < lives_; ++life) visit(life);
    give_up(begin, end, lives_);
  }

 private:
  static constexpr std::uint64_t kRegions = 8192;

  template <typename Visit>
  void each_region(std::uint64_t begin, std::uint64_t end, Visit visit) {
    const std::uint64_t first = begin / kRegion;
    const std::uint64_t regions = std::min((end - 1) / kRegion - first + 1, kRegions);
    for (std::uint64_t number = 0; number < regions; ++number) visit(next_[(first + number) % kRegions]);
  }
  void give_up(std::uint64_t begin, std::uint64_t end, std::uint64_t next_life) {
    each_region(begin, end, [&](std::uint16_t& next) {
      next = static_cast<std::uint16_t>(std::max<std::uint64_t>(next, next_life));
    });
  }

  std::uint64_t lives_ = 0;                     // that some region has had
  std::array<std::uint16_t, kRegions> next_{};  // by region: the address space that is still free
};

static_assert(FilePlaces::kLives <= UINT16_MAX);

}  // namespace openlapi::direct
