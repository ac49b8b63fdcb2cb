#include "api/wiring/adapter_choice.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace openlapi {

namespace {

// In the order of the addresses as people write them.
using Network = std::vector<std::uint32_t>;

std::uint32_t number_of(in_addr address) { return ntohl(address.s_addr); }

bool is_usable(const LocalAdapter& adapter) {
  return adapter.up && number_of(adapter.address) >> 24 != 127;
}

void take(const Network& network, int instances, std::vector<in_addr>& chosen) {
  for (const std::uint32_t address : network) {
    if (instances-- == 0 || chosen.size() == kMostAdapters) return;
    chosen.push_back({htonl(address)});
  }
}

}  // namespace

std::vector<in_addr> choose_adapters(const std::vector<LocalAdapter>& adapters, const AdapterRequest& request) {
  std::map<std::uint32_t, Network> networks;
  for (const LocalAdapter& adapter : adapters) {
    if (!is_usable(adapter)) continue;
    networks[number_of(adapter.address) & number_of(adapter.mask)].push_back(number_of(adapter.address));
  }
  const Network* largest = nullptr;
  for (auto& [subnet, network] : networks) {
    std::ranges::sort(network);
    if (largest == nullptr || network.size() > largest->size()) largest = &network;
  }
  std::vector<in_addr> chosen;
  if (request.all_networks) {
    for (const auto& [subnet, network] : networks) take(network, request.instances, chosen);
  } else if (largest != nullptr) {
    take(*largest, request.instances, chosen);
  }
  return chosen;
}

}  // namespace openlapi
