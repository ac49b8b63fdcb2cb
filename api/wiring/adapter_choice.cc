#include "api/wiring/adapter_choice.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace openlapi {

namespace {

// In the order of the addresses as people write them, one for each adapter.
using Network = std::vector<const LocalAdapter*>;
using PortsInUse = std::map<std::string, unsigned>;  // by card

std::uint32_t number_of(in_addr address) { return ntohl(address.s_addr); }

bool is_usable(const LocalAdapter& adapter) { return adapter.up && number_of(adapter.address) >> 24 != 127; }

// An adapter that is known by no card is one of its own.
std::string card_or_name(const LocalAdapter& adapter) {
  return adapter.card.empty() ? interface_of(adapter.name) : adapter.card;
}

// Of an adapter that has several addresses on a network the first one counts: another one would fail with it.
void add(const LocalAdapter& adapter, Network& network) {
  const bool known = std::ranges::any_of(
      network, [&](const LocalAdapter* other) { return interface_of(other->name) == interface_of(adapter.name); });
  if (!known) network.push_back(&adapter);
}

// In the order of their subnets.
std::vector<Network> networks_of(const std::vector<LocalAdapter>& adapters) {
  std::map<std::uint32_t, Network> found;
  for (const LocalAdapter& adapter : adapters) {
    if (is_usable(adapter)) add(adapter, found[number_of(adapter.address) & number_of(adapter.mask)]);
  }
  std::vector<Network> networks;
  for (auto& [subnet, network] : found) {
    std::ranges::sort(network, {}, [](const LocalAdapter* adapter) { return number_of(adapter->address); });
    networks.push_back(std::move(network));
  }
  return networks;
}

// One whose card has given the fewest.
ChosenAdapter take_from(Network& network, PortsInUse& ports) {
  const auto next =
      std::ranges::min_element(network, {}, [&](const LocalAdapter* adapter) { return ports[card_or_name(*adapter)]; });
  const LocalAdapter& adapter = **next;
  ++ports[card_or_name(adapter)];
  network.erase(next);
  return {adapter.address, adapter.mask};
}

}  // namespace

std::vector<ChosenAdapter> choose_adapters(const std::vector<LocalAdapter>& adapters, const AdapterRequest& request) {
  std::vector<Network> networks = networks_of(adapters);
  if (!request.all_networks && !networks.empty()) networks = {*std::ranges::max_element(networks, {}, &Network::size)};
  PortsInUse ports;
  std::vector<ChosenAdapter> chosen;
  for (std::size_t turn = 0; turn != kMostAdapters && turn != static_cast<std::size_t>(request.instances); ++turn) {
    for (Network& network : networks) {
      if (!network.empty() && chosen.size() != kMostAdapters) chosen.push_back(take_from(network, ports));
    }
  }
  return chosen;
}

}  // namespace openlapi
