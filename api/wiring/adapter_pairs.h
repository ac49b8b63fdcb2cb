// Which adapter of another task is the other end of the path from one of this task's, where the library has chosen the
// adapters: nodes need not have the same ones, and some may be down when a task begins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/transport/transport.h"
#include "nic/udp/udp_adapters.h"

namespace openlapi {

struct ChosenAdapter {
  in_addr address;
  in_addr mask;                               // of its network
  std::array<std::uint8_t, 12> network = {};  // what else tells its network apart (ModuleDevice)
};

// Whether the address is on the adapter's network.
bool is_within(in_addr address, const ChosenAdapter& adapter);

// Whether both are on one network, as far as each tells.
bool share_network(const ChosenAdapter& one, const ChosenAdapter& other);
// What a transport's address tells that begins with an IPv4 address.
ChosenAdapter place_of_ipv4(const PeerAddress& address);

// How a task tells the others where its adapters are, in the order of their numbers.
std::vector<std::byte> encode(std::span<const ChosenAdapter> adapters);
// False: these bytes tell of none, or of more than a task opens.
bool decode(std::span<const std::byte> bytes, std::vector<ChosenAdapter>& adapters, std::string& reason);

// Networks on which these are.
std::size_t count_networks(std::span<const ChosenAdapter> adapters);

struct AdapterPair {
  std::size_t here, there;  // their numbers
};

// Adapters of one network first, in the order in which the task with the lower number has them; then, as networks may
// be connected by routers, those that are left in their order. Both tasks find the same pairs. `lower`: this task has
// the lower number. Without `routed` those that are left are paired only where one of them may be on any network.
std::vector<AdapterPair> pair_adapters(std::span<const ChosenAdapter> here, std::span<const ChosenAdapter> there,
                                       bool lower, bool routed = true);

}  // namespace openlapi
