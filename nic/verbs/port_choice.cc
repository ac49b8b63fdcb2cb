#include "nic/verbs/port_choice.h"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace openlapi::verbs {
namespace {

// Smaller is better.
int rank(const GidFacts& entry) {
  if (entry.fabric == Fabric::infiniband) return 0;
  const int address = is_ipv4(entry.gid) ? 0 : is_link_local(entry.gid) ? 2 : 1;
  return entry.fabric == Fabric::roce_v2 ? address : 3 + address;
}

std::tuple<int, bool, std::uint32_t> order_of(const GidFacts& entry) {
  return {rank(entry), entry.vlan != 0, entry.index};
}

bool is_wanted(const GidFacts& entry, const PortPreference& preference) {
  if (preference.gid_index >= 0) return entry.index == static_cast<std::uint32_t>(preference.gid_index);
  const bool in_vlan = !preference.vlan || *preference.vlan == entry.vlan || entry.fabric == Fabric::infiniband;
  return in_vlan && preference.gid_prefix.covers(entry.gid);
}

std::string text_of(const GidFacts& entry) {
  return std::to_string(entry.index) + " (" + to_text(entry.gid) + ", " + std::string(to_text(entry.fabric)) +
         (entry.vlan != 0 ? ", VLAN " + std::to_string(entry.vlan) : "") + ")";
}

// " within 10.77.0.0/16 in VLAN 5"
std::string wish_text(const PortPreference& preference, bool ethernet) {
  std::string text;
  const GidPrefix& prefix = preference.gid_prefix;
  if (prefix.bits != 0) text = " within " + to_text(prefix.gid) + "/" + std::to_string(prefix.bits);
  if (preference.vlan && ethernet)
    text += *preference.vlan == 0 ? " without a VLAN" : " in VLAN " + std::to_string(*preference.vlan);
  return text;
}

// A name as what it is ordered by: its letters, and the number at its end.
std::tuple<std::string, unsigned long long> order_of(const std::string& name) {
  std::size_t digits = name.size();
  while (digits > 0 && name.size() - digits < 18 && std::isdigit(static_cast<unsigned char>(name[digits - 1])))
    --digits;
  return {name.substr(0, digits), digits == name.size() ? 0 : std::stoull(name.substr(digits))};
}

bool is_wanted(const PortFacts& port, const PortPreference& preference) {
  return (preference.device.empty() || preference.device == port.device) &&
         (preference.port == 0 || preference.port == port.port || !port.problem.empty());
}

std::string names_of(std::span<const PortFacts> ports) {
  std::string names;
  for (const PortFacts& port : ports) {
    if (!names.empty()) names += ", ";
    names += port.device;
    if (port.problem.empty()) names += " port " + std::to_string(port.port);
  }
  return names;
}

std::string preference_text(const PortPreference& preference) {
  const std::string port = preference.port == 0 ? "" : "port " + std::to_string(preference.port);
  if (preference.device.empty()) return port;
  return port.empty() ? preference.device : preference.device + " " + port;
}

}  // namespace

bool comes_before(const PortFacts& left, const PortFacts& right) {
  const auto key = [](const PortFacts& port) { return std::tuple(port.ethernet, order_of(port.device), port.port); };
  return key(left) < key(right);
}

std::optional<GidFacts> choose_gid(const PortFacts& port, const PortPreference& preference, std::string& reason) {
  const GidFacts* best = nullptr;
  std::string present;
  for (const GidFacts& entry : port.gids) {
    if (is_zero(entry.gid)) continue;
    present += (present.empty() ? "" : ", ") + text_of(entry);
    if (!is_wanted(entry, preference) || entry.index > kHighestGidIndex) continue;
    if (best == nullptr || order_of(entry) < order_of(*best)) best = &entry;
  }
  if (best != nullptr) return *best;
  if (present.empty()) {
    reason = port.ethernet ? "has no GID: its network interface needs an IP address" : "has no GID";
  } else if (preference.gid_index >= 0) {
    reason = "has no GID with index " + std::to_string(preference.gid_index) + "; it has " + present;
  } else {
    reason = "has no GID" + wish_text(preference, port.ethernet) + " with an index up to " +
             std::to_string(kHighestGidIndex) + "; it has " + present;
  }
  return std::nullopt;
}

std::optional<PartitionFacts> choose_partition(const PortFacts& port, std::uint16_t wanted, std::string& reason) {
  if (port.ethernet) return PartitionFacts{};
  std::optional<PartitionFacts> best;
  std::string present;
  for (const PartitionFacts& entry : port.partitions) {
    if (partition_of(entry.key) == 0) continue;
    present += (present.empty() ? "" : ", ") + key_text(entry.key);
    if (wanted != 0 && wanted != partition_of(entry.key)) continue;
    const bool better = !best || ((entry.key & kFullMember) != 0 && (best->key & kFullMember) == 0);
    if (better) best = entry;
  }
  if (best) return best;
  reason = wanted == 0 ? "is in no partition: its subnet manager has given it no P_Key"
                       : "is not in partition " + key_text(wanted) + "; it has " + (present.empty() ? "none" : present);
  return std::nullopt;
}

std::optional<PortChoice> choose_port(std::span<const PortFacts> ports, const PortPreference& preference,
                                      std::string& reason) {
  std::optional<PortChoice> chosen;
  std::string refused;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PortFacts& port = ports[i];
    if (!is_wanted(port, preference)) continue;
    std::string why = port.problem;
    std::optional<GidFacts> gid;
    if (why.empty() && port.mtu < kSmallestMtu) {
      why = "carries " + std::to_string(port.mtu) + " bytes in a packet: " + std::to_string(kSmallestMtu) +
            " are needed" + (port.ethernet ? ", for which its network interface needs an MTU of 1280 or more" : "");
    }
    if (why.empty() && !port.active) why = "is not active but " + port.state;
    if (why.empty()) gid = choose_gid(port, preference, why);
    std::optional<PartitionFacts> partition;
    if (gid) partition = choose_partition(port, preference.partition, why);
    if (partition && (!chosen || comes_before(port, ports[chosen->which]))) chosen = PortChoice{i, *gid, *partition};
    if (!partition) {
      const std::string place = port.problem.empty() ? " port " + std::to_string(port.port) : "";
      refused += (refused.empty() ? "" : "; ") + port.device + place + " " + why;
    }
  }
  if (chosen) return chosen;
  if (!refused.empty()) {
    reason = refused;
  } else if (ports.empty()) {
    reason = "this machine has no RDMA device";
  } else {
    reason = "there is no RDMA device " + preference_text(preference) + "; there is " + names_of(ports);
  }
  return std::nullopt;
}

}  // namespace openlapi::verbs
