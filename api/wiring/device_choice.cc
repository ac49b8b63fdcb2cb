#include "api/wiring/device_choice.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "api/wiring/adapter_choice.h"
#include "dataplane/poller/machine_cores.h"

namespace openlapi {
namespace {

// Without hardware it is one of its own.
std::string card_or_name(const ModuleDevice& device) {
  if (!device.kernel_name.empty()) {
    for (const char* folder : {"/sys/class/infiniband/", "/sys/class/net/", "/sys/bus/pci/devices/"}) {
      std::error_code missing;
      const std::string suffix = folder == std::string("/sys/bus/pci/devices/") ? "" : "/device";
      const std::string place = std::filesystem::canonical(folder + device.kernel_name + suffix, missing);
      if (!missing) return card_of(place);
    }
  }
  return device.kernel_name.empty() ? device.name : device.kernel_name;
}

bool is_far(const ModuleDevice& device, const std::vector<int>& allowed) {
  const std::vector<int> near = processors_near(device.kernel_name);
  return !near.empty() && std::ranges::find_first_of(near, allowed) == near.end();
}

}  // namespace

ChosenAdapter place_of(const ModuleDevice& device, const std::vector<LocalAdapter>& adapters) {
  const in_addr own{htonl(device.address)};
  const auto found = std::ranges::find_if(adapters, [&](const LocalAdapter& adapter) {
    return device.address != 0 ? adapter.address.s_addr == own.s_addr
                               : interface_of(adapter.name) == device.kernel_name;
  });
  if (found == adapters.end()) return {own, {}, device.network};
  return {found->address, found->mask, device.network};
}

std::vector<AdapterCandidate> eligible_candidates(const std::vector<ModuleDevice>& devices,
                                                  const std::vector<LocalAdapter>& adapters) {
  std::vector<AdapterCandidate> candidates;
  const std::vector<int> allowed = allowed_processors();
  for (const ModuleDevice& device : devices) {
    if (!device.eligible) continue;
    candidates.push_back({place_of(device, adapters), device.name, card_or_name(device), is_far(device, allowed)});
  }
  return candidates;
}

DeviceChoice choose_devices(const std::vector<ModuleDevice>& devices, const std::vector<LocalAdapter>& adapters,
                            const DeviceRequest& request) {
  const std::vector<AdapterCandidate> candidates = eligible_candidates(devices, adapters);
  const bool exclusive =
      std::ranges::any_of(devices, [](const ModuleDevice& device) { return device.eligible && device.exclusive; });
  const bool several = request.all_networks || request.instances > 1;
  DeviceChoice choice;
  if (!exclusive || several) {
    const AdapterRequest wanted{.all_networks = request.all_networks,
                                .first_network = request.first_network,
                                .network = request.network,
                                .instances = request.instances,
                                .earlier = exclusive ? static_cast<int>(request.context - 1) * request.instances : 0,
                                .turn = exclusive ? 0 : request.local_number + request.context - 1};
    choice.wanted = count_wanted(candidates, wanted);
    for (const std::size_t number : choose_among(candidates, wanted)) {
      choice.chosen.push_back({candidates[number].device, candidates[number].place});
    }
  }
  if (choice.chosen.empty()) choice.chosen.push_back({});
  return choice;
}

}  // namespace openlapi
