// Which of the peers' other ends a datagram has come from. It tells by the address that it has been sent from: the
// queue pair, and the GID in the route header or, within a subnet of InfiniBand, the LID.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "nic/verbs/verbs_address.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

class DatagramOrigins {
 public:
  // As in PacketOrigins; never 0. `own`: the address here.
  static std::uint64_t number_of(const Address& own, const Address& end);

  void add(std::uint64_t number) { numbers_.insert(number); }
  void remove(std::uint64_t number) { numbers_.erase(number); }

  // 0: none of them. `route_header`: 40 bytes.
  std::uint64_t find(const Address& own, const ibv_wc& arrival, const std::byte* route_header) const {
    return numbers_.empty() ? 0 : find_known(own, arrival, route_header);
  }

 private:
  std::uint64_t find_known(const Address& own, const ibv_wc& arrival, const std::byte* route_header) const;

  std::unordered_set<std::uint64_t> numbers_{};
};

}  // namespace openlapi::verbs
