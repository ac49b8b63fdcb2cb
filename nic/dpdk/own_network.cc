#include "nic/dpdk/own_network.h"

#include "nic/dpdk/network_interface.h"
#include "nic/modules/dpdk_announcement.h"

namespace openlapi::dpdk {

bool take_from_interface(const std::string& interface, const std::string& port, std::uint32_t& address,
                         OwnNetwork& network, std::string& reason) {
  const auto found = interface_network(interface);
  if (!found || !is_machine_address(found->address)) {
    reason =
        std::string(kAddressVariable) + "=interface: " +
        (interface.empty() ? "DPDK port " + port + " has no interface of the kernel"
                           : "the kernel's interface " + interface + " of DPDK port " + port + " has no IPv4 address") +
        "; allowed is also ADDRESS/BITS, as 10.0.0.5/24";
    return false;
  }
  address = found->address;
  network.bits = found->bits;
  if (network.gateway == 0) {
    network.gateway = found->gateway;
    return true;
  }
  const std::string fault = fault_of_router(network, address, port);
  if (fault.empty()) return true;
  reason = std::string(kGatewayVariable) + "=" + ipv4_to_text(network.gateway) + ": " + fault;
  return false;
}

std::string fault_of_router(const OwnNetwork& network, std::uint32_t own_address, const std::string& device) {
  if (network.gateway == 0) return {};
  if (network.gateway == own_address) return "that is the address of this task's " + device;
  if (network.bits >= 31 ||
      (same_network(network.gateway, own_address, network.bits) && is_host_in(network.gateway, network.bits))) {
    return {};
  }
  return "that is no adapter's in the network of this task's " + device + ", " + ipv4_to_text(own_address) + "/" +
         std::to_string(network.bits);
}

std::optional<std::uint32_t> next_hop_to(const FrameEnd& peer, const FrameEnd& own, const OwnNetwork& network,
                                         std::string& reason) {
  if (network.bits == 0) return peer.address;
  const std::string here = ipv4_to_text(own.address) + "/" + std::to_string(network.bits);
  if (peer.address == own.address && peer.mac != own.mac) {
    reason = "the peer's DPDK adapter " + to_text(peer.mac) + " has the address of this task's, " + here + ": " +
             std::string(kAddressVariable) + " has to name another one for each (ADDRESS+/BITS)";
    return std::nullopt;
  }
  if (same_network(peer.address, own.address, network.bits)) return peer.address;
  if (network.gateway != 0) return network.gateway;
  reason = "the peer's DPDK adapter " + ipv4_to_text(peer.address) + " is in another network than this task's, " +
           here + ": " + std::string(kGatewayVariable) + " can name the router between them";
  return std::nullopt;
}

}  // namespace openlapi::dpdk
