// The devices that there are, for people and for the choice among several.
#include <algorithm>

#include "nic/dpdk/device_preference.h"
#include "nic/dpdk/dpdk_module.h"
#include "nic/dpdk/network_interface.h"
#include "nic/modules/dpdk_announcement.h"

namespace openlapi::dpdk {
namespace {

// Of the adapters that are given to programs each task of the node has its own ones, as next_given() has it.
ModuleDevice described(const PciAdapter& adapter) {
  ModuleDevice device;
  device.name = adapter.address;
  device.exclusive = true;
  device.kernel_name = adapter.interface.empty() ? adapter.address : adapter.interface;
  device.state = adapter.driver.empty() ? "no driver" : "driver " + adapter.driver;
  if (!adapter.interface.empty()) device.state += ", interface " + adapter.interface;
  if (adapter.given() || adapter.shared()) {
    device.reason = adapter.lacks;
    return device;
  }
  device.reason = "it is not given to DPDK: bind it to vfio-pci (dpdk-devbind.py -b vfio-pci " + adapter.address + ")";
  return device;
}

// `arguments`: all that is said of it.
ModuleDevice made(const std::string& arguments, const std::vector<PciAdapter>& adapters) {
  ModuleDevice device;
  device.name = name_of(arguments);
  device.exclusive = true;
  device.chosen = true;
  device.eligible = true;
  const std::string address = pci_address(device.name);
  const auto adapter = std::ranges::find(adapters, address, &PciAdapter::address);
  if (adapter != adapters.end()) {
    device.kernel_name = adapter->interface.empty() ? address : adapter->interface;
  } else {
    device.kernel_name = argument_of(arguments, "iface");
  }
  device.state = "made by OPENLAPI_DPDK_ARGUMENTS";
  if (begins_with_any(device.name, {"net_af_packet"}) && !packet_sockets_allowed()) {
    device.reason = kNoPacketSockets;
    device.chosen = device.eligible = false;
    return device;
  }
  const bool is_on_interface = interface_mtu(device.kernel_name) != 0;
  if (!is_on_interface) return device;
  device.eligible = interface_runs(device.kernel_name);
  device.state += ", interface " + device.kernel_name + (device.eligible ? "" : ", down");
  return device;
}

std::vector<ModuleDevice> made_devices(const std::vector<std::string>& named, const std::vector<PciAdapter>& adapters) {
  std::vector<ModuleDevice> devices;
  ModuleDevice* memif = nullptr;
  devices.reserve(named.size());
  for (const std::string& arguments : named) {
    if (memif != nullptr && is_memif(arguments)) {
      memif->name += " " + std::string(name_of(arguments));
      continue;
    }
    devices.push_back(made(arguments, adapters));
    if (is_memif(arguments)) memif = &devices.back();
  }
  return devices;
}

}  // namespace

std::vector<ModuleDevice> list_devices(const ModuleRequest& request, const std::vector<PciAdapter>& adapters) {
  const std::vector<std::string> named = named_devices(split_words(request.variable(kArgumentsVariable)));
  if (!named.empty()) return made_devices(named, adapters);
  std::vector<ModuleDevice> devices;
  std::size_t given = 0;
  for (const PciAdapter& adapter : adapters) {
    ModuleDevice& device = devices.emplace_back(described(adapter));
    if (!adapter.given() || !adapter.lacks.empty()) continue;
    device.chosen = given == 0;
    device.eligible = given++ % request.local_tasks == request.local_number;
  }
  return devices;
}

}  // namespace openlapi::dpdk
