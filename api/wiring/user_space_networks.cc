// User space mode: the transports that are modules, best first.
#include <algorithm>
#include <cstdio>
#include <set>

#include "api/wiring/adapter_choice.h"
#include "api/wiring/device_choice.h"
#include "api/wiring/followed_transport.h"
#include "api/wiring/info_level.h"
#include "api/wiring/modules.h"
#include "api/wiring/network_agreement.h"
#include "api/wiring/networks.h"
#include "api/wiring/trace.h"
#include "dataplane/base/adapter_memory.h"

namespace openlapi {

namespace {

// One network that was asked for: a module of this name, loaded or not.
struct Candidate {
  std::string name;
  TransportModule* module = nullptr;
  std::string reason;       // why it does not serve
  std::size_t devices = 0;  // that it was to open
  std::vector<ModuleDevice> present{};        // where the library chooses
  std::optional<ChosenAdapter> network = {};  // on which all tasks have agreed; none: there is no need
  std::vector<PublishedAddress> addresses{};
  bool chosen = false;                  // by the library
  std::vector<ChosenAdapter> places{};  // of the adapters; empty: they are not known of all
};

class UserSpace {
 public:
  UserSpace(const NetworkRequest& request, OpenNetworks& result) : request_(request), result_(result) {}

  bool open(OpenFailure& failure);

 private:
  void load();
  void load_drivers(Candidate& candidate) const;
  std::vector<std::string> named_devices() const;
  std::string device_for(const std::string& preference);
  bool find_devices(bool named, OpenFailure& failure);
  std::vector<ChosenDevice> devices_of(const Candidate& candidate, const std::vector<std::string>& named) const;
  ModuleRequest module_request() const;
  void open_devices(Candidate& candidate, const std::vector<std::string>& named);
  PeerAddress open_one(Candidate& candidate, const ModuleRequest& request, const ChosenDevice& device);
  void find_places(Candidate& candidate) const;
  bool publish(const Candidate& candidate, OpenFailure& failure) const;
  bool put(const std::string& key, const std::vector<std::byte>& value, OpenFailure& failure) const;
  std::string keys_of(const Candidate& candidate) const {
    return address_keys(request_.instance, request_.generation) + candidate.name + ".";
  }
  int info_level() const { return request_.settings.info_level; }
  void say_what_is_missing() const;
  std::string tried() const;

  const NetworkRequest& request_;
  OpenNetworks& result_;
  std::vector<Candidate> candidates_{};
  std::shared_ptr<PeerAdapters> adapters_{};  // what others say of theirs; null: nobody does, or no need
  bool is_one_followed_ = false;              // which wakes whoever sleeps
};

void UserSpace::load() {
  const std::vector<std::string> folders = module_folders(own_library_path(), request_.settings.library_folder);
  for (const std::string& name : request_.settings.modules) {
    Candidate candidate{name, nullptr, {}};
    candidate.module = load_module(name, folders, candidate.reason);
    if (candidate.module != nullptr && request_.when_loaded != nullptr) load_drivers(candidate);
    candidates_.push_back(std::move(candidate));
  }
}

// The module looks for its devices, and with them loads what drives them.
void UserSpace::load_drivers(Candidate& candidate) const {
  request_.when_loaded();
  std::string ignored;
  candidate.present = candidate.module->devices(module_request(), ignored);
  request_.when_loaded();
}

// What the user names, one for each instance; none: the library chooses.
std::vector<std::string> UserSpace::named_devices() const {
  const Settings& settings = request_.settings;
  if (request_.adapter_name != nullptr) return {request_.adapter_name};
  std::vector<std::string> devices;
  for (const NetworkInstance& window : settings.network_windows) devices.push_back(window.adapter);
  devices.resize(usable_of_named(devices.size(), "MP_LAPI_NETWORK", settings.info_level));
  if (devices.empty() && !names_any_adapter(settings.device)) devices.push_back(settings.device);
  return devices;
}

// A name of AIX's is a preference only where some device has it.
std::string UserSpace::device_for(const std::string& preference) {
  if (names_any_adapter(preference)) return {};
  if (!names_aix_device(preference)) return preference;
  for (const Candidate& candidate : candidates_) {
    if (candidate.module == nullptr) continue;
    std::string ignored;
    for (const ModuleDevice& device : candidate.module->devices(module_request(), ignored)) {
      if (device.name == preference) return preference;
    }
  }
  if (info_level() >= kLevelWarning) {
    std::fprintf(stderr, "openlapi: '%s' is no adapter of this machine and is not used\n", preference.c_str());
  }
  return {};
}

ModuleRequest UserSpace::module_request() const {
  const std::vector<std::uint32_t>& local = request_.bootstrap.local_tasks();
  const auto self = std::find(local.begin(), local.end(), request_.bootstrap.task());
  ModuleRequest request;
  request.variables = request_.settings.module_variables;
  request.packet_size = static_cast<std::uint32_t>(request_.settings.udp_packet_size);
  request.instance = request_.instance;
  request.task = request_.bootstrap.task();
  request.tasks = request_.bootstrap.size();
  request.local_number = static_cast<std::uint32_t>(self - local.begin());
  request.local_tasks = static_cast<std::uint32_t>(local.size());
  request.tell = info_level() >= kLevelWarning;
  request.adapter_memory = &AdapterMemory::of_process();
  return request;
}

// Those that are present where the library chooses. Of one network all tasks take the same; one that names its devices
// looks for no others.
bool UserSpace::find_devices(bool named, OpenFailure& failure) {
  const Settings& settings = request_.settings;
  std::vector<OfferedNetworks> offers;
  for (Candidate& candidate : candidates_) {
    std::string ignored;
    if (named) {
      candidate.present.clear();
    } else if (candidate.module != nullptr && candidate.present.empty()) {
      candidate.present = candidate.module->devices(module_request(), ignored);
    }
    offers.push_back({.transport = candidate.name,
                      .networks = networks_of(eligible_candidates(candidate.present, list_adapters()))});
  }
  if (!tell_networks(request_, offers, failure)) return false;
  const bool one_network = settings.device != "sn_all" && (settings.device == "sn_single" || settings.instances > 1);
  if (named || !one_network || !settings.network_windows.empty()) return true;
  if (!agree_on_networks(request_, offers, failure)) return false;
  for (std::size_t number = 0; number != offers.size(); ++number) candidates_[number].network = offers[number].agreed;
  return true;
}

std::vector<ChosenDevice> UserSpace::devices_of(const Candidate& candidate,
                                                const std::vector<std::string>& named) const {
  std::vector<ChosenDevice> devices;
  for (const std::string& name : named) devices.push_back({name, {}});
  if (!devices.empty() || candidate.module == nullptr) return devices;
  const Settings& settings = request_.settings;
  const ModuleRequest request = module_request();
  const std::size_t windows = settings.network_windows.size();
  const int instances = windows != 0 ? static_cast<int>(windows) : std::max(settings.instances, 1);
  DeviceChoice choice =
      choose_devices(candidate.present, list_adapters(),
                     {.all_networks = windows != 0 ? windows > 1 : settings.device == "sn_all",
                      .first_network = instances == 1 && (windows != 0 || settings.device != "sn_single"),
                      .network = candidate.network,
                      .instances = instances,
                      .context = request.instance,
                      .local_number = request.local_number});
  if (request.local_number == 0 && windows == 0) say_what_is_left_out(choice.wanted, settings.info_level);
  if (windows != 0 && choice.chosen.size() > windows) choice.chosen.resize(windows);
  return std::move(choice.chosen);
}

// The transport's address; none: the candidate has a reason.
PeerAddress UserSpace::open_one(Candidate& candidate, const ModuleRequest& request, const ChosenDevice& device) {
  TransportModule* const module = candidate.module;
  ModuleTransport opened = module->open(request);
  if (opened.transport == nullptr) {
    candidate.reason = opened.reason;
    return {};
  }
  const PeerAddress address = opened.transport->local_address();
  tell(request_.tell, Notice::path_found, request_.settings.info_level,
       "task " + std::to_string(request.task) + ", " + candidate.name + " " + opened.device);
  const Transport* const own = opened.transport.get();
  auto transport = followed(
      std::move(opened.transport), request.link_status ? adapters_ : nullptr, !is_one_followed_,
      [module](const PeerAddress& peer, PacketAddress& found) { return module->adapter_address(peer, found); },
      AdapterKind::port);
  const bool is_followed = transport.get() != own;
  is_one_followed_ |= is_followed;
  ModuleDevice described;
  const bool tells_place = request.link_status || device.place.has_value();
  const bool is_on_network = tells_place && module->network_of(*own, described);
  result_.transports.push_back(traced(std::move(transport)));
  result_.networks.push_back(
      {.transport = result_.transports.back().get(),
       .keys = keys_of(candidate),
       .number = candidate.addresses.size(),
       .addresses = {},
       .device = opened.device,
       .adapter = opened.device.substr(0, std::min(opened.device.find(','), opened.device.find(" ("))),
       .tags = request_.tags,
       .followed = is_followed && adapters_->knows_all(),
       .has_link = [module, own] { return module->has_link(*own); },
       .chosen = device.place,
       .own = is_on_network ? std::optional(place_of(described, list_adapters())) : std::nullopt});
  return address;
}

// Those that the user names keep their numbers, whatever becomes of the others.
void UserSpace::open_devices(Candidate& candidate, const std::vector<std::string>& named) {
  const std::vector<ChosenDevice> devices = devices_of(candidate, named);
  candidate.devices = devices.size();
  ModuleRequest request = module_request();
  request.link_status = devices.size() > 1;
  if (request.link_status && adapters_ == nullptr) adapters_ = open_peer_adapters(request_);
  for (const ChosenDevice& device : devices) {
    request.device = device.name;
    const PeerAddress address = candidate.module != nullptr ? open_one(candidate, request, device) : PeerAddress{};
    if (address.length == 0 && named.empty()) continue;
    if (address.length != 0) result_.networks.back().is_last_resort = named.empty();
    candidate.addresses.push_back({.epoch = request_.epoch, .address = address, .tags = request_.tags});
    if (device.place) {
      candidate.chosen = true;
      candidate.places.push_back(*device.place);
    }
  }
  if (request.link_status && !candidate.chosen) find_places(candidate);
}

// Where the devices are that the user has named, if that is known of all that are open.
void UserSpace::find_places(Candidate& candidate) const {
  candidate.places.resize(candidate.addresses.size());
  for (const ContextRoutes::Network& network : result_.networks) {
    if (network.keys != keys_of(candidate)) continue;
    if (!network.own) return candidate.places.clear();
    candidate.places[network.number] = *network.own;
  }
}

bool UserSpace::put(const std::string& key, const std::vector<std::byte>& value, OpenFailure& failure) const {
  std::string reason;
  return request_.bootstrap.put(key, value, reason) ||
         fail(failure, FailureKind::exchange, "an address of user space mode could not be published: " + reason);
}

// Every module has an address or none, and says so: whoever asks need not wait for what never comes.
bool UserSpace::publish(const Candidate& candidate, OpenFailure& failure) const {
  std::vector<PublishedAddress> addresses = candidate.addresses;
  if (addresses.empty()) addresses.push_back({.epoch = request_.epoch, .address = {}});
  for (std::size_t number = 0; number != addresses.size(); ++number) {
    addresses[number].chosen = candidate.chosen;
    addresses[number].placed = addresses.size() > 1 && !candidate.places.empty();
    addresses[number].adapters = static_cast<std::uint8_t>(addresses.size());
    if (!put(keys_of(candidate) + std::to_string(number), encode(addresses[number]), failure)) return false;
  }
  return candidate.places.empty() || put(places_key(keys_of(candidate)), encode(candidate.places), failure);
}

std::string UserSpace::tried() const {
  std::string text;
  for (const Candidate& candidate : candidates_) {
    text += (text.empty() ? "" : "; ") + candidate.name + ": " + candidate.reason;
  }
  return text;
}

// An adapter may be open by one module and not by another.
void UserSpace::say_what_is_missing() const {
  std::set<std::size_t> opened;
  for (const ContextRoutes::Network& network : result_.networks) opened.insert(network.number);
  std::size_t asked = 0;
  for (const Candidate& candidate : candidates_) {
    if (!candidate.addresses.empty()) asked = std::max(asked, candidate.devices);
  }
  if (opened.size() < asked) {
    tell(request_.tell, Notice::failover_without_adapters, info_level(),
         "Task " + std::to_string(request_.bootstrap.task()) + " has " + std::to_string(opened.size()) + " of the " +
             std::to_string(asked) + " adapters that were asked for (" + tried() + ").");
  }
  if (info_level() < kLevelInformation) return;
  for (const Candidate& candidate : candidates_) {
    if (candidate.reason.empty()) continue;
    std::fprintf(stderr, "openlapi: %s is not used: %s\n", candidate.name.c_str(), candidate.reason.c_str());
  }
}

bool UserSpace::open(OpenFailure& failure) {
  load();
  std::vector<std::string> named = named_devices();
  for (std::string& name : named) name = device_for(name);
  // Windows that all leave the choice to the library name nothing.
  if (std::ranges::all_of(named, &std::string::empty)) named.clear();
  if (!find_devices(!named.empty(), failure)) return false;
  for (Candidate& candidate : candidates_) {
    open_devices(candidate, named);
    if (!publish(candidate, failure)) return false;
  }
  if (result_.networks.empty()) {
    return fail(failure, FailureKind::transport,
                "MP_EUILIB=us: no user space transport can be used (" + tried() +
                    "); lapi_info has all devices; MP_EUILIB=ip needs none of them");
  }
  say_what_is_missing();
  result_.published = true;
  return true;
}

}  // namespace

bool open_user_space_networks(const NetworkRequest& request, OpenNetworks& result, OpenFailure& failure) {
  bool opened = false;
  if (request.bootstrap.can_exchange()) {
    opened = UserSpace(request, result).open(failure);
  } else {
    fail(failure, FailureKind::network_statement,
         "MP_EUILIB=us without a launcher: MP_LAPI_NETWORK is not set; allowed is @count:window,adapter[:...], the "
         "windows that lapi_ntbl has reserved for this task");
  }
  if (!opened) result = {};
  return opened;
}

}  // namespace openlapi
