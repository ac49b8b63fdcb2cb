#include "nic/dpdk/port_sharing.h"

#include <string_view>

#include "nic/dpdk/device_wish.h"

namespace openlapi::dpdk {

bool is_shared(const PortFacts& facts) {
  if (!is_virtual(facts.device)) {
    const auto driver_is = [&](const char* part) { return facts.driver.find(part) != std::string::npos; };
    return !facts.kernel_interface.empty() || driver_is("mlx4") || driver_is("mlx5") || driver_is("mana");
  }
  const std::string_view name = name_of(facts.device);
  // Those that stand for others: one that can be isolated is made of such as can be.
  if (name.starts_with("net_failsafe") || name.starts_with("net_bond")) return facts.isolated;
  // The others take what an interface brings only because the user named it to them; tap takes it by flow rules.
  return name.starts_with("net_tap") && has_argument(facts.device, "remote");
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
