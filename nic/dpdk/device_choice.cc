#include <algorithm>

#include "dataplane/base/whole_number.h"
#include "nic/dpdk/device_preference.h"
#include "nic/dpdk/dpdk_module.h"
#include "nic/dpdk/network_interface.h"
#include "nic/modules/dpdk_announcement.h"

namespace openlapi::dpdk {
namespace {

constexpr std::uint32_t kFirstLinkLocal = 0xa9fe0100;  // 169.254.1.0 (RFC 3927)
constexpr std::uint32_t kLinkLocals = 254 * 256;

// An address on PCI has two forms.
bool is_same_name(std::string_view one, std::string_view other) {
  const std::string address = pci_address(std::string(one));
  return one == other || (!address.empty() && address == pci_address(std::string(other)));
}

// The one of the arguments' devices that has this name; empty: none.
std::string made_device(const std::vector<std::string>& made, const std::string& name) {
  const auto found = std::ranges::find_if(
      made, [&](const std::string& device) { return is_same_name(name_of(device), name_of(name)); });
  return found == made.end() ? std::string() : *found;
}

// With the arguments that it was made with, where EAL's arguments make it.
std::string whole_device(const std::vector<std::string>& made, const std::string& device) {
  const std::string found = made_device(made, device);
  return found.empty() ? device : found;
}

// As DPDK names it; empty: `reason` says why it cannot be used.
std::string device_for(const std::string& word, const std::vector<PciAdapter>& adapters, std::string& reason) {
  const std::string name(name_of(word));
  if (begins_with_any(word, {"net_af_packet"}) && !packet_sockets_allowed()) {
    reason = name + ": " + kNoPacketSockets;
    return {};
  }
  if (is_virtual(word)) return word;
  const std::string address = pci_address(name);
  const auto adapter = std::find_if(adapters.begin(), adapters.end(), [&](const PciAdapter& other) {
    return address.empty() ? other.interface == word : other.address == address;
  });
  if (adapter != adapters.end() && !adapter->lacks.empty()) {
    reason = word + ": " + adapter->lacks;
    return {};
  }
  if (!address.empty()) return address + word.substr(name.size());
  if (adapter != adapters.end() && adapter->shared()) return adapter->address;
  if (adapter != adapters.end() || interface_mtu(word) != 0) {
    reason = "'" + word + "' is driven by the kernel" +
             (adapter == adapters.end() ? "" : "'s " + adapter->driver + " (" + adapter->address + ")") +
             ": bind its adapter to vfio-pci and name that by its PCI address, or name net_af_packet0,iface=" + word;
    return {};
  }
  reason = "'" + word +
           "' is no DPDK device: allowed is a PCI address (0000:3b:00.0), a virtual device with its arguments "
           "(net_memif0,role=server,socket=/run/pair), one that OPENLAPI_DPDK_ARGUMENTS makes by --vdev, and several "
           "with spaces between them";
  return {};
}

bool next_given(const ModuleRequest& request, const std::vector<PciAdapter>& adapters, DpdkConfig& config,
                std::string& reason) {
  std::vector<std::string> given;
  std::string lacking;
  for (const PciAdapter& adapter : adapters) {
    if (adapter.given() && adapter.lacks.empty()) given.push_back(adapter.address);
    if (adapter.given() && !adapter.lacks.empty() && lacking.empty()) lacking = adapter.address + ": " + adapter.lacks;
  }
  const std::size_t number = (request.instance - 1) * request.local_tasks + request.local_number;
  if (number < given.size()) {
    config.devices = {given[number]};
    return true;
  }
  if (given.empty() && !lacking.empty()) {
    reason = "of the adapters that are bound to DPDK none can be used; " + lacking;
  } else if (given.empty()) {
    reason =
        "no adapter of this machine was given to DPDK (bound to vfio-pci), and neither MP_EUIDEVICE nor "
        "OPENLAPI_DPDK_ARGUMENTS names a device";
  } else {
    reason = std::to_string(given.size()) + " adapters were given to DPDK, and each context of the " +
             std::to_string(request.local_tasks) +
             " tasks of this machine needs one: MP_EUIDEVICE names those of each task";
  }
  return false;
}

// What a variable says of this device (with its arguments): by its name, by that of the interface on it, or of all.
std::string_view said_of(const std::string& device, std::string_view text, const std::vector<PciAdapter>& adapters) {
  const std::string name(name_of(device));
  const auto adapter = std::ranges::find(adapters, pci_address(name), &PciAdapter::address);
  const auto is_meant = [&](const OfDevice& said) {
    return is_same_name(said.device, name) || (adapter != adapters.end() && said.device == adapter->interface) ||
           said.device == argument_of(device, "iface");
  };
  const std::vector<OfDevice> all = values_of_devices(text);
  const auto named =
      std::ranges::find_if(all, [&](const OfDevice& said) { return !said.device.empty() && is_meant(said); });
  if (named != all.end()) return named->value;
  const auto any = std::ranges::find_if(all, [](const OfDevice& said) { return said.device.empty(); });
  return any == all.end() ? std::string_view() : any->value;
}

// Of the first device, whose address all have. False: the task's number leads out of the network.
bool choose_address(const ModuleRequest& request, const std::vector<std::string>& made,
                    const std::vector<PciAdapter>& adapters, DpdkConfig& config, std::string& reason) {
  const std::string device = whole_device(made, config.devices.front());
  const std::string variable = request.variable(kAddressVariable);
  const std::string routers = request.variable(kGatewayVariable);
  const std::string_view said = said_of(device, variable, adapters);
  const auto own = own_address(said);
  const std::string_view router = said_of(device, routers, adapters);
  if (!own && variable.empty() && !router.empty()) {
    reason = std::string(kGatewayVariable) + "=" + routers + ": it counts with " + std::string(kAddressVariable) +
             " alone, which is not set";
    return false;
  }
  if (!own) return true;
  config.network.said = variable;
  config.network.of_interface = own->of_interface;
  config.network.gateway = machine_address(router).value_or(0);
  if (own->of_interface) return true;
  config.address = own->address + (own->plus_task ? request.task : 0);
  config.network.bits = own->bits;
  const bool fits = is_machine_address(config.address) && is_host_in(config.address, own->bits) &&
                    same_network(config.address, own->address, own->bits) && config.address >= own->address;
  if (!fits) {
    reason = std::string(kAddressVariable) + "=" + variable + ": for task " + std::to_string(request.task) +
             " that is " + ipv4_to_text(config.address) + ", which is no adapter's in this network of " +
             std::to_string(own->bits) + " bits";
    return false;
  }
  const std::string fault = fault_of_router(config.network, config.address, std::string(name_of(device)));
  if (!fault.empty()) reason = std::string(kGatewayVariable) + "=" + routers + ": " + fault;
  return fault.empty();
}

// The least that the devices carry, and no more than the user wants of a packet. 0: the driver's.
std::uint32_t mtu_for(const DpdkConfig& config, const std::vector<std::string>& made,
                      const std::vector<PciAdapter>& adapters, std::uint32_t packet_size) {
  std::uint32_t mtu = packet_size == 0 ? 0 : std::min(packet_size + kHeaderInDatagram, kLargestMtu);
  for (const std::string& device : config.devices) {
    const std::string arguments = made_device(made, device);
    const std::string whole = whole_device(made, device);
    const auto adapter = std::ranges::find(adapters, pci_address(std::string(name_of(device))), &PciAdapter::address);
    const bool shared = adapter != adapters.end() && adapter->shared();
    const std::uint32_t carries = shared
                                      ? interface_mtu(adapter->interface)
                                      : mtu_of(whole, interface_mtu(argument_of(whole, "iface")), !arguments.empty());
    if (carries != 0) mtu = mtu == 0 ? std::min(carries, kLargestMtu) : std::min(mtu, carries);
  }
  return mtu;
}

}  // namespace

bool choose_devices(const ModuleRequest& request, const std::vector<PciAdapter>& adapters, DpdkConfig& config,
                    std::string& reason) {
  const std::vector<std::string> made = named_devices(split_words(request.variable(kArgumentsVariable)));
  config.eal_arguments = request.variable(kArgumentsVariable);
  config.marks = {.tag = vlan_tag(request.variable(kVlanVariable)),
                  .dscp = whole_number<std::uint8_t>(request.variable(kDscpVariable)).value_or(0)};
  config.devices.clear();
  for (const std::string& word : split_words(request.device)) {
    config.devices.push_back(device_for(word, adapters, reason));
    if (config.devices.back().empty()) return false;
  }
  if (config.devices.empty()) {
    for (const std::string& device : made) config.devices.emplace_back(name_of(device));
  }
  if (config.devices.empty() && !next_given(request, adapters, config, reason)) return false;
  config.mtu = mtu_for(config, made, adapters, request.packet_size);
  for (std::string& device : config.devices) {
    if (is_memif(device) && request.instance > 1) {
      device = memif_of_instance(whole_device(made, device), request.instance);
    }
  }
  // Every memif is a network of two, where the tasks' numbers are unique. Hardware addresses are elsewhere, too.
  if (std::all_of(config.devices.begin(), config.devices.end(), is_memif)) {
    config.address = kFirstLinkLocal + request.task % kLinkLocals;
    return true;
  }
  return choose_address(request, made, adapters, config, reason);
}

}  // namespace openlapi::dpdk
