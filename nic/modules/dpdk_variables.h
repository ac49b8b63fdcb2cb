// What the variables of the dpdk module say.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace openlapi::dpdk {

// What a variable says of one device, or of all those that it does not name: [DEVICE=]VALUE.
struct OfDevice {
  std::string_view device;  // empty: any
  std::string_view value;
};

std::vector<OfDevice> values_of_devices(std::string_view text);

// An IPv4 address as a number. Nothing: it is none, or no machine's.
std::optional<std::uint32_t> machine_address(std::string_view text);
constexpr bool is_machine_address(std::uint32_t address) {
  return address >> 24 != 0 && address >> 24 != 127 && address >> 24 < 224;
}

// ADDRESS/BITS, ADDRESS+/BITS or "interface".
struct OwnAddress {
  bool of_interface = false;  // what the kernel's interface on the same adapter has
  std::uint32_t address = 0;
  bool plus_task = false;  // the task's number is added to it
  unsigned bits = 0;       // of its network
};
std::optional<OwnAddress> own_address(std::string_view text);

// False: in the network of its first `bits` bits it stands for the network, or for all in it.
constexpr bool is_host_in(std::uint32_t address, unsigned bits) {
  const std::uint32_t hosts = bits == 0 ? UINT32_MAX : (std::uint64_t{1} << (32 - bits)) - 1;
  return bits >= 31 || ((address & hosts) != 0 && (address & hosts) != hosts);
}
constexpr bool same_network(std::uint32_t one, std::uint32_t other, unsigned bits) {
  return bits == 0 || (one ^ other) >> (32 - bits) == 0;
}

// NUMBER or NUMBER:PRIORITY, 0 to 4094 and 0 to 7, as a VLAN's tag has them. 0 without a priority is no tag: nothing,
// as of a text that says neither.
std::optional<std::uint16_t> vlan_tag(std::string_view text);
bool is_vlan(std::string_view text);

inline constexpr unsigned kHighestDscp = 63;

bool are_own_addresses(std::string_view text);
bool are_gateways(std::string_view text);

}  // namespace openlapi::dpdk
