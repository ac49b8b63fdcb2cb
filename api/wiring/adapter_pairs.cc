#include "api/wiring/adapter_pairs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "api/wiring/adapter_choice.h"

namespace openlapi {

namespace {

static_assert(sizeof(ChosenAdapter) == 20, "bytes in the order of the network, so it is its own encoding");

// Takes for each of the first ones the next of the second ones that suits it.
template <typename Suits>
void pair_up(std::vector<std::size_t>& first, std::vector<std::size_t>& second, std::vector<AdapterPair>& pairs,
             Suits suits) {
  std::erase_if(first, [&](std::size_t number) {
    const auto found = std::ranges::find_if(second, [&](std::size_t other) { return suits(number, other); });
    if (found == second.end()) return false;
    pairs.push_back({number, *found});
    second.erase(found);
    return true;
  });
}

// What tells nothing of its network may be on any.
bool tells_network(const ChosenAdapter& adapter) {
  return adapter.address.s_addr != 0 ||
         std::ranges::any_of(adapter.network, [](std::uint8_t byte) { return byte != 0; });
}

std::vector<std::size_t> numbers_of(std::span<const ChosenAdapter> adapters) {
  std::vector<std::size_t> numbers(adapters.size());
  for (std::size_t number = 0; number != numbers.size(); ++number) numbers[number] = number;
  return numbers;
}

}  // namespace

bool is_within(in_addr address, const ChosenAdapter& adapter) {
  return ((address.s_addr ^ adapter.address.s_addr) & adapter.mask.s_addr) == 0;
}

bool share_network(const ChosenAdapter& one, const ChosenAdapter& other) {
  return one.network == other.network && is_within(one.address, other) && is_within(other.address, one);
}

ChosenAdapter place_of_ipv4(const PeerAddress& address) {
  ChosenAdapter place{};
  std::memcpy(&place.address, address.bytes.data(), sizeof(place.address));
  return place;
}

std::size_t count_networks(std::span<const ChosenAdapter> adapters) {
  std::size_t networks = 0;
  for (std::size_t number = 0; number != adapters.size(); ++number) {
    const auto before = adapters.first(number);
    networks += std::ranges::none_of(before, [&](const auto& other) { return share_network(other, adapters[number]); });
  }
  return networks;
}

std::vector<std::byte> encode(std::span<const ChosenAdapter> adapters) {
  const std::span<const std::byte> bytes = std::as_bytes(adapters);
  return {bytes.begin(), bytes.end()};
}

bool decode(std::span<const std::byte> bytes, std::vector<ChosenAdapter>& adapters, std::string& reason) {
  if (bytes.empty() || bytes.size() % sizeof(ChosenAdapter) != 0 ||
      bytes.size() > kMostAdapters * sizeof(ChosenAdapter)) {
    reason = "the task published adapters of " + std::to_string(bytes.size()) + " bytes";
    return false;
  }
  adapters.resize(bytes.size() / sizeof(ChosenAdapter));
  std::memcpy(adapters.data(), bytes.data(), bytes.size());
  return true;
}

std::vector<AdapterPair> pair_adapters(std::span<const ChosenAdapter> here, std::span<const ChosenAdapter> there,
                                       bool lower, bool routed) {
  const std::span<const ChosenAdapter> first = lower ? here : there;
  const std::span<const ChosenAdapter> second = lower ? there : here;
  std::vector<std::size_t> of_first = numbers_of(first), of_second = numbers_of(second);
  std::vector<AdapterPair> pairs;
  pair_up(of_first, of_second, pairs, [&](std::size_t one, std::size_t other) {
    return tells_network(first[one]) && share_network(first[one], second[other]);
  });
  pair_up(of_first, of_second, pairs, [&](std::size_t one, std::size_t other) {
    return routed || !tells_network(first[one]) || !tells_network(second[other]);
  });
  if (!lower) {
    for (AdapterPair& pair : pairs) std::swap(pair.here, pair.there);
  }
  return pairs;
}

}  // namespace openlapi
