// What a receive asks for, and the ways in which a message can be asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "api/rpi/include/lam_mpi.h"

namespace openlapi::rpi {

// A context, a rank or MPI_ANY_SOURCE, a tag or MPI_ANY_TAG. Of a message there are no wildcards.
struct Wanted {
  std::int32_t context = 0, rank = MPI_ANY_SOURCE, tag = MPI_ANY_TAG;

  bool takes(const Wanted& message) const {
    return context == message.context && (rank == MPI_ANY_SOURCE || rank == message.rank) &&
           (tag == MPI_ANY_TAG || tag == message.tag);
  }
  bool operator==(const Wanted&) const = default;
};

struct WantedHash {
  std::size_t operator()(const Wanted& wanted) const {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;  // the golden ratio: spreads neighbouring numbers
    std::uint64_t mixed = 0;
    for (const std::int32_t part : {wanted.context, wanted.rank, wanted.tag}) {
      mixed = (mixed ^ static_cast<std::uint32_t>(part)) * kSpread;
      mixed ^= mixed >> 32;
    }
    return static_cast<std::size_t>(mixed);
  }
};

// The most exact first.
inline constexpr std::size_t kWaysToAsk = 4;
inline std::array<Wanted, kWaysToAsk> ways_to_ask_for(const Wanted& message) {
  const auto [context, rank, tag] = message;
  return {message, {context, rank}, {context, MPI_ANY_SOURCE, tag}, {context}};
}

}  // namespace openlapi::rpi
