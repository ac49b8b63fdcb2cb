#include "nic/verbs/connection_message.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace openlapi::verbs {
namespace {

const ConnectionMessage kAccept{.kind = ConnectionMessage::Kind::accept,
                                .reads = 16,
                                .queue_pair = 0x123456,
                                .first_packet = 0xabcdef,
                                .connection = 0x0807060504030201,
                                .address = {.fabric = Fabric::roce_v2,
                                            .mtu = 4096,
                                            .queue_pair = 0x11,
                                            .qkey = 0x22,
                                            .lid = 0,
                                            .gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1},
                                            .packets_of_sender = 448}};

TEST(ConnectionMessage, HasTheseBytes) {
  const std::vector<unsigned char> expected = {2, 2, 16,   0, 0x56, 0x34, 0x12, 0,  0xef, 0xcd, 0xab, 0,    0,  0,    0,
                                               0, 1, 2,    3, 4,    5,    6,    7,  8,    3,    3,    0,    16, 0x11, 0,
                                               0, 0, 0x22, 0, 0,    0,    0,    0,  0xff, 0xff, 0,    0,    0,  0,    0,
                                               0, 0, 0,    0, 0,    0xff, 0xff, 10, 77,   0,    1,    0xc0, 1};
  const auto bytes = encode(kAccept);
  ASSERT_EQ(bytes.size(), expected.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), expected[i]) << i;
  ConnectionMessage back;
  ASSERT_TRUE(decode(bytes, back));
  EXPECT_EQ(encode(back), bytes);
  EXPECT_EQ(back.connection, kAccept.connection);
  EXPECT_EQ(back.first_packet, kAccept.first_packet);
}

TEST(ConnectionMessage, OtherBytesAreRefused) {
  const auto good = encode(kAccept);
  ConnectionMessage message;
  EXPECT_FALSE(decode(std::span(good).first(good.size() - 1), message));
  EXPECT_FALSE(decode({}, message));
  const auto refused = [&](std::size_t place, unsigned char value) {
    auto bytes = good;
    bytes[place] = std::byte{value};
    return !decode(bytes, message);
  };
  EXPECT_TRUE(refused(0, 1)) << "version";
  EXPECT_TRUE(refused(1, 0) && refused(1, 8)) << "kind";
  EXPECT_TRUE(refused(2, 0)) << "no reads";
  EXPECT_TRUE(refused(3, 3)) << "purpose";
  EXPECT_TRUE(refused(12, 1)) << "must be zero";
  EXPECT_TRUE(refused(7, 1) && refused(11, 1)) << "24 bits";
  EXPECT_TRUE(refused(25, 9)) << "fabric of the address";
  auto packets = good;
  packets[3] = std::byte{1};
  ASSERT_TRUE(decode(packets, message));
  EXPECT_EQ(message.purpose, ConnectionMessage::Purpose::packets);
  EXPECT_EQ(encode(message), packets);
  ConnectionMessage close{.kind = ConnectionMessage::Kind::close, .connection = 1, .address = kAccept.address};
  EXPECT_TRUE(decode(encode(close), message)) << "needs no queue pair";
}

TEST(ConnectionMessage, OnlyAnAnswerForShortReadsHasAKey) {
  ConnectionMessage answer = kAccept;
  answer.purpose = ConnectionMessage::Purpose::one_sided;
  answer.key = 0xa1b2c3d4;
  const auto bytes = encode(answer);
  const unsigned char expected[] = {0xd4, 0xc3, 0xb2, 0xa1};
  EXPECT_EQ(std::memcmp(&bytes[12], expected, 4), 0);
  EXPECT_EQ(bytes[3], std::byte{2});
  ConnectionMessage back;
  ASSERT_TRUE(decode(bytes, back));
  EXPECT_EQ(back.key, 0xa1b2c3d4);
  EXPECT_EQ(back.purpose, ConnectionMessage::Purpose::one_sided);
  answer.kind = ConnectionMessage::Kind::request;
  EXPECT_FALSE(decode(encode(answer), back));
  answer.key = 0;
  EXPECT_TRUE(decode(encode(answer), back));
}

const ConnectionMessage kGrant{.kind = ConnectionMessage::Kind::ring_grant,
                               .purpose = ConnectionMessage::Purpose::packets,
                               .connection = 0x0807060504030201,
                               .address = kAccept.address,
                               .ring = 5,
                               .place = {.address = 0x00007f1122334400, .key = 0xa1b2c3d4}};

TEST(ConnectionMessage, OfARingHasTheseBytes) {
  const std::vector<unsigned char> expected = {2,    6,    5, 1, 0xd4, 0xc3, 0xb2, 0xa1, 0, 0x44, 0x33, 0x22,
                                               0x11, 0x7f, 0, 0, 1,    2,    3,    4,    5, 6,    7,    8};
  const auto bytes = encode(kGrant);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), expected[i]) << i;
  ConnectionMessage back;
  ASSERT_TRUE(decode(bytes, back));
  EXPECT_EQ(encode(back), bytes);
  EXPECT_EQ(back.place.address, kGrant.place.address);
  EXPECT_EQ(back.place.key, kGrant.place.key);
  EXPECT_EQ(back.ring, 5);
  EXPECT_TRUE(back.is_of_ring());
}

TEST(ConnectionMessage, OfARingWithOtherBytesIsRefused) {
  const auto refused = [](ConnectionMessage::Kind kind, const auto& change) {
    ConnectionMessage changed = kGrant;
    changed.kind = kind;
    change(changed);
    ConnectionMessage message;
    return !decode(encode(changed), message);
  };
  using Kind = ConnectionMessage::Kind;
  for (const Kind kind : {Kind::ring_request, Kind::ring_grant}) {
    EXPECT_FALSE(refused(kind, [](ConnectionMessage&) {}));
    EXPECT_TRUE(refused(kind, [](ConnectionMessage& one) { one.place.address = 0; }));
    EXPECT_TRUE(refused(kind, [](ConnectionMessage& one) { one.place.address += 4; }));
    EXPECT_TRUE(refused(kind, [](ConnectionMessage& one) { one.ring = kRingsOfConnection; }));
    EXPECT_TRUE(refused(kind, [](ConnectionMessage& one) { one.purpose = ConnectionMessage::Purpose::reads; }));
  }
  EXPECT_TRUE(refused(Kind::ring_refuse, [](ConnectionMessage&) {})) << "names no memory";
  EXPECT_FALSE(refused(Kind::ring_refuse, [](ConnectionMessage& one) { one.place = {}; }));
}

}  // namespace
}  // namespace openlapi::verbs
