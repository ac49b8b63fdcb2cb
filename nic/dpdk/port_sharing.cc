#include "nic/dpdk/port_sharing.h"

#include <string>

#include "nic/dpdk/device_preference.h"

namespace openlapi::dpdk {

namespace {

bool is_bifurcated(const std::string& driver) {
  const auto is = [&](const char* part) { return driver.find(part) != std::string::npos; };
  return is("mlx4") || is("mlx5") || is("mana");
}

}  // namespace

bool is_shared(const PortFacts& facts) {
  if (!is_virtual(facts.device)) {
    return !facts.given || !facts.kernel_interface.empty() || is_bifurcated(facts.driver);
  }
  // Those that stand for others: one that can be isolated is made of such as can be.
  if (begins_with_any(facts.driver, {"net_failsafe", "net_bond"})) return facts.isolated;
  // It has an interface of its own, and takes by flow rules what another one brings.
  if (begins_with_any(facts.driver, {"net_tap"})) return has_argument(facts.device, "remote");
  // These have no adapter, or one that the user named to be taken, or give the kernel a copy.
  return !begins_with_any(facts.driver, {"net_af_packet", "net_af_xdp", "net_memif", "net_null", "net_pcap", "net_ring",
                                         "net_vhost", "net_virtio_user"});
}

std::string described(const PortFacts& facts) {
  return "DPDK port " + std::string(name_of(facts.device)) + " (driver " + facts.driver +
         (facts.kernel_interface.empty() ? "" : ", the kernel's interface " + facts.kernel_interface) + ")";
}

std::string refusal(const PortFacts& facts, const std::string& refused, const std::string& why) {
  return described(facts) + " " + refused + ": " + why +
         ". The kernel uses this adapter as well and would receive nothing any more, so the port is not used. Name "
         "an adapter in MP_EUIDEVICE that is this task's alone (one, or a virtual function of this one, bound to "
         "vfio-pci), give the task the rights for flow rules (CAP_NET_RAW) if these are missing, or leave this adapter "
         "to verbs (OPENLAPI_MODULES=verbs) or to the kernel (MP_EUILIB=ip)";
}

}  // namespace openlapi::dpdk
