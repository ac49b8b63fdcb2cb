#include "api/wiring/networks.h"

#include <algorithm>
#include <cstdio>
#include <span>

#include "api/wiring/adapter_choice.h"
#include "api/wiring/followed_transport.h"
#include "api/wiring/info_level.h"
#include "api/wiring/network_agreement.h"
#include "api/wiring/trace.h"
#include "api/wiring/unlisted_adapter.h"
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

const LocalAdapter* named_adapter(const std::string& name, const std::vector<LocalAdapter>& adapters,
                                  OpenFailure& failure) {
  const LocalAdapter* adapter = find_adapter(adapters, name);
  if (adapter == nullptr) {
    fail(failure, FailureKind::transport,
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
                          std::vector<in_addr>& addresses, OpenFailure& failure) {
  for (const NetworkInstance& instance : named) {
    in_addr address{};
    if (!parse_address(instance.address, address)) {
      return fail(failure, FailureKind::network_statement,
                  "MP_LAPI_INET_ADDR: '" + instance.address + "' is not an address in dotted decimal");
    }
    if (find_adapter(adapters, instance.adapter) == nullptr) {
      return fail(failure, FailureKind::network_statement,
                  "MP_LAPI_INET_ADDR: '" + instance.address + "," + instance.adapter + "': '" + instance.adapter +
                      "' is no adapter of this machine; present: " + names_of(adapters));
    }
    addresses.push_back(address);
  }
  return true;
}

// What to open, one address for each instance of the network.
struct Choice {
  std::vector<in_addr> addresses;
  std::vector<ChosenAdapter> chosen;  // the same adapters, if the library has chosen among them
};

// MP_EUIDEVICE=sn_single or sn_all, MP_INSTANCES. Of one network all tasks take the same.
bool choose_among(const NetworkRequest& request, const std::vector<AdapterCandidate>& candidates, Choice& choice,
                  OpenFailure& failure) {
  const Settings& settings = request.settings;
  AdapterRequest wanted{.all_networks = settings.device == "sn_all", .instances = std::max(settings.instances, 1)};
  if (!wanted.all_networks) {
    OfferedNetworks offer{.transport = "udp"};
    if (!agree_on_networks(request, {&offer, 1}, failure)) return false;
    wanted.network = offer.agreed;
  }
  if (request.bootstrap.task() == request.bootstrap.local_tasks().front()) {
    say_what_is_left_out(count_wanted(candidates, wanted), settings.info_level);
  }
  choice.chosen = choose_adapters(candidates, wanted);
  for (const ChosenAdapter& adapter : choice.chosen) choice.addresses.push_back(adapter.address);
  return true;
}

// A loopback that the user names leads to no other node. Without a launcher nobody knows which tasks are near.
bool check_reach(const NetworkRequest& request, const char* variable, const LocalAdapter& adapter,
                 OpenFailure& failure) {
  const std::size_t near = request.bootstrap.local_tasks().size(), all = request.bootstrap.size();
  if (ntohl(adapter.address.s_addr) >> 24 != 127 || near == all || !request.bootstrap.can_exchange()) return true;
  return fail(failure, FailureKind::transport,
              std::string(variable) + "='" + adapter.name + "' leads to tasks of this machine only, and " +
                  std::to_string(all - near) + " of the job's " + std::to_string(all) +
                  " are on others; present: " + names_of(list_adapters()));
}

bool choose_addresses(const NetworkRequest& request, Choice& choice, OpenFailure& failure) {
  std::vector<in_addr>& addresses = choice.addresses;
  const std::vector<LocalAdapter> adapters = list_adapters();
  const std::vector<AdapterCandidate> candidates = usable_candidates(adapters);
  const Settings& settings = request.settings;
  const OfferedNetworks offer{.transport = "udp", .networks = networks_of(candidates)};
  if (!tell_networks(request, {&offer, 1}, failure)) return false;
  if (request.adapter_name != nullptr) {
    const LocalAdapter* adapter = named_adapter(request.adapter_name, adapters, failure);
    if (adapter == nullptr || !check_reach(request, "adapter_name", *adapter, failure)) return false;
    addresses.push_back(adapter->address);
    return true;
  }
  if (!settings.inet_addresses.empty()) {
    if (!take_named_addresses(settings.inet_addresses, adapters, addresses, failure)) return false;
    if (request.bootstrap.can_exchange()) {  // without a launcher the user's list has an entry for each
      addresses.resize(usable_of_named(addresses.size(), "MP_LAPI_INET_ADDR", settings.info_level));
    }
    return std::ranges::all_of(settings.inet_addresses, [&](const NetworkInstance& instance) {
      return check_reach(request, "MP_LAPI_INET_ADDR", *find_adapter(adapters, instance.adapter), failure);
    });
  }
  const bool any_device = settings.device.empty() || settings.device == "sn_single" || settings.device == "sn_all";
  const LocalAdapter* adapter = any_device ? nullptr : find_adapter(adapters, settings.device);
  if (adapter == nullptr && !any_device) {
    if (!names_aix_device(settings.device)) {
      return fail(failure, FailureKind::transport,
                  "MP_EUIDEVICE='" + settings.device + "' is no adapter of this machine; present: " +
                      names_of(adapters) + "; allowed is also sn_single or sn_all, in small letters");
    }
    if (settings.info_level >= kLevelWarning) {
      std::fprintf(stderr, "openlapi: MP_EUIDEVICE='%s' is no adapter of this machine and is not used\n",
                   settings.device.c_str());
    }
  }
  if (adapter != nullptr && !check_reach(request, "MP_EUIDEVICE", *adapter, failure)) return false;
  const bool one_node = request.bootstrap.local_tasks().size() == request.bootstrap.size();
  const bool by_network = settings.device == "sn_single" || settings.device == "sn_all" || settings.instances > 1;
  if (adapter == nullptr && !one_node && by_network) {
    if (!choose_among(request, candidates, choice, failure)) return false;
    if (!addresses.empty()) return true;
  }
  if (adapter == nullptr) adapter = default_adapter(adapters, one_node);
  if (adapter == nullptr) return fail(failure, FailureKind::socket, "this machine has no IPv4 address");
  addresses.push_back(adapter->address);
  return true;
}

// The adapter that has the address; nobody lists 127.0.0.2.
std::optional<ChosenAdapter> adapter_at(in_addr address) {
  for (const LocalAdapter& adapter : list_adapters()) {
    if (adapter.address.s_addr == address.s_addr) return ChosenAdapter{adapter.address, adapter.mask};
  }
  return std::nullopt;
}

// Of the adapter that has the address; the address itself where none lists it (127.0.0.2).
std::string name_of(in_addr address) {
  for (const LocalAdapter& adapter : list_adapters()) {
    if (adapter.address.s_addr == address.s_addr) return interface_of(adapter.name);
  }
  return to_text(address);
}

bool check_ports(const std::vector<UdpAddress>& list, OpenFailure& failure) {
  PeerAddress ignored;
  for (std::size_t task = 0; task < list.size(); ++task) {
    if (udp_address_of(list[task], ignored)) continue;
    return fail(failure, FailureKind::port,
                "the UDP address of task " + std::to_string(task) + " has port_no " + std::to_string(list[task].port) +
                    "; allowed: 1 to 65535");
  }
  return true;
}

// The address of a loopback stays, and its link.
std::shared_ptr<udp::LocalLinks> open_links(const NetworkRequest& request, std::span<const in_addr> addresses) {
  const auto is_loopback = [](in_addr address) { return ntohl(address.s_addr) >> 24 == 127; };
  if (addresses.size() < 2 && std::ranges::all_of(addresses, is_loopback)) return nullptr;
  auto links = std::make_shared<udp::LocalLinks>();
  std::string reason;
  if (links->open(reason)) return links;
  if (request.settings.info_level >= kLevelWarning) std::fprintf(stderr, "openlapi: %s\n", reason.c_str());
  return nullptr;
}

// What tells of links, for all adapters of a context, and which of their sockets is heard.
struct Tidings {
  std::shared_ptr<udp::LocalLinks> links;            // the kernel
  std::shared_ptr<PeerAdapters> adapters{};          // the daemon of this node, or other tasks
  std::shared_ptr<udp::SocketsOfContext> sockets{};  // null: there is one adapter
};

Tidings open_tidings(const NetworkRequest& request, std::span<const in_addr> addresses) {
  if (addresses.size() <= 1) return {open_links(request, addresses)};
  return {open_links(request, addresses), open_peer_adapters(request), std::make_shared<udp::SocketsOfContext>()};
}

// The port that an adapter is opened at; 0: one that the kernel chooses.
struct WantedPort {
  std::uint16_t number = 0;
  bool is_only_wish = false;  // if it is in use, any other one does: peers are told
};

bool open_one(const NetworkRequest& request, const Tidings& tidings, in_addr address, WantedPort port,
              OpenNetworks& result, OpenFailure& failure) {
  UdpConfig config;
  config.address = address;
  config.port = port.number;
  config.spare = request.spare;
  config.links = tidings.links;
  config.sockets = tidings.sockets;
  config.packet_size = static_cast<std::uint32_t>(request.settings.udp_packet_size);
  if (config.packet_size != 0) config.packet_size = std::max(config.packet_size, kLeastDatagram);
  UdpSetupError reason;
  std::unique_ptr<UdpTransport> transport = open_udp_transport(config, reason);
  if (transport == nullptr && port.is_only_wish && reason.kind == UdpSetupError::Kind::address_in_use) {
    config.port = 0;
    transport = open_udp_transport(config, reason);
  }
  if (transport == nullptr) {
    const bool packet_size = reason.kind == UdpSetupError::Kind::bad_packet_size;
    return fail(failure, packet_size ? FailureKind::packet_size : FailureKind::socket, reason.text);
  }
  tell(request.tell, Notice::path_found, request.settings.info_level,
       "task " + std::to_string(request.bootstrap.task()) + ", " + to_text(address) + " port " +
           std::to_string(transport->port()));
  const bool is_first = result.transports.empty();
  result.transports.push_back(traced(followed(std::move(transport), tidings.adapters, is_first)));
  Transport* const opened = result.transports.back().get();
  result.networks.push_back({.transport = opened,
                             .keys = {},
                             .addresses = {},
                             .device = to_text(address),
                             .adapter = name_of(address),
                             .followed = tidings.adapters != nullptr && tidings.adapters->knows_all(),
                             .has_link = [opened] { return udp_adapter_has_link(*opened); },
                             .address_text = udp_address_text,
                             .own_text = udp_host_text,
                             .own = adapter_at(address),
                             .place_of = place_of_ipv4});
  return true;
}

// Adapters that do not open, where others do. An error of the settings is none of these.
class NotOpened {
 public:
  // False: nothing else is tried.
  bool add(const OpenFailure& failure) {
    if (count_++ == 0) first_ = failure;
    return failure.kind == FailureKind::socket;
  }
  // False: none has opened; `failure` says why.
  bool tell_user(const NetworkRequest& request, const OpenNetworks& result, OpenFailure& failure) const {
    if (result.networks.empty()) {
      failure = first_;
      return false;
    }
    if (count_ == 0) return true;
    tell(request.tell, Notice::failover_without_adapters, request.settings.info_level,
         "Task " + std::to_string(request.bootstrap.task()) + " has " + std::to_string(result.networks.size()) +
             " of the " + std::to_string(result.networks.size() + count_) + " adapters that were asked for (" +
             first_.text + ").");
    return true;
  }

 private:
  std::size_t count_ = 0;
  OpenFailure first_{};
};

// The adapter that was opened last is one whose like the program's list does not have.
void make_unlisted(OpenNetworks& result, std::uint32_t tasks) {
  ContextRoutes::Network& network = result.networks.back();
  std::unique_ptr<Transport>& transport = result.transports.back();
  transport = unlisted(std::move(transport), network.number);
  network.transport = transport.get();
  network.addresses.assign(tasks, unlisted_address(network.number));
  network.own.reset();  // nor is it known which adapters of others are on its network
  network.place_of = nullptr;
  for (ContextRoutes::Network& each : result.networks) each.address_text = listed_address_text;
}

// Of an adapter that the list does not have: that of the task's first. Where another task is by the list no other
// socket may be, also before that task comes.
WantedPort unlisted_port(in_addr address, std::uint16_t first_port, const std::vector<UdpAddress>& list) {
  const bool belongs_to_a_task = std::ranges::any_of(list, [&](const UdpAddress& entry) {
    return entry.address.s_addr == address.s_addr && entry.port == first_port;
  });
  return {.number = belongs_to_a_task ? std::uint16_t{0} : first_port, .is_only_wish = true};
}

// True: the place's adapter is open and knows its peers. `is_listed`: the program's list has its addresses.
bool open_listed(const NetworkRequest& request, const Tidings& tidings, const AddressSource::LocalPlace& place,
                 bool is_listed, OpenNetworks& result, OpenFailure& failure) {
  std::vector<UdpAddress> list;
  if (!request.addresses->list(place, list, failure) || !check_ports(list, failure)) return false;
  const auto port = static_cast<std::uint16_t>(list[place.task].port);
  const WantedPort wanted = is_listed ? WantedPort{.number = port} : unlisted_port(place.address, port, list);
  if (!open_one(request, tidings, place.address, wanted, result, failure)) return false;
  ContextRoutes::Network& network = result.networks.back();
  network.number = place.adapter;
  if (!is_listed) {
    make_unlisted(result, place.tasks);
    return true;
  }
  for (const UdpAddress& given : list) udp_address_of(given, network.addresses.emplace_back());
  return true;
}

bool open_with_given_addresses(const NetworkRequest& request, const std::vector<in_addr>& locals, OpenNetworks& result,
                               OpenFailure& failure) {
  const std::uint32_t tasks = request.bootstrap.size();
  const bool for_each = request.addresses->for_each_adapter(tasks, locals.size());
  const std::size_t adapters = usable_of_named(locals.size(), "MP_LAPI_INET_ADDR", request.settings.info_level);
  const Tidings tidings = open_tidings(request, std::span(locals).first(adapters));
  NotOpened not_opened;
  for (std::size_t adapter = 0; adapter < adapters; ++adapter) {
    const AddressSource::LocalPlace place{.address = locals[adapter],
                                          .adapter = static_cast<std::uint32_t>(adapter),
                                          .adapters = static_cast<std::uint32_t>(locals.size()),
                                          .task = request.bootstrap.task(),
                                          .tasks = tasks};
    const bool is_listed = for_each || adapter == 0;
    if (open_listed(request, tidings, place, is_listed, result, failure)) continue;
    const bool leads_to_the_others = adapter == 0 && !for_each;
    if (!not_opened.add(failure) || leads_to_the_others) return false;
  }
  return not_opened.tell_user(request, result, failure);
}

bool publish(const NetworkRequest& request, const std::string& key, const std::vector<std::byte>& value,
             OpenFailure& failure) {
  std::string reason;
  return request.bootstrap.put(key, value, reason) ||
         fail(failure, FailureKind::exchange, "the UDP address could not be published: " + reason);
}

// Those that the user names keep their numbers, whatever becomes of the others.
bool open_all(const NetworkRequest& request, Choice& choice, OpenNetworks& result, std::vector<PeerAddress>& opened,
              OpenFailure& failure) {
  const bool chosen = !choice.chosen.empty();
  const Tidings tidings = open_tidings(request, choice.addresses);
  NotOpened not_opened;
  std::vector<ChosenAdapter> places;
  for (std::size_t adapter = 0; adapter < choice.addresses.size(); ++adapter) {
    if (!open_one(request, tidings, choice.addresses[adapter], {}, result, failure)) {
      if (!not_opened.add(failure)) return false;
      if (!chosen) opened.push_back({});
      continue;
    }
    ContextRoutes::Network& network = result.networks.back();
    network.number = opened.size();
    if (chosen) network.chosen = places.emplace_back(choice.chosen[adapter]);
    opened.push_back(network.transport->local_address());
  }
  choice.chosen = std::move(places);
  return not_opened.tell_user(request, result, failure);
}

bool open_and_publish(const NetworkRequest& request, Choice& choice, OpenNetworks& result, OpenFailure& failure) {
  const std::string keys = address_keys(request.instance, request.generation);
  std::vector<PeerAddress> opened;
  if (!open_all(request, choice, result, opened, failure)) return false;
  for (ContextRoutes::Network& network : result.networks) {
    network.keys = keys;
    network.tags = request.tags;
  }
  for (std::size_t number = 0; number < opened.size(); ++number) {
    const PublishedAddress published{.epoch = request.epoch,
                                     .address = opened[number],
                                     .tags = request.tags,
                                     .chosen = !choice.chosen.empty(),
                                     .adapters = static_cast<std::uint8_t>(opened.size())};
    if (!publish(request, keys + std::to_string(number), encode(published), failure)) return false;
  }
  result.published = true;
  return choice.chosen.empty() || publish(request, places_key(keys), encode(choice.chosen), failure);
}

}  // namespace

bool check_adapter_name(const char* name, OpenFailure& failure) {
  return named_adapter(name, list_adapters(), failure) != nullptr;
}

bool udp_address_of(const UdpAddress& given, PeerAddress& address) {
  if (given.port < 1 || given.port > 65535) return false;
  address = make_udp_address(given.address, static_cast<std::uint16_t>(given.port));
  return true;
}

bool open_udp_networks(const NetworkRequest& request, OpenNetworks& result, OpenFailure& failure) {
  const bool exchange = request.bootstrap.can_exchange();
  if (!exchange && request.settings.inet_addresses.empty()) {
    return fail(failure, FailureKind::network_statement,
                "MP_LAPI_INET_ADDR is not set; without a launcher it names the address and adapter that this task uses "
                "for UDP: @1:ADDRESS,ADAPTER, as @1:127.0.0.1,lo");
  }
  Choice choice;
  bool opened = choose_addresses(request, choice, failure);
  if (opened) {
    opened = exchange ? open_and_publish(request, choice, result, failure)
                      : open_with_given_addresses(request, choice.addresses, result, failure);
  }
  if (!opened) result = {};
  return opened;
}

}  // namespace openlapi
