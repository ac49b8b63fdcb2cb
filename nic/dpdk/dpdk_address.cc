#include "nic/dpdk/dpdk_address.h"

#include <cstring>

#include "dataplane/base/little_endian.h"

namespace openlapi::dpdk {
namespace {

constexpr std::uint8_t kVersion = 1;

// What is wrong with the numbers of an address; null: nothing.
const char* fault_of(const Address& address) {
  const std::uint32_t network = address.end.address >> 24;
  if (network == 0 || network == 127 || network >= 224) return "an IPv4 address that is no machine's";
  if (address.end.port == 0) return "UDP port 0";
  if (address.end.token == 0) return "token 0";
  if (address.mtu < kSmallestMtu || address.mtu > kLargestMtu) return "an MTU out of range";
  if (address.ports == 0) return "no ports";
  if ((address.end.mac[0] & 1) != 0 || address.end.mac == MacAddress{}) return "a hardware address that is no port's";
  return nullptr;
}

}  // namespace

PeerAddress encode(const Address& address) {
  PeerAddress bytes;
  store_little(&bytes.bytes[0], kVersion);
  store_little(&bytes.bytes[1], static_cast<std::uint8_t>(address.ports));
  store_little(&bytes.bytes[2], address.end.port);
  store_little(&bytes.bytes[4], address.end.address);
  store_little(&bytes.bytes[8], address.end.token);
  store_little(&bytes.bytes[12], static_cast<std::uint16_t>(address.mtu));
  std::memcpy(bytes.bytes.data() + 14, address.end.mac.data(), address.end.mac.size());
  bytes.length = kAddressLength;
  return bytes;
}

bool decode(const PeerAddress& bytes, Address& address, std::string& error) {
  if (bytes.length != kAddressLength) {
    error =
        "a dpdk address has " + std::to_string(kAddressLength) + " bytes, this one has " + std::to_string(bytes.length);
    return false;
  }
  if (const auto version = load_little<std::uint8_t>(&bytes.bytes[0]); version != kVersion) {
    error = "a dpdk address of version " + std::to_string(version) + ": this openlapi knows version " +
            std::to_string(kVersion);
    return false;
  }
  address = {.end = {.mac = {},
                     .address = load_little<std::uint32_t>(&bytes.bytes[4]),
                     .port = load_little<std::uint16_t>(&bytes.bytes[2]),
                     .token = load_little<std::uint32_t>(&bytes.bytes[8])},
             .mtu = load_little<std::uint16_t>(&bytes.bytes[12]),
             .ports = load_little<std::uint8_t>(&bytes.bytes[1])};
  std::memcpy(address.end.mac.data(), bytes.bytes.data() + 14, address.end.mac.size());
  if (const char* fault = fault_of(address)) {
    error = std::string("a dpdk address with ") + fault;
    return false;
  }
  return true;
}

}  // namespace openlapi::dpdk
