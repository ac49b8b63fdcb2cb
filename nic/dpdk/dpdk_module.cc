#include "nic/dpdk/dpdk_module.h"

namespace openlapi::dpdk {
namespace {

// "net_memif1 and net_memif2, 2 ports, MTU 1500, 169.254.1.0"
std::string described(const DpdkTransport& transport) {
  std::string text;
  for (std::size_t i = 0; i < transport.ports(); ++i) {
    text += (i == 0 ? "" : " and ") + transport.port(i).name();
  }
  const EthernetPort& first = transport.port(0);
  return text + " (" + first.driver() + ", " + to_text(first.mac()) + ", " +
         ipv4_to_text(transport.address().end.address) + ", MTU " + std::to_string(transport.address().mtu) +
         (transport.wakes_at_once() ? ", wakes at once)" : ", looks now and then)");
}

TransportModule& the_module() {
  static DpdkModule module;
  return module;
}

}  // namespace

std::vector<ModuleDevice> DpdkModule::devices(const ModuleRequest& request, std::string& reason) {
  reason.clear();
  std::vector<ModuleDevice> devices = list_devices(request, list_pci_adapters(kPciDevices));
  if (devices.empty()) {
    reason =
        "this machine has no Ethernet adapter on a PCI bus; MP_EUIDEVICE can name virtual devices, as "
        "net_af_packet0,iface=eth0";
  }
  return devices;
}

bool DpdkModule::has_link(const Transport& transport) {
  return static_cast<const DpdkTransport&>(transport).has_link();
}

bool DpdkModule::network_of(const Transport& transport, ModuleDevice& device) {
  const auto& own = static_cast<const DpdkTransport&>(transport);
  if (own.ports() != 1 || own.port(0).in_memory()) return false;
  device.kernel_name = own.port(0).network_interface();  // none: taken for one network with others of no interface
  return true;
}

ModuleTransport DpdkModule::open(const ModuleRequest& request) {
  ModuleTransport result;
  DpdkConfig config;
  if (!choose_devices(request, list_pci_adapters(kPciDevices), config, result.reason)) return result;
  config.link_status = request.link_status;
  config.tell = request.tell;
  config.tasks = request.tasks;
  config.local_tasks = request.local_tasks;
  DpdkSetupError error;
  auto transport = open_dpdk_transport(config, error);
  if (transport == nullptr) {
    result.reason = error.text;
    return result;
  }
  result.device = described(*transport);
  result.transport = std::move(transport);
  return result;
}

}  // namespace openlapi::dpdk

namespace openlapi {

const TransportModuleEntry openlapi_transport_module = {kTransportModuleVersion, dpdk::the_module};

}  // namespace openlapi
