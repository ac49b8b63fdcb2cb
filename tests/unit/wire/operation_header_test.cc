#include "dataplane/wire/operation_header.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "dataplane/endpoint/record_bytes.h"

namespace openlapi {
namespace {

using wire::Record;
using wire::RecordKind;

std::vector<std::byte> packet_of(const RecordBytes& fixed, std::size_t behind) {
  const ConstBuffer piece = fixed.piece();
  const auto* begin = static_cast<const std::byte*>(piece.data);
  std::vector<std::byte> packet(begin, begin + piece.length);
  for (std::size_t i = 0; i < behind; ++i) packet.push_back(static_cast<std::byte>(i + 1));
  return packet;
}

void expect_no_record(std::vector<std::byte> packet, const char* why) {
  std::span<std::byte> rest(packet);
  Record record;
  EXPECT_FALSE(wire::next_record(rest, record)) << why;
}

TEST(OperationHeader, APutOnTheWireByteForByte) {
  RecordBytes fixed(RecordKind::put, wire::PutBody{0x1122334455667788, 0x0102030405060708, 0xa1a2a3a4a5a6a7a8});
  fixed.payload_length(3);
  const auto packet = packet_of(fixed, 3);
  const std::array<unsigned char, 35> expected = {
      1,    0,    0,    0,    3,    0,    0,    0,     // kind, flags, user header, payload
      0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,  // target address
      8,    7,    6,    5,    4,    3,    2,    1,     // target counter
      0xa8, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1,  // completion counter
      1,    2,    3};
  ASSERT_EQ(packet.size(), expected.size());
  EXPECT_EQ(std::memcmp(packet.data(), expected.data(), expected.size()), 0);
}

TEST(OperationHeader, ALongActiveMessageIsFoundAgain) {
  RecordBytes fixed(RecordKind::active_message, wire::ActiveMessageBody{5, 6, 7});
  fixed.extend({1000, 0, 42, 0}, wire::kFlagLong).user_header_length(8).payload_length(16);
  auto packet = packet_of(fixed, 24);
  std::span<std::byte> rest(packet);
  Record record;
  ASSERT_TRUE(wire::next_record(rest, record));
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(record.kind(), RecordKind::active_message);
  EXPECT_TRUE(record.is_long());
  EXPECT_FALSE(record.is_attach());
  EXPECT_EQ(record.extension.total_length, 1000u);
  EXPECT_EQ(record.extension.message_id, 42u);
  EXPECT_EQ(record.user_header[0], std::byte{1});
  EXPECT_EQ(record.payload[0], std::byte{9});
}

TEST(OperationHeader, RecordsFollowEachOtherAtMultiplesOf8) {
  RecordBytes first(RecordKind::put, wire::PutBody{1, 0, 0});
  first.payload_length(5);
  auto packet = packet_of(first, 5);
  packet.resize(wire::align_record(packet.size()));
  const auto second = packet_of(RecordBytes(RecordKind::counter_update, wire::CounterUpdateBody{77}), 0);
  packet.insert(packet.end(), second.begin(), second.end());

  std::span<std::byte> rest(packet);
  Record record;
  ASSERT_TRUE(wire::next_record(rest, record));
  EXPECT_EQ(record.header.payload_length, 5u);
  ASSERT_TRUE(wire::next_record(rest, record));
  EXPECT_EQ(record.kind(), RecordKind::counter_update);
  EXPECT_TRUE(rest.empty());
}

TEST(OperationHeader, LengthsThatLieAreNoRecord) {
  RecordBytes fixed(RecordKind::put, wire::PutBody{1, 0, 0});
  fixed.payload_length(100);
  expect_no_record(packet_of(fixed, 99), "payload beyond the packet");
  fixed.payload_length(UINT32_MAX);
  expect_no_record(packet_of(fixed, 99), "payload of 4 GiB");
  auto cut = packet_of(fixed, 0);
  for (std::size_t length = 0; length < cut.size(); ++length) {
    expect_no_record({cut.begin(), cut.begin() + static_cast<std::ptrdiff_t>(length)}, "cut short");
  }
  RecordBytes total(RecordKind::put, wire::PutBody{1, 0, 0});
  total.extend({4, 0, 1, 0}, wire::kFlagLong).payload_length(8);
  expect_no_record(packet_of(total, 8), "a fragment longer than its message");
}

TEST(OperationHeader, FlagsAndKindsThatDoNotExistAreNoRecord) {
  auto packet = packet_of(RecordBytes(RecordKind::counter_update, wire::CounterUpdateBody{1}), 0);
  packet[0] = std::byte{0};
  expect_no_record(packet, "kind 0");
  packet[0] = std::byte{wire::kLastRecordKind + 1};
  expect_no_record(packet, "a kind beyond the last");
  packet[0] = static_cast<std::byte>(RecordKind::counter_update);
  packet[1] = std::byte{wire::kFlagLong};
  expect_no_record(packet, "a long counter update");

  RecordBytes attach(RecordKind::put, wire::PutBody{1, 0, 0});
  attach.extend({100, 5, 1, 0}, wire::kFlagLong | wire::kFlagAttach);
  auto good = packet_of(attach, 0);
  std::span<std::byte> rest(good);
  Record record;
  EXPECT_TRUE(wire::next_record(rest, record));
  good[1] = std::byte{wire::kFlagAttach};
  expect_no_record(good, "attach without the extension");
  good[1] = std::byte{0x80};
  expect_no_record(good, "an unknown flag");

  auto user_header = packet_of(RecordBytes(RecordKind::put, wire::PutBody{1, 0, 0}), 8);
  user_header[2] = std::byte{4};
  expect_no_record(user_header, "a user header on a put");
}

}  // namespace
}  // namespace openlapi
