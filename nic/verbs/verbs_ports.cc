#include "nic/verbs/verbs_ports.h"

#include <endian.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "nic/verbs/interface_vlan.h"

namespace openlapi::verbs {
namespace {

// The list that libibverbs gives; devices stay valid while it exists.
class DeviceList {
 public:
  DeviceList() : devices_(ibv_get_device_list(&count_)) {}
  ~DeviceList() {
    if (devices_ != nullptr) ibv_free_device_list(devices_);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;

  std::span<ibv_device*> devices() const {
    return devices_ == nullptr ? std::span<ibv_device*>{} : std::span(devices_, static_cast<std::size_t>(count_));
  }

 private:
  int count_ = 0;
  ibv_device** devices_;
};

// Why the device's file cannot be opened; empty: it can. Asked first because libibverbs waits for a file that is not
// there, and does not say which one it is.
std::string file_problem(const ibv_device& device) {
  const std::string path = std::string("/dev/infiniband/") + device.dev_name;
  if (access(path.c_str(), R_OK | W_OK) == 0) return {};
  if (errno == EACCES || errno == EPERM) {
    return "may not be used by this user: no permission to read and write " + path;
  }
  if (errno == ENOENT) return "has no file " + path + " here (a container needs /dev/infiniband from its host)";
  return "cannot be used: " + path + ": " + std::strerror(errno);
}

DeviceContext open_listed(ibv_device& device, std::string& reason) {
  reason = file_problem(device);
  if (!reason.empty()) return nullptr;
  errno = 0;
  DeviceContext context(ibv_open_device(&device));
  if (!context) reason = std::string("cannot be opened: ") + std::strerror(errno);
  return context;
}

Fabric fabric_of(const ibv_gid_entry& entry) {
  switch (entry.gid_type) {
    case IBV_GID_TYPE_ROCE_V1:
      return Fabric::roce_v1;
    case IBV_GID_TYPE_ROCE_V2:
      return Fabric::roce_v2;
    default:
      return Fabric::infiniband;
  }
}

std::vector<GidFacts> gids_of(ibv_context& context, std::uint32_t port, std::size_t most) {
  std::vector<ibv_gid_entry> entries(most);
  const ssize_t count = ibv_query_gid_table(&context, entries.data(), entries.size(), 0);
  std::vector<GidFacts> gids;
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<std::size_t>(i)];
    if (entry.port_num != port) continue;
    GidFacts facts{.index = entry.gid_index, .fabric = fabric_of(entry)};
    if (facts.fabric != Fabric::infiniband) facts.vlan = vlan_of_interface(entry.ndev_ifindex);
    std::copy_n(entry.gid.raw, facts.gid.size(), facts.gid.begin());
    gids.push_back(facts);
  }
  return gids;
}

std::vector<PartitionFacts> partitions_of(ibv_context& context, std::uint32_t port, std::uint16_t length) {
  std::vector<PartitionFacts> partitions;
  for (std::uint16_t index = 0; index < length; ++index) {
    __be16 key = 0;
    if (ibv_query_pkey(&context, static_cast<std::uint8_t>(port), index, &key) != 0) continue;
    if (partition_of(be16toh(key)) != 0) partitions.push_back({index, be16toh(key)});
  }
  return partitions;
}

PortFacts facts_of(ibv_context& context, std::uint32_t port, std::size_t gids) {
  PortFacts facts;
  facts.device = ibv_get_device_name(context.device);
  facts.port = port;
  ibv_port_attr attributes{};
  if (const int error = ibv_query_port(&context, static_cast<std::uint8_t>(port), &attributes); error != 0) {
    facts.problem = "does not tell the state of port " + std::to_string(port) + ": " + std::strerror(error);
    return facts;
  }
  facts.ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  facts.active = attributes.state == IBV_PORT_ACTIVE;
  facts.state = ibv_port_state_str(attributes.state);
  facts.mtu = 128u << attributes.active_mtu;
  facts.lid = facts.ethernet ? std::uint16_t{0} : attributes.lid;
  facts.route_header = !facts.ethernet && (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  facts.gids = gids_of(context, port, gids);
  if (!facts.ethernet) facts.partitions = partitions_of(context, port, attributes.pkey_tbl_len);
  return facts;
}

// What such a device lacks, and what serves instead.
std::string unknown_transport(ibv_transport_type type) {
  const std::string instead =
      ": use the network interface of the same adapter, through the kernel (MP_EUILIB=ip) or by DPDK "
      "(MP_EUILIB=us, OPENLAPI_MODULES=dpdk)";
  if (type == IBV_TRANSPORT_IWARP) return "speaks iWARP, which has no datagrams" + instead;
  if (type == IBV_TRANSPORT_UNSPECIFIED) {
    return "is neither InfiniBand nor RoCE but of a kind of its own (as Amazon's EFA), which has no reliable "
           "connections" +
           instead;
  }
  return "is neither InfiniBand nor RoCE" + instead;
}

void add_ports(ibv_device& device, std::vector<PortFacts>& ports) {
  const std::string name = ibv_get_device_name(&device);
  const auto refuse = [&](std::string why, bool forbidden = false) {
    PortFacts facts;
    facts.device = name;
    facts.problem = std::move(why);
    facts.forbidden = forbidden;
    ports.push_back(std::move(facts));
  };
  if (device.transport_type != IBV_TRANSPORT_IB) return refuse(unknown_transport(device.transport_type));
  std::string reason;
  const DeviceContext context = open_listed(device, reason);
  if (!context) return refuse(reason, errno == EACCES || errno == EPERM);
  ibv_device_attr attributes{};
  if (const int error = ibv_query_device(context.get(), &attributes); error != 0) {
    return refuse(std::string("does not tell its properties: ") + std::strerror(error));
  }
  std::size_t gids = 0;  // of all ports: one question gives them all
  for (std::uint32_t port = 1; port <= attributes.phys_port_cnt; ++port) {
    ibv_port_attr one{};
    if (ibv_query_port(context.get(), static_cast<std::uint8_t>(port), &one) == 0) {
      gids += static_cast<std::size_t>(std::max(one.gid_tbl_len, 0));
    }
  }
  for (std::uint32_t port = 1; port <= attributes.phys_port_cnt; ++port) {
    ports.push_back(facts_of(*context, port, gids));
  }
}

}  // namespace

std::vector<PortFacts> find_ports(const std::string& device, std::string& reason) {
  const DeviceList list;
  if (list.devices().empty()) {
    reason = "this machine has no RDMA device";
    return {};
  }
  std::vector<PortFacts> ports;
  for (ibv_device* candidate : list.devices()) {
    if (device.empty() || device == ibv_get_device_name(candidate)) add_ports(*candidate, ports);
  }
  if (ports.empty()) {
    reason = "there is no RDMA device " + device + "; there is";
    for (ibv_device* candidate : list.devices()) reason += std::string(" ") + ibv_get_device_name(candidate);
  }
  return ports;
}

DeviceContext open_device(const std::string& name, std::string& reason) {
  const DeviceList list;
  for (ibv_device* candidate : list.devices()) {
    if (name == ibv_get_device_name(candidate)) return open_listed(*candidate, reason);
  }
  reason = "is gone";
  return nullptr;
}

std::vector<PortReport> report_ports(const PortPreference& preference, std::string& reason) {
  std::vector<PortFacts> ports = find_ports({}, reason);
  std::ranges::stable_sort(ports, comes_before);
  std::string ignored;
  const std::optional<PortChoice> choice = choose_port(ports, preference, ignored);
  std::vector<PortReport> reports;
  for (const PortFacts& port : ports) {
    PortReport report{.facts = port, .gid = {}, .partition = {}, .reason = {}};
    std::string why;
    if (const auto own = choose_port({&port, 1}, preference, why)) {
      report.gid = own->gid;
      report.partition = own->partition;
    } else {
      report.reason = why;
    }
    report.chosen = choice && &ports[choice->which] == &port;
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace openlapi::verbs
