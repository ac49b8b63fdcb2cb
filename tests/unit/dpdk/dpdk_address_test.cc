#include "nic/dpdk/dpdk_address.h"

#include <gtest/gtest.h>

#include "dataplane/tuning.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi::dpdk {
namespace {

const Address kAddress{{{0x02, 0x0d, 0, 0, 0, 7}, 0x0a4e0007, 0xc351, 0xa1b2c3d4}, 9000, 2};

TEST(DpdkAddress, ByteByByteAndBack) {
  const PeerAddress bytes = encode(kAddress);
  const unsigned expected[] = {1,    2,    0x51, 0xc3, 0x07, 0x00, 0x4e, 0x0a, 0xd4, 0xc3,
                               0xb2, 0xa1, 0x28, 0x23, 0x02, 0x0d, 0,    0,    0,    7};
  ASSERT_EQ(bytes.length, std::size(expected));
  for (std::size_t i = 0; i < bytes.length; ++i) EXPECT_EQ(std::to_integer<unsigned>(bytes.bytes[i]), expected[i]) << i;
  Address again;
  std::string error;
  ASSERT_TRUE(decode(bytes, again, error)) << error;
  EXPECT_EQ(encode(again).bytes, bytes.bytes);
}

Address with_ports(std::uint32_t ports) {
  Address address = kAddress;
  address.ports = ports;
  for (std::uint8_t i = 1; i < ports; ++i) address.further.push_back({0x02, 0x0d, 0, 0, i, 7});
  return address;
}

TEST(DpdkAddress, FurtherPortsFollowByteByByte) {
  const PeerAddress bytes = encode(with_ports(3));
  const unsigned expected[] = {2, 3, 0x51, 0xc3, 0x07, 0x00, 0x4e, 0x0a, 0xd4, 0xc3, 0xb2, 0xa1, 0x28, 0x23, 0x02, 0x0d,
                               0, 0, 0,    7,    0x02, 0x0d, 0,    0,    1,    7,    0x02, 0x0d, 0,    0,    2,    7};
  ASSERT_EQ(bytes.length, std::size(expected));
  for (std::size_t i = 0; i < bytes.length; ++i) EXPECT_EQ(std::to_integer<unsigned>(bytes.bytes[i]), expected[i]) << i;
}

TEST(DpdkAddress, AsManyFurtherPortsAsFitComeBack) {
  for (std::uint32_t ports = 1; ports <= kMostFurtherPorts + 1; ++ports) {
    const Address address = with_ports(ports);
    const PeerAddress bytes = encode(address);
    EXPECT_EQ(bytes.length, kAddressLength + 6 * (ports - 1));
    EXPECT_EQ(bytes.bytes[0], std::byte{ports == 1 ? std::uint8_t{1} : std::uint8_t{2}}) << "as before, of one port";
    Address again;
    std::string error;
    ASSERT_TRUE(decode(bytes, again, error)) << ports << ": " << error;
    EXPECT_EQ(again.ports, ports);
    EXPECT_EQ(again.further, address.further);
    EXPECT_EQ(again.end.mac, address.end.mac);
  }
}

TEST(DpdkAddress, FurtherPortsThatDoNotFitTheNumberAreRefused) {
  for (std::uint32_t ports = 2; ports <= kMostFurtherPorts + 1; ++ports) {
    const PeerAddress good = encode(with_ports(ports));
    Address address;
    std::string error;
    for (std::uint32_t length = 0; length <= PeerAddress::kCapacity; ++length) {
      PeerAddress bytes = good;
      bytes.length = length;
      EXPECT_EQ(decode(bytes, address, error), length == good.length) << ports << " ports in " << length << " bytes";
    }
    for (unsigned claimed = 0; claimed < 256; ++claimed) {
      PeerAddress bytes = good;
      bytes.bytes[1] = static_cast<std::byte>(claimed);
      EXPECT_EQ(decode(bytes, address, error), claimed == ports) << ports << " ports, said to be " << claimed;
    }
  }
  for (std::uint32_t which = 0; which < 3; ++which) {
    Address bad = with_ports(4), read;
    std::string error;
    bad.further[which] = which == 1 ? MacAddress{} : kBroadcast;
    EXPECT_FALSE(decode(encode(bad), read, error)) << which;
    EXPECT_NE(error.find("no port's"), std::string::npos) << error;
  }
}

TEST(DpdkAddress, TheSmallestMtuIsEnoughForTheEngine) {
  EXPECT_GE(packet_of(kSmallestMtu), wire::kPacketHeaderSize + tuning::kSmallestRecord);
}

TEST(DpdkAddress, WhatIsNoneIsRefusedWithAReason) {
  const auto refused = [](const PeerAddress& bytes) {
    Address address;
    std::string error;
    return !decode(bytes, address, error) && !error.empty();
  };
  for (std::uint32_t length = 0; length <= PeerAddress::kCapacity; ++length) {
    PeerAddress bytes = encode(kAddress);
    bytes.length = length;
    EXPECT_EQ(refused(bytes), length != kAddressLength) << length;
  }
  for (const int number : {0, 2, 3, 255}) {
    PeerAddress version = encode(kAddress);
    version.bytes[0] = static_cast<std::byte>(number);
    EXPECT_TRUE(refused(version)) << number;
  }
  for (int fault = 0; fault < 7; ++fault) {
    Address bad = kAddress;
    if (fault == 0) bad.end.address = 0xe0000001;
    if (fault == 1) bad.end.address = 0;
    if (fault == 2) bad.end.port = 0;
    if (fault == 3) bad.end.token = 0;
    if (fault == 4) bad.mtu = 500;
    if (fault == 5) bad.ports = 0;
    if (fault == 6) bad.end.mac[0] |= 1;
    EXPECT_TRUE(refused(encode(bad))) << fault;
  }
}

}  // namespace
}  // namespace openlapi::dpdk
