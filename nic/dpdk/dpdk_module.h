// The DPDK transport as a module that the library loads.
#pragma once

#include <string>
#include <vector>

#include "dataplane/transport/transport_module.h"
#include "nic/dpdk/dpdk_transport.h"
#include "nic/dpdk/pci_adapters.h"

namespace openlapi::dpdk {

// Which devices a context uses, and how. False: `reason` says why there is none. DPDK need not run for this.
//   ModuleRequest::device     devices with spaces between them, all of which are ports of one transport; each is a PCI
//                             address, a virtual device with its arguments, the name of one that the arguments make, or
//                             the kernel's interface of an adapter that the driver shares with it
//   empty                     all devices that the arguments make; if they make none, one of the adapters that were
//                             given to DPDK, for each context of each task of the node another
//   ModuleRequest::arguments  EAL's
//   ModuleRequest::instance   a second context would find its task's devices in use: a memif has further interfaces on
//                             its socket, one for each
bool choose_devices(const ModuleRequest& request, const std::vector<PciAdapter>& adapters, DpdkConfig& config,
                    std::string& reason);

class DpdkModule final : public TransportModule {
 public:
  std::string_view name() const override { return "dpdk"; }
  bool needs_tags() const override { return true; }
  std::vector<ModuleDevice> devices(std::string& reason) override;
  ModuleTransport open(const ModuleRequest& request) override;
};

}  // namespace openlapi::dpdk
