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
  PeerAddress version = encode(kAddress);
  version.bytes[0] = std::byte{2};
  EXPECT_TRUE(refused(version));
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
