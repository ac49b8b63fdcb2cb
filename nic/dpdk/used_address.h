// IPv4 addresses of this process's DPDK adapters. In one network each has one of its own.
#pragma once

#include <cstdint>
#include <string>

#include "nic/dpdk/ethernet_frame.h"

namespace openlapi::dpdk {

// One call at a time in a process (ControlLock).
class UsedAddress {
 public:
  UsedAddress() = default;
  ~UsedAddress() { give_back(); }
  UsedAddress(const UsedAddress&) = delete;
  UsedAddress& operator=(const UsedAddress&) = delete;

  // Takes it for the DPDK port `port`. False: `user` is another one that has it, with another hardware address; several
  // ports of one interface have one address.
  bool take(std::uint32_t address, const MacAddress& mac, const std::string& port, std::string& user);
  void give_back();

 private:
  bool taken_ = false;
};

}  // namespace openlapi::dpdk
