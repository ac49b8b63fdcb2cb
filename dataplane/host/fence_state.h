// Fences and collectives as those who wait for them see them.
#pragma once

#include <cstdint>

namespace openlapi {

// A fence in progress; owned by the caller and used with the endpoint that began it.
struct FenceTicket {
  std::uint64_t number = 0;
  std::uint64_t last_request = 0;  // gets and read-modify-writes up to this serial number belong to the fence
};

enum class FenceState : std::uint8_t { pending, done, peer_lost, peer_purged };

// `filled`: an exchange has all values and waits for confirm_exchange().
enum class CollectiveState : std::uint8_t { pending, filled, done, peer_lost, peer_purged };

}  // namespace openlapi
