// The Ethernet adapters of this machine as the kernel's sysfs tells them, without DPDK.
#pragma once

#include <string>
#include <vector>

namespace openlapi::dpdk {

struct PciAdapter {
  std::string address;    // 0000:3b:00.0
  std::string driver;     // the kernel's; empty: none
  std::string interface;  // the kernel's network interface on it; empty: none

  bool given() const;   // to programs: bound to a driver that only passes the adapter on
  bool shared() const;  // bifurcated: DPDK drives it beside the kernel
};

inline constexpr const char* kPciDevices = "/sys/bus/pci/devices";

// By address. `folder` is kPciDevices but in tests.
std::vector<PciAdapter> list_pci_adapters(const std::string& folder);

// Whether the adapter is one of these, and given to programs. No address of an adapter: it is not.
bool is_given(const std::string& address, const std::vector<PciAdapter>& adapters);

// "3b:00.0" and "0000:3b:00.0" as "0000:3b:00.0"; empty: no such address.
std::string pci_address(const std::string& text);

}  // namespace openlapi::dpdk
