// User space mode: the transports that are modules, best first.
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "api/wiring/info_level.h"
#include "api/wiring/modules.h"
#include "api/wiring/networks.h"
#include "api/wiring/trace.h"

namespace openlapi {

namespace {

// The guide's adapters of the High Performance Switch, and what leaves the choice to the library.
bool names_any_device(const std::string& device) {
  if (device.empty() || device == "sn_single" || device == "sn_all") return true;
  return device.size() > 2 && device.starts_with("sn") &&
         std::all_of(device.begin() + 2, device.end(), [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

// What the user wants, one for each instance of the network.
std::vector<std::string> preferred_devices(const NetworkRequest& request) {
  if (request.adapter_name != nullptr) return {request.adapter_name};
  if (request.settings.network_windows.empty()) return {request.settings.device};
  std::vector<std::string> devices;
  for (const NetworkInstance& window : request.settings.network_windows) devices.push_back(window.adapter);
  return devices;
}

// One network that was asked for: a module of this name, loaded or not.
struct Candidate {
  std::string name;
  TransportModule* module = nullptr;
  std::string reason;  // why it does not serve
};

class UserSpace {
 public:
  UserSpace(const NetworkRequest& request, OpenNetworks& result) : request_(request), result_(result) {}

  bool open(OpenFailure& failure);

 private:
  void load();
  std::string device_for(const std::string& preference);
  ModuleRequest module_request(const std::string& device) const;
  bool open_instance(std::size_t instance, const std::string& device, OpenFailure& failure);
  PeerAddress open_one(Candidate& candidate, const ModuleRequest& request, const std::string& key);
  bool tags_with(const Candidate& candidate) const {
    return request_.tags && candidate.module != nullptr && candidate.module->needs_tags();
  }
  int info_level() const { return request_.settings.info_level; }
  std::string tried() const;

  const NetworkRequest& request_;
  OpenNetworks& result_;
  std::vector<Candidate> candidates_;
};

void UserSpace::load() {
  const std::vector<std::string> folders = module_folders(own_library_path(), request_.settings.library_folder);
  for (const std::string& name : request_.settings.modules) {
    Candidate candidate{name, nullptr, {}};
    candidate.module = load_module(name, folders, candidate.reason);
    candidates_.push_back(std::move(candidate));
  }
}

// A name of AIX's is a preference only where some device has it.
std::string UserSpace::device_for(const std::string& preference) {
  if (names_any_device(preference)) return {};
  if (!names_aix_device(preference)) return preference;
  for (const Candidate& candidate : candidates_) {
    if (candidate.module == nullptr) continue;
    std::string ignored;
    for (const ModuleDevice& device : candidate.module->devices(ignored)) {
      if (device.name == preference) return preference;
    }
  }
  if (info_level() >= kLevelWarning) {
    std::fprintf(stderr, "openlapi: '%s' is no adapter of this machine and is not used\n", preference.c_str());
  }
  return {};
}

ModuleRequest UserSpace::module_request(const std::string& device) const {
  const std::vector<std::uint32_t>& local = request_.bootstrap.local_tasks();
  const auto self = std::find(local.begin(), local.end(), request_.bootstrap.rank());
  ModuleRequest request;
  request.device = device;
  request.packet_size = static_cast<std::uint32_t>(request_.settings.udp_packet_size);
  request.packet_service = request_.settings.packet_service;
  request.instance = request_.instance;
  request.task = request_.bootstrap.rank();
  request.tasks = request_.bootstrap.size();
  request.local_number = static_cast<std::uint32_t>(self - local.begin());
  request.local_tasks = static_cast<std::uint32_t>(local.size());
  request.link_status = preferred_devices(request_).size() > 1;
  return request;
}

// The transport's address; none: the candidate has a reason.
PeerAddress UserSpace::open_one(Candidate& candidate, const ModuleRequest& request, const std::string& key) {
  if (candidate.module == nullptr) return {};
  ModuleRequest own = request;
  const auto arguments = request_.settings.module_arguments.find(candidate.name);
  if (arguments != request_.settings.module_arguments.end()) own.arguments = arguments->second;
  ModuleTransport opened = candidate.module->open(own);
  if (opened.transport == nullptr) {
    candidate.reason = opened.reason;
    return {};
  }
  const PeerAddress address = opened.transport->local_address();
  tell(request_.tell, Notice::path_found, request_.settings.info_level,
       "task " + std::to_string(request.task) + ", " + candidate.name + " " + opened.device);
  result_.transports.push_back(traced(std::move(opened.transport)));
  result_.networks.push_back({.transport = result_.transports.back().get(),
                              .key = key,
                              .addresses = {},
                              .device = opened.device,
                              .adapter = opened.device.substr(0, opened.device.find(',')),
                              .tags = tags_with(candidate)});
  return address;
}

// Every module has an address or none, and says so: who asks need not wait for what never comes.
bool UserSpace::open_instance(std::size_t instance, const std::string& device, OpenFailure& failure) {
  const ModuleRequest request = module_request(device);
  for (Candidate& candidate : candidates_) {
    const std::string key = address_key(request.instance, request_.generation, instance) + "." + candidate.name;
    const PeerAddress address = open_one(candidate, request, key);
    std::string reason;
    if (!request_.bootstrap.put(key, encode({request_.epoch, address, tags_with(candidate)}), reason)) {
      return fail(failure, FailureKind::exchange,
                  "the address of " + candidate.name + " could not be published: " + reason);
    }
  }
  return true;
}

std::string UserSpace::tried() const {
  std::string text;
  for (const Candidate& candidate : candidates_) {
    text += (text.empty() ? "" : "; ") + candidate.name + ": " + candidate.reason;
  }
  return text;
}

bool UserSpace::open(OpenFailure& failure) {
  load();
  const std::vector<std::string> preferences = preferred_devices(request_);
  for (std::size_t instance = 0; instance < preferences.size(); ++instance) {
    if (!open_instance(instance, device_for(preferences[instance]), failure)) return false;
  }
  if (result_.networks.empty()) {
    return fail(failure, FailureKind::transport,
                "MP_EUILIB=us: no user space transport can be used (" + tried() +
                    "); lapi_info has all devices; MP_EUILIB=ip needs none of them");
  }
  if (result_.networks.size() < preferences.size()) {
    tell(request_.tell, Notice::failover_without_adapters, info_level(),
         "Task " + std::to_string(request_.bootstrap.rank()) + " has " + std::to_string(result_.networks.size()) +
             " of the " + std::to_string(preferences.size()) + " adapters that were asked for (" + tried() + ").");
  }
  if (info_level() >= kLevelInformation) {
    for (const Candidate& candidate : candidates_) {
      if (candidate.reason.empty()) continue;
      std::fprintf(stderr, "openlapi: %s is not used: %s\n", candidate.name.c_str(), candidate.reason.c_str());
    }
  }
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
