#include "nic/dpdk/dpdk_address.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/little_endian.h"

namespace openlapi::dpdk {
namespace {

constexpr std::uint8_t kOnePort = 1, kFurtherPorts = 2;  // versions
constexpr std::size_t kMacs = 14;                        // offset
constexpr std::size_t kMacLength = std::tuple_size_v<MacAddress>;

bool is_ports(const MacAddress& mac) { return (mac[0] & 1) == 0 && mac != MacAddress{}; }

// What is wrong with the numbers of an address; null: nothing.
const char* fault_of(const Address& address) {
  const std::uint32_t network = address.end.address >> 24;
  if (network == 0 || network == 127 || network >= 224) return "an IPv4 address that is no machine's";
  if (address.end.port == 0) return "UDP port 0";
  if (address.end.token == 0) return "token 0";
  if (address.mtu < kSmallestMtu || address.mtu > kLargestMtu) return "an MTU out of range";
  if (address.ports == 0) return "no ports";
  if (!is_ports(address.end.mac) || !std::ranges::all_of(address.further, is_ports)) {
    return "a hardware address that is no port's";
  }
  return nullptr;
}

std::uint32_t length_with(std::size_t further) {
  return kAddressLength + static_cast<std::uint32_t>(further * kMacLength);
}

// Of a version with this number of ports; 0: there is no such address.
std::uint32_t expected_length(std::uint8_t version, std::uint8_t ports) {
  if (version == kOnePort) return kAddressLength;
  return ports >= 2 && ports - 1u <= kMostFurtherPorts ? length_with(ports - 1u) : 0;
}

}  // namespace

PeerAddress encode(const Address& address) {
  PeerAddress bytes;
  store_little(&bytes.bytes[0], address.further.empty() ? kOnePort : kFurtherPorts);
  store_little(&bytes.bytes[1], static_cast<std::uint8_t>(address.ports));
  store_little(&bytes.bytes[2], address.end.port);
  store_little(&bytes.bytes[4], address.end.address);
  store_little(&bytes.bytes[8], address.end.token);
  store_little(&bytes.bytes[12], static_cast<std::uint16_t>(address.mtu));
  std::memcpy(bytes.bytes.data() + kMacs, address.end.mac.data(), kMacLength);
  for (std::size_t i = 0; i < address.further.size(); ++i) {
    std::memcpy(bytes.bytes.data() + length_with(i), address.further[i].data(), kMacLength);
  }
  bytes.length = length_with(address.further.size());
  return bytes;
}

bool decode(const PeerAddress& bytes, Address& address, std::string& error) {
  if (bytes.length < kAddressLength) {
    error = "a dpdk address has at least " + std::to_string(kAddressLength) + " bytes, this one has " +
            std::to_string(bytes.length);
    return false;
  }
  const auto version = load_little<std::uint8_t>(&bytes.bytes[0]);
  const auto ports = load_little<std::uint8_t>(&bytes.bytes[1]);
  if (version != kOnePort && version != kFurtherPorts) {
    error = "a dpdk address of version " + std::to_string(version) + ": this openlapi knows versions " +
            std::to_string(kOnePort) + " and " + std::to_string(kFurtherPorts);
    return false;
  }
  if (bytes.length != expected_length(version, ports)) {
    error = "a dpdk address of version " + std::to_string(version) + " with " + std::to_string(ports) +
            " ports has not " + std::to_string(bytes.length) + " bytes";
    return false;
  }
  address = {.end = {.mac = {},
                     .address = load_little<std::uint32_t>(&bytes.bytes[4]),
                     .port = load_little<std::uint16_t>(&bytes.bytes[2]),
                     .token = load_little<std::uint32_t>(&bytes.bytes[8])},
             .mtu = load_little<std::uint16_t>(&bytes.bytes[12]),
             .ports = ports,
             .further = std::vector<MacAddress>((bytes.length - kAddressLength) / kMacLength)};
  std::memcpy(address.end.mac.data(), bytes.bytes.data() + kMacs, kMacLength);
  for (std::size_t i = 0; i < address.further.size(); ++i) {
    std::memcpy(address.further[i].data(), bytes.bytes.data() + length_with(i), kMacLength);
  }
  if (const char* fault = fault_of(address)) {
    error = std::string("a dpdk address with ") + fault;
    return false;
  }
  return true;
}

}  // namespace openlapi::dpdk
