#include "api/wiring/adapter_choice.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "api/wiring/info_level.h"

namespace openlapi {

namespace {

using Network = std::vector<std::size_t>;            // numbers of candidates
using PortsInUse = std::map<std::string, unsigned>;  // by card

std::uint32_t number_of(in_addr address) { return ntohl(address.s_addr); }

bool is_usable(const LocalAdapter& adapter) { return adapter.up && number_of(adapter.address) >> 24 != 127; }

// An adapter that is known by no card is one of its own.
std::string card_or_name(const LocalAdapter& adapter) {
  return adapter.card.empty() ? interface_of(adapter.name) : adapter.card;
}

auto subnet_of(const ChosenAdapter& place) {
  return std::pair(place.network, number_of(place.address) & number_of(place.mask));
}

class AdapterChoice {
 public:
  AdapterChoice(const std::vector<AdapterCandidate>& candidates, const AdapterRequest& request)
      : candidates_(candidates), request_(request) {}

  std::vector<NetworkSize> networks() {
    find_networks();
    std::vector<NetworkSize> sizes;
    for (const Network& network : networks_) sizes.push_back({candidates_[network.front()].place, network.size()});
    return sizes;
  }

  std::size_t wanted() {
    find_networks();
    choose_networks();
    const auto earlier = static_cast<std::size_t>(request_.earlier);
    std::size_t count = 0;
    for (const Network& network : networks_) {
      const std::size_t left = network.size() - std::min(network.size(), earlier);
      count += std::min(left, static_cast<std::size_t>(request_.instances));
    }
    return count;
  }

  std::vector<std::size_t> make() {
    find_networks();
    choose_networks();
    const auto turns = static_cast<std::size_t>(request_.earlier) + static_cast<std::size_t>(request_.instances);
    std::vector<std::size_t> chosen;
    for (std::size_t turn = 0; turn != turns && chosen.size() != kMostAdapters; ++turn) {
      for (Network& network : networks_) {
        if (network.empty() || chosen.size() == kMostAdapters) continue;
        const std::size_t taken = take_from(network);
        if (turn >= static_cast<std::size_t>(request_.earlier)) chosen.push_back(taken);
      }
    }
    return chosen;
  }

 private:
  // Another address of an adapter on a network would fail with the first.
  void find_networks() {
    for (std::size_t number = 0; number != candidates_.size(); ++number) {
      const AdapterCandidate& candidate = candidates_[number];
      Network& network = network_of(candidate.place);
      const auto known = [&](std::size_t other) { return candidates_[other].device == candidate.device; };
      if (std::ranges::none_of(network, known)) network.push_back(number);
    }
    for (Network& network : networks_) {
      std::ranges::stable_sort(network, {},
                               [&](std::size_t number) { return number_of(candidates_[number].place.address); });
    }
  }

  void choose_networks() {
    if (request_.all_networks || networks_.empty()) return;
    if (request_.network) {
      std::erase_if(networks_, [&](const Network& network) {
        return !share_network(candidates_[network.front()].place, *request_.network);
      });
      networks_.resize(std::min<std::size_t>(networks_.size(), 1));
      return;
    }
    networks_ = {request_.first_network ? networks_.front() : *std::ranges::max_element(networks_, {}, &Network::size)};
  }

  Network& network_of(const ChosenAdapter& place) {
    for (Network& network : networks_) {
      if (subnet_of(candidates_[network.front()].place) == subnet_of(place)) return network;
    }
    return networks_.emplace_back();
  }

  // The best ones are those whose card has given the fewest, and of these the near ones.
  std::size_t take_from(Network& network) {
    const auto cost = [&](std::size_t number) {
      return std::pair(ports_[candidates_[number].card], candidates_[number].is_far);
    };
    const auto best = cost(*std::ranges::min_element(network, {}, cost));
    Network equal;
    std::ranges::copy_if(network, std::back_inserter(equal), [&](std::size_t number) { return cost(number) == best; });
    const std::size_t taken = equal[request_.turn % equal.size()];
    ++ports_[candidates_[taken].card];
    std::erase(network, taken);
    return taken;
  }

  const std::vector<AdapterCandidate>& candidates_;
  const AdapterRequest& request_;
  std::vector<Network> networks_{};
  PortsInUse ports_{};
};

}  // namespace

std::size_t usable_of_named(std::size_t named, const char* variable, int info_level) {
  if (named > kMostAdapters && info_level >= kLevelWarning) {
    std::fprintf(stderr, "openlapi: %s names %zu adapters, of which the first %zu are used\n", variable, named,
                 kMostAdapters);
  }
  return std::min(named, kMostAdapters);
}

std::size_t count_wanted(const std::vector<AdapterCandidate>& candidates, const AdapterRequest& request) {
  return AdapterChoice(candidates, request).wanted();
}

void say_what_is_left_out(std::size_t wanted, int info_level) {
  if (wanted <= kMostAdapters || info_level < kLevelWarning) return;
  std::fprintf(stderr,
               "openlapi: MP_EUIDEVICE and MP_INSTANCES ask for %zu adapters of a task on this node, of which %zu are "
               "used\n",
               wanted, kMostAdapters);
}

std::vector<std::size_t> choose_among(const std::vector<AdapterCandidate>& candidates, const AdapterRequest& request) {
  return AdapterChoice(candidates, request).make();
}

std::vector<NetworkSize> networks_of(const std::vector<AdapterCandidate>& candidates) {
  const AdapterRequest any;
  return AdapterChoice(candidates, any).networks();
}

std::vector<AdapterCandidate> usable_candidates(const std::vector<LocalAdapter>& adapters) {
  std::vector<AdapterCandidate> candidates;
  for (const LocalAdapter& adapter : adapters) {
    if (!is_usable(adapter)) continue;
    candidates.push_back({{adapter.address, adapter.mask}, interface_of(adapter.name), card_or_name(adapter)});
  }
  std::ranges::stable_sort(candidates, {}, [](const AdapterCandidate& one) { return subnet_of(one.place); });
  return candidates;
}

std::vector<ChosenAdapter> choose_adapters(const std::vector<AdapterCandidate>& candidates,
                                           const AdapterRequest& request) {
  std::vector<ChosenAdapter> chosen;
  for (const std::size_t number : choose_among(candidates, request)) chosen.push_back(candidates[number].place);
  return chosen;
}

}  // namespace openlapi
