#include "nic/verbs/verbs_module.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "dataplane/base/adapter_memory.h"
#include "dataplane/base/whole_number.h"
#include "nic/modules/verbs_announcement.h"
#include "nic/verbs/verbs_transport.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint32_t kMostPorts = 255;

std::string place(const std::string& device, std::uint32_t port, std::uint32_t gid_index, const Gid& gid) {
  return device + " port " + std::to_string(port) + ", GID " + std::to_string(gid_index) + " (" + to_text(gid) + ")";
}

// Of RoCE the kernel knows the subnet of an IPv4 address. Of other addresses the first half names the network.
void add_network(Fabric fabric, const Gid& gid, std::uint16_t partition, ModuleDevice& device) {
  device.network[8] = static_cast<std::uint8_t>(fabric);
  device.network[9] = static_cast<std::uint8_t>(partition >> 8);
  device.network[10] = static_cast<std::uint8_t>(partition);
  if (is_ipv4(gid)) {
    for (std::size_t i = 12; i != gid.size(); ++i) device.address = device.address << 8 | gid[i];
  } else {
    std::copy_n(gid.begin(), 8, device.network.begin());
  }
}

TransportModule& the_module() {
  static VerbsModule module;
  return module;
}

}  // namespace

ModuleDevice describe(const PortReport& report) {
  const PortFacts& port = report.facts;
  ModuleDevice device;
  device.name = port.problem.empty() ? port.device + ":" + std::to_string(port.port) : port.device;
  device.reason = report.reason;
  device.chosen = report.chosen;
  if (!port.problem.empty()) return device;
  device.state = port.state + ", MTU " + std::to_string(port.mtu);
  if (port.lid != 0) device.state += ", LID " + std::to_string(port.lid);
  if (report.gid) {
    device.state += ", " + std::string(to_text(report.gid->fabric)) + ", GID " + std::to_string(report.gid->index) +
                    " (" + to_text(report.gid->gid) + ")";
    if (!port.ethernet) device.state += ", P_Key " + key_text(report.partition.key);
    device.eligible = true;
    device.kernel_name = port.device;
    add_network(report.gid->fabric, report.gid->gid, partition_of(report.partition.key), device);
  }
  return device;
}

bool parse_preference(const std::string& text, PortPreference& preference, std::string& reason) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  PortPreference parsed;
  parsed.device = text.substr(0, first);
  bool good = text.empty() || !parsed.device.empty();
  if (first != std::string::npos) {
    const std::string_view tail = std::string_view(text).substr(first + 1);
    const auto port =
        whole_number(tail.substr(0, second == std::string::npos ? second : second - first - 1), 1u, kMostPorts);
    good = good && port.has_value();
    parsed.port = port.value_or(0);
  }
  if (second != std::string::npos) {
    const auto index = whole_number(std::string_view(text).substr(second + 1), 0u, kHighestGidIndex);
    good = good && index.has_value();
    parsed.gid_index = static_cast<std::int32_t>(index.value_or(0));
  }
  if (!good) {
    reason = "'" + text +
             "' is no RDMA device: allowed is DEVICE, DEVICE:PORT or "
             "DEVICE:PORT:GID_INDEX, as mlx5_0:1:3, with an index of at most 255";
    return false;
  }
  preference = parsed;
  return true;
}

bool configure(const ModuleRequest& request, VerbsConfig& config, std::string& reason) {
  config.bulk = true;  // the job's switches and each transfer's hints decide when it is used
  const std::string packets = request.variable(kPacketsVariable);
  config.connections = packets != kPacketsAsDatagrams;
  const std::string rings = request.variable(kRingsVariable);
  if (rings == kRingsWhereInOrder) config.connection_limits.rings = Rings::where_in_order;
  if (rings == kRingsAlways) config.connection_limits.rings = Rings::always;
  const std::string paging = request.variable(kPagingVariable);
  if (paging == kPagingNever) config.bulk_limits.on_demand_paging = OnDemandPaging::never;
  if (paging == kPagingAlways) config.bulk_limits.on_demand_paging = OnDemandPaging::always;
  config.one_sided = request.variable(kOneSidedVariable) == kOneSidedGets;
  config.link_status = true;  // also of the only adapter, whose address may change
  config.tell = request.tell;
  config.tasks = request.tasks;
  config.local_tasks = request.local_tasks;
  config.senders = std::max(request.tasks, 2u) - 1;  // those of the own node, too, where there is no shared memory
  config.receive_slots = receive_slots_for({.tasks = request.tasks, .local_tasks = request.local_tasks});
  if (packets == kPacketsThroughConnections) config.connection_limits.packets_before_asking = 1;
  if (!parse_preference(request.device, config.port, reason)) return false;
  config.service_level = service_level(request.variable(kServiceLevelVariable)).value_or(0);
  config.traffic_class = traffic_class(request.variable(kTrafficClassVariable));
  config.port.gid_prefix = gid_prefix(request.variable(kGidPrefixVariable)).value_or(GidPrefix{});
  config.port.vlan = vlan_number(request.variable(kVlanVariable));
  config.port.partition = partition_key(request.variable(kPartitionVariable)).value_or(0);
  return true;
}

std::vector<ModuleDevice> VerbsModule::devices(const ModuleRequest& request, std::string& reason) {
  std::vector<ModuleDevice> devices;
  VerbsConfig config;
  std::string ignored;
  ModuleRequest any = request;
  any.device.clear();
  configure(any, config, ignored);
  for (const PortReport& report : report_ports(config.port, reason)) devices.push_back(describe(report));
  return devices;
}

ModuleTransport VerbsModule::open(const ModuleRequest& request) {
  ModuleTransport result;
  VerbsConfig config;
  if (!configure(request, config, result.reason)) return result;
  if (request.adapter_memory != nullptr) AdapterMemory::share(*request.adapter_memory);
  VerbsSetupError error;
  auto transport = open_verbs_transport(config, error);
  if (transport == nullptr) {
    result.reason = error.text;
    return result;
  }
  result.device = place(transport->device(), transport->port(), transport->gid_index(), transport->address().gid);
  result.transport = std::move(transport);
  return result;
}

bool VerbsModule::adapter_address(const PeerAddress& address, std::array<std::uint8_t, 16>& found) {
  Address decoded;
  std::string ignored;
  if (!decode(address, decoded, ignored) || is_zero(decoded.gid)) return false;
  found = decoded.gid;
  return true;
}

bool VerbsModule::network_of(const Transport& transport, ModuleDevice& device) {
  const auto& own = static_cast<const VerbsTransport&>(transport);
  device.kernel_name = own.device();
  add_network(own.address().fabric, own.address().gid, own.partition(), device);
  return true;
}

bool VerbsModule::has_link(const Transport& transport) {
  return static_cast<const VerbsTransport&>(transport).has_link();
}

}  // namespace openlapi::verbs

namespace openlapi {

const TransportModuleEntry openlapi_transport_module = {kTransportModuleVersion, verbs::the_module};

}  // namespace openlapi
