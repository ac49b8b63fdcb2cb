// After how many packets a peer is asked for a connection. Through one, real adapters should be quicker from the first
// packet on (they acknowledge and order, and short packets fit one 64-byte request), so it pays soon; UCX asks after
// about as many. On soft-RoCE it has to make up for what the kernel takes to set queue pairs up. A peer whose
// connection would take another one's place, or has failed, has to be sent more everywhere: a task that sends some
// packets to each of many in turn would do nothing but connect.
#pragma once

#include <cstdint>

namespace openlapi::verbs {

struct Asking {
  std::uint32_t first = 0;  // packets
  std::uint32_t again = 0;  // after a failure, and in front of the first one while there are as many as there may be
};

inline constexpr Asking kAskingOfAdapters{.first = 32, .again = 1024};
inline constexpr Asking kAskingOfSoftware{.first = 1024, .again = 1024};

// After so many more, which fit into its slots, a ring is asked for behind a connection (ring_to_peer.h): it takes a
// place among few at the peer, who looks at it in every poll.
constexpr std::uint32_t ring_after(const Asking& asking) { return 8 * asking.first; }

// `wanted`: packets; 0: nobody has said.
constexpr Asking asking_of(std::uint32_t wanted, bool software) {
  if (wanted != 0) return {wanted, wanted};
  return software ? kAskingOfSoftware : kAskingOfAdapters;
}

}  // namespace openlapi::verbs
