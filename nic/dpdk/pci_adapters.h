// The Ethernet adapters of this machine as listed in the kernel's sysfs; does not need DPDK.
#pragma once

#include <string>
#include <vector>

namespace openlapi::dpdk {

struct PciAdapter {
  std::string address;    // 0000:3b:00.0
  std::string driver;     // the kernel's; empty: none
  std::string interface;  // the kernel's network interface on it; empty: none

  std::string lacks{};  // why this task may not use it, of those that are given or shared; empty: it may

  bool given() const;   // to user programs: bound to a driver such as vfio-pci
  bool shared() const;  // bifurcated: DPDK drives it together with the kernel
};

inline constexpr const char* kPciDevices = "/sys/bus/pci/devices";

inline constexpr const char* kVfioGroups = "/dev/vfio";

// Sorted by address. The folders are those above except in tests.
std::vector<PciAdapter> list_pci_adapters(const std::string& folder, const std::string& groups = kVfioGroups);

// Whether `address` is one of these adapters and is given to programs. False for anything that is no PCI address.
bool is_given(const std::string& address, const std::vector<PciAdapter>& adapters);

// Turns "3b:00.0" and "0000:3b:00.0" into "0000:3b:00.0"; empty: not a PCI address.
std::string pci_address(const std::string& text);

}  // namespace openlapi::dpdk
