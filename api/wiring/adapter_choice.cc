#include "api/wiring/adapter_choice.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace openlapi {

namespace {

// In the order of the addresses as people write them, one for each adapter.
using Network = std::vector<const LocalAdapter*>;
using PortsInUse = std::map<std::string, unsigned>;  // by card

std::uint32_t number_of(in_addr address) { return ntohl(address.s_addr); }

bool is_usable(const LocalAdapter& adapter) { return adapter.up && number_of(adapter.address) >> 24 != 127; }

// An adapter that is known by no card is one of its own.
const std::string& card_or_name(const LocalAdapter& adapter) {
  return adapter.card.empty() ? adapter.name : adapter.card;
}

void add(const LocalAdapter& adapter, Network& network) {
  const auto same = std::ranges::find(network, adapter.name, &LocalAdapter::name);
  if (same == network.end()) {
    network.push_back(&adapter);
  } else if (number_of(adapter.address) < number_of((*same)->address)) {
    *same = &adapter;
  }
}

void take(Network network, int instances, PortsInUse& ports, std::vector<ChosenAdapter>& chosen) {
  while (instances-- != 0 && !network.empty() && chosen.size() != kMostAdapters) {
    const auto next = std::ranges::min_element(
        network, {}, [&](const LocalAdapter* adapter) { return ports[card_or_name(*adapter)]; });
    ++ports[card_or_name(**next)];
    chosen.push_back({(*next)->address, (*next)->mask});
    network.erase(next);
  }
}

}  // namespace

std::vector<ChosenAdapter> choose_adapters(const std::vector<LocalAdapter>& adapters, const AdapterRequest& request) {
  std::map<std::uint32_t, Network> networks;
  for (const LocalAdapter& adapter : adapters) {
    if (is_usable(adapter)) add(adapter, networks[number_of(adapter.address) & number_of(adapter.mask)]);
  }
  const Network* largest = nullptr;
  for (auto& [subnet, network] : networks) {
    std::ranges::sort(network, {}, [](const LocalAdapter* adapter) { return number_of(adapter->address); });
    if (largest == nullptr || network.size() > largest->size()) largest = &network;
  }
  PortsInUse ports;
  std::vector<ChosenAdapter> chosen;
  if (request.all_networks) {
    for (const auto& [subnet, network] : networks) take(network, request.instances, ports, chosen);
  } else if (largest != nullptr) {
    take(*largest, request.instances, ports, chosen);
  }
  return chosen;
}

}  // namespace openlapi
