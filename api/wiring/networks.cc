#include "api/wiring/networks.h"

#include <algorithm>
#include <cstdio>

#include "api/arguments/messages.h"
#include "api/wiring/trace.h"
#include "nic/udp/udp_adapters.h"
#include "nic/udp/udp_transport.h"

namespace openlapi {

namespace {

// A user header of 912 bytes (MAX_UHDR_SZ at least) fits one packet with all headers from here on; MP_UDP_PACKET_SIZE
// may be 8 bytes less.
constexpr std::uint32_t kLeastDatagram = 1032;

bool parse_address(const std::string& text, in_addr& address) {
  unsigned part[4];
  char rest = 0;
  if (std::sscanf(text.c_str(), "%3u.%3u.%3u.%3u%c", &part[0], &part[1], &part[2], &part[3], &rest) != 4) return false;
  std::uint32_t value = 0;
  for (const unsigned byte : part) {
    if (byte > 255) return false;
    value = value << 8 | byte;
  }
  address.s_addr = htonl(value);
  return true;
}

std::string names_of(const std::vector<LocalAdapter>& adapters) {
  std::string names;
  for (const LocalAdapter& adapter : adapters) {
    if (!names.empty()) names += ", ";
    names += adapter.name + " (" + to_text(adapter.address) + ")";
  }
  return names.empty() ? "none" : names;
}

const LocalAdapter* find_adapter(const std::vector<LocalAdapter>& adapters, const std::string& name) {
  const auto found =
      std::find_if(adapters.begin(), adapters.end(), [&](const LocalAdapter& adapter) { return adapter.name == name; });
  return found == adapters.end() ? nullptr : &*found;
}

const LocalAdapter* named_adapter(const lapi_info_t& info, const std::vector<LocalAdapter>& adapters,
                                  OpenError& error) {
  const std::string name = static_cast<const char*>(info.adapter_name);
  const LocalAdapter* adapter = find_adapter(adapters, name);
  if (adapter == nullptr) {
    fail(error, LAPI_ERR_CSS_LOAD_FAILED,
         "adapter_name '" + name + "' is no adapter of this machine; present: " + names_of(adapters));
  }
  return adapter;
}

// The adapter for everybody: the loopback when the whole job is on this node, else the first one that is up.
const LocalAdapter* default_adapter(const std::vector<LocalAdapter>& adapters, bool one_node) {
  const LocalAdapter* loopback = nullptr;
  for (const LocalAdapter& adapter : adapters) {
    const bool is_loopback = (ntohl(adapter.address.s_addr) >> 24) == 127;
    if (is_loopback && loopback == nullptr) loopback = &adapter;
    if (!is_loopback && adapter.up && !one_node) return &adapter;
  }
  return loopback != nullptr || adapters.empty() ? loopback : &adapters.front();
}

// The addresses that the user names, each with its adapter.
bool take_named_addresses(const std::vector<NetworkInstance>& named, const std::vector<LocalAdapter>& adapters,
                          std::vector<in_addr>& addresses, OpenError& error) {
  for (const NetworkInstance& instance : named) {
    in_addr address{};
    if (!parse_address(instance.address, address)) {
      return fail(error, LAPI_ERR_NO_NETSTR_SET,
                  "MP_LAPI_INET_ADDR: '" + instance.address + "' is not an address in dotted decimal");
    }
    if (find_adapter(adapters, instance.adapter) == nullptr) {
      return fail(error, LAPI_ERR_NO_NETSTR_SET,
                  "MP_LAPI_INET_ADDR: '" + instance.address + "," + instance.adapter + "': '" + instance.adapter +
                      "' is no adapter of this machine; present: " + names_of(adapters));
    }
    addresses.push_back(address);
  }
  return true;
}

// The local addresses to open, one for each instance of the network.
bool choose_addresses(const NetworkRequest& request, std::vector<in_addr>& addresses, OpenError& error) {
  const std::vector<LocalAdapter> adapters = list_adapters();
  const Settings& settings = request.settings;
  if (request.info.adapter_name != nullptr) {
    const LocalAdapter* adapter = named_adapter(request.info, adapters, error);
    if (adapter != nullptr) addresses.push_back(adapter->address);
    return adapter != nullptr;
  }
  if (!settings.inet_addresses.empty()) {
    return take_named_addresses(settings.inet_addresses, adapters, addresses, error);
  }
  const bool any_device = settings.device.empty() || settings.device == "sn_single" || settings.device == "sn_all";
  const LocalAdapter* adapter = any_device ? nullptr : find_adapter(adapters, settings.device);
  if (adapter == nullptr && !any_device) {
    if (!names_aix_device(settings.device)) {
      return fail(
          error, LAPI_ERR_CSS_LOAD_FAILED,
          "MP_EUIDEVICE='" + settings.device + "' is no adapter of this machine; present: " + names_of(adapters));
    }
    if (settings.info_level >= kLevelWarning) {
      std::fprintf(stderr, "openlapi: MP_EUIDEVICE='%s' is no adapter of this machine and is not used\n",
                   settings.device.c_str());
    }
  }
  if (adapter == nullptr) {
    const bool one_node = request.bootstrap.local_tasks().size() == request.bootstrap.size();
    adapter = default_adapter(adapters, one_node);
  }
  if (adapter == nullptr) return fail(error, LAPI_ERR_UDP_SOCKET, "this machine has no IPv4 address");
  addresses.push_back(adapter->address);
  return true;
}

// The user's addresses of all tasks, by handler or list.
bool ask_user(const NetworkRequest& request, in_addr local, uint adapter, std::vector<lapi_udp_t>& list,
              OpenError& error) {
  const lapi_extend_t& extension = *request.info.add_info;
  list.assign(request.bootstrap.size(), lapi_udp_t{});
  if (extension.udp_hndlr != nullptr) {
    lapi_handle_t handle = 0;
    lapi_udp_t own{local.s_addr, 0};
    lapi_udpinfo_t about{request.bootstrap.rank(), request.bootstrap.size(), adapter};
    const int result = extension.udp_hndlr(&handle, &own, list.data(), &about);
    if (result == 0) return true;
    return fail(error, LAPI_ERR_USER_UDP_HNDLR_FAIL, "the UDP handler returned " + std::to_string(result));
  }
  const std::size_t entries =
      extension.num_udp_addr > 0 ? static_cast<std::size_t>(extension.num_udp_addr) : list.size();
  if (entries < list.size()) {
    return fail(error, LAPI_ERR_NO_UDP_HNDLR,
                "num_udp_addr is " + std::to_string(entries) + ", the job has " + std::to_string(list.size()) +
                    " tasks: one address for each");
  }
  std::copy_n(extension.add_udp_addrs, list.size(), list.begin());
  return true;
}

bool check_ports(const std::vector<lapi_udp_t>& list, OpenError& error) {
  for (std::size_t task = 0; task < list.size(); ++task) {
    if (list[task].port_no >= 1 && list[task].port_no <= 65535) continue;
    return fail(error, LAPI_ERR_UDP_PORT_INFO,
                "the UDP address of task " + std::to_string(task) + " has port_no " +
                    std::to_string(list[task].port_no) + "; allowed: 1 to 65535");
  }
  return true;
}

bool open_one(const NetworkRequest& request, in_addr address, std::uint16_t port, OpenNetworks& result,
              OpenError& error) {
  UdpConfig config;
  config.address = address;
  config.port = port;
  config.spare = request.spare;
  config.packet_size = static_cast<std::uint32_t>(request.settings.udp_packet_size);
  if (config.packet_size != 0) config.packet_size = std::max(config.packet_size, kLeastDatagram);
  UdpSetupError reason;
  std::unique_ptr<UdpTransport> transport = open_udp_transport(config, reason);
  if (transport == nullptr) {
    const bool packet_size = reason.kind == UdpSetupError::Kind::bad_packet_size;
    return fail(error, packet_size ? LAPI_ERR_UDP_PKT_SZ : LAPI_ERR_UDP_SOCKET, reason.text);
  }
  print_attention(LAPI_ATTENTION_INITIAL_PORT, request.settings.info_level, "task %u, %s port %u",
                  request.bootstrap.rank(), to_text(address).c_str(), transport->port());
  result.transports.push_back(traced(std::move(transport)));
  result.networks.push_back({result.transports.back().get(), {}, {}, to_text(address)});
  return true;
}

bool open_with_users_addresses(const NetworkRequest& request, const std::vector<in_addr>& locals, OpenNetworks& result,
                               OpenError& error) {
  // A handler is asked once for each adapter; a list has one address per task.
  const std::size_t adapters = request.info.add_info->udp_hndlr != nullptr ? locals.size() : 1;
  for (std::size_t adapter = 0; adapter < adapters; ++adapter) {
    std::vector<lapi_udp_t> list;
    if (!ask_user(request, locals[adapter], static_cast<uint>(adapter), list, error)) return false;
    if (!check_ports(list, error)) return false;
    const lapi_udp_t& own = list[request.bootstrap.rank()];
    if (!open_one(request, locals[adapter], static_cast<std::uint16_t>(own.port_no), result, error)) return false;
    for (const lapi_udp_t& entry : list) {
      result.networks.back().addresses.push_back(
          make_udp_address(in_addr{entry.ip_addr}, static_cast<std::uint16_t>(entry.port_no)));
    }
  }
  return true;
}

bool open_and_publish(const NetworkRequest& request, const std::vector<in_addr>& locals, OpenNetworks& result,
                      OpenError& error) {
  for (std::size_t adapter = 0; adapter < locals.size(); ++adapter) {
    if (!open_one(request, locals[adapter], 0, result, error)) return false;
    ContextRoutes::Network& network = result.networks.back();
    network.key = address_key(request.info.instance_no, request.life, adapter);
    network.tags = request.tags;
    std::string reason;
    const std::vector<std::byte> published = encode({request.epoch, network.transport->local_address(), request.tags});
    if (!request.bootstrap.put(network.key, published, reason)) {
      return fail(error, LAPI_ERR_UNKNOWN, "the UDP address could not be published: " + reason);
    }
  }
  result.published = true;
  return true;
}

}  // namespace

bool check_adapter_name(const lapi_info_t& info, OpenError& error) {
  return info.adapter_name == nullptr || named_adapter(info, list_adapters(), error) != nullptr;
}

bool udp_address_of(const lapi_udp_t& entry, PeerAddress& address) {
  if (entry.port_no < 1 || entry.port_no > 65535) return false;
  address = make_udp_address(in_addr{entry.ip_addr}, static_cast<std::uint16_t>(entry.port_no));
  return true;
}

bool open_udp_networks(const NetworkRequest& request, OpenNetworks& result, OpenError& error) {
  const lapi_extend_t* extension = request.info.add_info;
  const bool users_addresses =
      extension != nullptr && (extension->udp_hndlr != nullptr || extension->add_udp_addrs != nullptr);
  const bool exchange = request.bootstrap.can_exchange();
  if (!exchange && !users_addresses) {
    return fail(error, LAPI_ERR_NO_UDP_HNDLR,
                "without a launcher the program gives the tasks' UDP addresses: set udp_hndlr or add_udp_addrs in "
                "add_info, or LAPI_USE_SHM=only");
  }
  if (!exchange && request.settings.inet_addresses.empty()) {
    return fail(error, LAPI_ERR_NO_NETSTR_SET,
                "MP_LAPI_INET_ADDR is not set; without a launcher it names the address and adapter that this task uses "
                "for UDP: @1:ADDRESS,ADAPTER, as @1:127.0.0.1,lo");
  }
  std::vector<in_addr> locals;
  bool opened = choose_addresses(request, locals, error);
  if (opened) {
    opened = exchange ? open_and_publish(request, locals, result, error)
                      : open_with_users_addresses(request, locals, result, error);
  }
  if (!opened) result = {};
  return opened;
}

}  // namespace openlapi
