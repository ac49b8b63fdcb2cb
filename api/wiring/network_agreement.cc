#include "api/wiring/network_agreement.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "api/wiring/info_level.h"
#include "dataplane/base/little_endian.h"

namespace openlapi {

namespace {

constexpr unsigned kSecondsForNetworks = 10;  // they were published before the exchange
constexpr std::size_t kMostNetworks = 16;
constexpr std::size_t kMostRuns = 8;
constexpr std::size_t kNetworkBytes = sizeof(ChosenAdapter) + 1;

using Tasks = std::vector<std::uint32_t>;

// Tasks first, first + step, ..., so many: launchers lay them out in blocks or in turn.
struct Run {
  std::uint32_t first, step, count;
};
constexpr std::size_t kRunBytes = 3 * sizeof(std::uint32_t);

std::vector<Run> runs_of(std::span<const std::uint32_t> tasks) {
  std::vector<Run> runs;
  for (const std::uint32_t task : tasks) {
    if (!runs.empty()) {
      Run& last = runs.back();
      if (last.count == 1) last.step = task - last.first;
      if (task == last.first + last.step * last.count) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({task, 1, 1});
  }
  runs.resize(std::min(runs.size(), kMostRuns));
  return runs;
}

bool add_tasks_of(const Run& run, std::uint32_t tasks, Tasks& found) {
  const std::uint64_t last = run.first + std::uint64_t{run.step} * (std::uint64_t{run.count} - 1);
  if (run.count == 0 || run.step == 0 || run.count > tasks || last >= tasks) return false;
  for (std::uint32_t number = 0; number != run.count; ++number) found.push_back(run.first + run.step * number);
  return true;
}

const NetworkSize* find_network(const NodeNetworks& node, const ChosenAdapter& place) {
  const auto found = std::ranges::find_if(
      node.networks, [&](const NetworkSize& network) { return share_network(network.place, place); });
  return found == node.networks.end() ? nullptr : &*found;
}

std::string name_of(const ChosenAdapter& place) {
  if (place.address.s_addr != 0) return to_text(in_addr{place.address.s_addr & place.mask.s_addr});
  std::string text;
  for (const std::uint8_t byte : place.network) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

bool tells_networks(const NetworkRequest& request) {
  return request.exchange && request.bootstrap.local_tasks().size() != request.bootstrap.size();
}

// Not of the instance: tasks may open theirs in another order, and then agree on what they open at the same time.
std::string key_of(const NetworkRequest& request, const OfferedNetworks& offer) {
  return "openlapi.networks." + std::to_string(request.agreement) + "." + offer.transport;
}

// What this task publishes: the first of a node for all that its entry has room for, the others for themselves. Empty:
// the first one's names it.
Tasks told_by(const Bootstrap& bootstrap) {
  const Tasks& near = bootstrap.local_tasks();
  if (bootstrap.task() == near.front()) return near;
  Tasks named;
  for (const Run& run : runs_of(near)) static_cast<void>(add_tasks_of(run, bootstrap.size(), named));
  return std::ranges::find(named, bootstrap.task()) == named.end() ? Tasks{bootstrap.task()} : Tasks{};
}

// The nodes that have adapters. The first task that none before has named is the first of its node.
bool ask_nodes(Bootstrap& bootstrap, const std::string& key, std::vector<NodeNetworks>& nodes, std::string& reason) {
  std::vector<bool> known(bootstrap.size());
  for (std::uint32_t task = 0; task != bootstrap.size(); ++task) {
    if (known[task]) continue;
    std::vector<std::byte> value;
    NodeNetworks node;
    if (!bootstrap.get(task, key, kSecondsForNetworks, value, reason)) {
      reason =
          "task " + std::to_string(task) +
          " has not told which networks it has (MP_EUILIB and OPENLAPI_MODULES are to be the same in all tasks, and "
          "LAPI_USE_SHM=only is for jobs of one node): " +
          reason;
      return false;
    }
    if (!decode(value, bootstrap.size(), node) || std::ranges::find(node.tasks, task) == node.tasks.end()) {
      reason = "what task " + std::to_string(task) + " tells of its networks cannot be understood";
      return false;
    }
    for (const std::uint32_t named : node.tasks) known[named] = true;
    if (!node.networks.empty()) nodes.push_back(std::move(node));
  }
  return true;
}

// `missing`: which network each lacks, if there is none in common.
std::optional<ChosenAdapter> common_network(std::span<const NodeNetworks> nodes, std::string& missing) {
  std::optional<ChosenAdapter> best;
  if (nodes.empty()) return best;
  std::size_t most = 0;
  for (const NetworkSize& network : nodes.front().networks) {
    std::size_t fewest = network.adapters;
    for (const NodeNetworks& node : nodes) {
      const NetworkSize* const there = find_network(node, network.place);
      fewest = std::min(fewest, there == nullptr ? 0 : there->adapters);
      if (there != nullptr) continue;
      missing += (missing.empty() ? "" : ", ") + name_of(network.place) + " not on that of task " +
                 std::to_string(node.tasks.front());
      break;
    }
    if (fewest <= most) continue;
    most = fewest;
    best = network.place;
  }
  if (best) missing.clear();
  return best;
}

}  // namespace

std::vector<std::byte> encode(const NodeNetworks& node) {
  const std::size_t networks = std::min(node.networks.size(), kMostNetworks);
  const std::vector<Run> runs = runs_of(node.tasks);
  std::vector<std::byte> bytes(1 + networks * kNetworkBytes + runs.size() * kRunBytes);
  std::byte* at = bytes.data();
  *at++ = static_cast<std::byte>(networks);
  for (std::size_t number = 0; number != networks; ++number, at += kNetworkBytes) {
    std::memcpy(at, &node.networks[number].place, sizeof(ChosenAdapter));
    at[sizeof(ChosenAdapter)] = static_cast<std::byte>(std::min<std::size_t>(node.networks[number].adapters, 255));
  }
  for (const Run& run : runs) {
    for (const std::uint32_t value : {run.first, run.step, run.count}) {
      store_little(at, value);
      at += sizeof value;
    }
  }
  return bytes;
}

bool decode(std::span<const std::byte> bytes, std::uint32_t tasks, NodeNetworks& node) {
  node = {};
  if (bytes.empty()) return false;
  const auto networks = std::to_integer<std::size_t>(bytes[0]);
  const std::size_t before = 1 + networks * kNetworkBytes;
  if (networks > kMostNetworks || bytes.size() <= before || (bytes.size() - before) % kRunBytes != 0 ||
      bytes.size() - before > kMostRuns * kRunBytes) {
    return false;
  }
  const std::byte* at = bytes.data() + 1;
  for (std::size_t number = 0; number != networks; ++number, at += kNetworkBytes) {
    NetworkSize& network = node.networks.emplace_back();
    std::memcpy(&network.place, at, sizeof(ChosenAdapter));
    network.adapters = std::to_integer<std::uint8_t>(at[sizeof(ChosenAdapter)]);
    if (network.adapters == 0) return false;
  }
  for (; at != bytes.data() + bytes.size(); at += kRunBytes) {
    const auto word = [at](std::size_t number) {
      return load_little<std::uint32_t>(at + number * sizeof(std::uint32_t));
    };
    if (!add_tasks_of({word(0), word(1), word(2)}, tasks, node.tasks)) return false;
  }
  return true;
}

bool tell_networks(const NetworkRequest& request, std::span<const OfferedNetworks> offers, OpenFailure& failure) {
  if (!tells_networks(request)) return true;
  Bootstrap& bootstrap = request.bootstrap;
  std::string reason;
  const Tasks tasks = told_by(bootstrap);
  for (const OfferedNetworks& offer : offers) {
    if (tasks.empty() || bootstrap.put(key_of(request, offer), encode({offer.networks, tasks}), reason)) continue;
    return fail(failure, FailureKind::exchange, "the networks of this node could not be published: " + reason);
  }
  return request.exchange();
}

bool agree_on_networks(const NetworkRequest& request, std::span<OfferedNetworks> offers, OpenFailure& failure) {
  if (!tells_networks(request)) return true;
  Bootstrap& bootstrap = request.bootstrap;
  std::string reason;
  for (OfferedNetworks& offer : offers) {
    std::vector<NodeNetworks> nodes;
    std::string missing;
    if (!ask_nodes(bootstrap, key_of(request, offer), nodes, reason))
      return fail(failure, FailureKind::exchange, reason);
    offer.agreed = common_network(nodes, missing);
    if (missing.empty() || bootstrap.task() != 0 || request.settings.info_level < kLevelWarning) continue;
    std::fprintf(stderr,
                 "openlapi: %s: no network has an adapter that is up on every node (%s); each task takes the network "
                 "of its own that has most\n",
                 offer.transport.c_str(), missing.c_str());
  }
  return true;
}

}  // namespace openlapi
