// After how many packets a peer is asked for a connection. Through one, real adapters should be quicker from the first
// packet on (they acknowledge and order, and short packets fit one 64-byte request), so it pays soon; UCX asks after
// about as many. On soft-RoCE it has to make up for what the kernel takes to set queue pairs up. A peer whose
// connection would take another one's place, or has failed, has to be sent more everywhere: a task that sends some
// packets to each of many in turn would do nothing but connect.
#pragma once

#include <algorithm>
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

// Of one peer, whose packets, or gets, are counted. It is asked again while it does not answer, and seldom once that
// was in vain.
struct AskingState {
  static constexpr std::uint32_t kAskAgain = 32;       // packets
  static constexpr std::uint32_t kAskAtMost = 16;      // times
  static constexpr std::uint16_t kMostDoublings = 10;  // of the packets before it is asked again

  static AskingState of_stranger(const Asking& asking) {
    return {.until_asking = asking.first, .may_displace = asking.first >= asking.again};
  }

  // There is no room for a connection to it, or there is none any more.
  void stay_without(const Asking& asking) {
    until_asking = rest(asking);
    may_displace = true;
  }
  // After twice as many packets as the last time.
  void ask_later(const Asking& asking) {
    until_asking = rest(asking) << failures;
    failures = std::min<std::uint16_t>(failures + 1u, kMostDoublings);
  }

  static std::uint32_t rest(const Asking& asking) { return std::max(asking.again, kAskAgain); }

  std::uint32_t until_asking = 0;  // packets
  std::uint16_t failures = 0;      // in a row
  bool may_displace = false;       // another peer's connection
};

}  // namespace openlapi::verbs
