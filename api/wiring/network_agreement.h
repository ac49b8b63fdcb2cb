// Which network all tasks of a job take, where each takes its adapters of one alone (MP_EUIDEVICE=sn_single,
// MP_INSTANCES): nodes may have several, and on each another one may be down.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/wiring/adapter_choice.h"
#include "api/wiring/failure.h"
#include "api/wiring/networks.h"

namespace openlapi {

// What a node has, as one of its tasks publishes it.
struct NodeNetworks {
  std::vector<NetworkSize> networks;  // in the order of its choice; none: it has no adapter for this
  std::vector<std::uint32_t> tasks;   // that are on the node, ascending
};
// What does not fit is left out: of the networks those at the end, of the tasks likewise.
std::vector<std::byte> encode(const NodeNetworks& node);
// False: these bytes tell of no node of a job with so many tasks.
bool decode(std::span<const std::byte> bytes, std::uint32_t tasks, NodeNetworks& node);

// What a task takes its adapters of with one transport.
struct OfferedNetworks {
  std::string transport;
  std::vector<NetworkSize> networks = {};    // that the node has; none where it names its devices
  std::optional<ChosenAdapter> agreed = {};  // the answer: an adapter there; none: there is no such network
};

// Publishes what this node has, and exchanges, in a job over several nodes whose launcher can do that; elsewhere it
// does nothing. All tasks must call it for each context, whatever their own settings ask for: of a node one task tells,
// and all come to as many exchanges. False: see `failure`.
bool tell_networks(const NetworkRequest& request, std::span<const OfferedNetworks> offers, OpenFailure& failure);

// After that, for those that need the answer: asks one task of each node. It is the network of which the node that has
// fewest adapters has most, of those which all nodes have, as far as they have any; it is the same in all tasks. Task 0
// tells the user, if it needs one and there is none. Nobody is asked where nothing was told. False: see `failure`.
bool agree_on_networks(const NetworkRequest& request, std::span<OfferedNetworks> offers, OpenFailure& failure);

}  // namespace openlapi
