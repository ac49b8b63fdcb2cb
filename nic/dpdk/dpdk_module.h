// The DPDK transport as a module that the library loads.
#pragma once

#include <string>
#include <vector>

#include "dataplane/transport/transport_module.h"
#include "nic/dpdk/dpdk_transport.h"
#include "nic/dpdk/pci_adapters.h"

namespace openlapi::dpdk {

// Chooses the devices that a context uses. False: there is none, and `reason` says why. Works without EAL.
//   ModuleRequest::device: names of devices, separated by spaces; all become ports of one transport. Each is a PCI
//     address, a virtual device with its arguments, the name of a device that EAL's arguments make, or the name of the
//     kernel's interface on an adapter that the driver shares with the kernel. Empty: all devices that EAL's arguments
//     make; if they make none, one of the adapters that are bound to DPDK, a different one for each context of each
//     task of the node.
//   ModuleRequest::arguments: EAL's arguments.
//   ModuleRequest::instance: a task's second context would find the devices in use; with memif it gets another
//     interface on the same socket.
bool choose_devices(const ModuleRequest& request, const std::vector<PciAdapter>& adapters, DpdkConfig& config,
                    std::string& reason);

// What EAL's arguments make, or if they make nothing the adapters of this machine. Those are eligible that a context
// may open which names none. memif's devices lead to one peer each and are one device together.
std::vector<ModuleDevice> list_devices(const ModuleRequest& request, const std::vector<PciAdapter>& adapters);

class DpdkModule final : public TransportModule {
 public:
  std::string_view name() const override { return "dpdk"; }
  std::vector<ModuleDevice> devices(const ModuleRequest& request, std::string& reason) override;
  ModuleTransport open(const ModuleRequest& request) override;
  bool has_link(const Transport& transport) override;
  bool network_of(const Transport& transport, ModuleDevice& device) override;
  // Its addresses are its own.
  bool adapter_address(const PeerAddress&, std::array<std::uint8_t, 16>&) override { return false; }
};

}  // namespace openlapi::dpdk
