#include "dataplane/wire/operation_header.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "dataplane/message/record_bytes.h"

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

// Counters that there are not are not in it; those that there are come in the order of a put's.
TEST(OperationHeader, AShortPutByteForByte) {
  constexpr std::uint64_t kAddress = 0x1122334455667788, kTarget = 0x0102030405060708, kCompletion = 0xa1a2a3a4a5a6a7a8;
  const std::vector<unsigned char> address = {0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
  const std::vector<unsigned char> target = {8, 7, 6, 5, 4, 3, 2, 1};
  const std::vector<unsigned char> completion = {0xa8, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1};
  for (const unsigned counters : {0u, 1u, 2u, 3u}) {
    std::vector<unsigned char> bytes = {19, static_cast<unsigned char>(counters << 6), 3, 0};
    bytes.insert(bytes.end(), address.begin(), address.end());
    if ((counters & 1) != 0) bytes.insert(bytes.end(), target.begin(), target.end());
    if ((counters & 2) != 0) bytes.insert(bytes.end(), completion.begin(), completion.end());
    bytes.insert(bytes.end(), {0x71, 0x72, 0x73});
    std::span<std::byte> rest = std::as_writable_bytes(std::span(bytes));
    Record record;
    ASSERT_TRUE(wire::next_record(rest, record));
    EXPECT_TRUE(rest.empty());
    const wire::PutBody body = wire::put_body(record);
    EXPECT_EQ(body.target_address, kAddress);
    EXPECT_EQ(body.target_counter, (counters & 1) != 0 ? kTarget : 0);
    EXPECT_EQ(body.completion_counter, (counters & 2) != 0 ? kCompletion : 0);
    EXPECT_EQ(record.header.payload_length, 3u);
    EXPECT_EQ(std::memcmp(record.payload, "\x71\x72\x73", 3), 0);
  }
}

TEST(OperationHeader, AnotherPutsBodyIsThePutsOwn) {
  RecordBytes fixed(RecordKind::put, wire::PutBody{1, 2, 3});
  auto packet = packet_of(fixed, 0);
  std::span<std::byte> rest(packet);
  Record record;
  ASSERT_TRUE(wire::next_record(rest, record));
  const wire::PutBody body = wire::put_body(record);
  EXPECT_EQ(body.target_address, 1u);
  EXPECT_EQ(body.target_counter, 2u);
  EXPECT_EQ(body.completion_counter, 3u);
}

TEST(OperationHeader, ARefusedRequestByteForByte) {
  for (const unsigned char reason : {0, 1, 2}) {
    const wire::RequestRefusedBody body{0x11223344, wire::RefusalReason{reason}};
    const auto packet = packet_of(RecordBytes(RecordKind::request_refused, body), 0);
    const std::array<unsigned char, 16> expected = {17, 0, 0, 0, 0, 0, 0, 0, 0x44, 0x33, 0x22, 0x11, reason, 0, 0, 0};
    ASSERT_EQ(packet.size(), expected.size());
    EXPECT_EQ(std::memcmp(packet.data(), expected.data(), expected.size()), 0);
  }
  EXPECT_EQ(wire::RefusalReason::not_own_memory, wire::RefusalReason{0});
  EXPECT_EQ(wire::RefusalReason::out_of_memory, wire::RefusalReason{1});
  EXPECT_EQ(wire::RefusalReason::begins_anew, wire::RefusalReason{2});
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

TEST(OperationHeader, ThePiecesOfAPutByteForByte) {
  RecordBytes fixed(RecordKind::put_pieces, wire::PutPiecesBody{0x11, 0x22, 0x3344, 0x55, 2});
  fixed.payload_length(32 + 5);
  auto packet = packet_of(fixed, 0);
  for (const std::uint64_t word : {0x1000ull, 3ull, 0x2000ull, 2ull}) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&word);
    packet.insert(packet.end(), bytes, bytes + 8);
  }
  for (int i = 0; i < 5; ++i) packet.push_back(static_cast<std::byte>('a' + i));
  const std::array<unsigned char, 77> expected = {
      14,   0,    0, 0, 37, 0, 0, 0,                                 // kind, payload
      0x11, 0,    0, 0, 0,  0, 0, 0, 0x22, 0, 0, 0, 0, 0,   0,   0,  // counters
      0x44, 0x33, 0, 0, 0,  0, 0, 0, 0x55, 0, 0, 0, 2, 0,   0,   0,  // total, id, pieces
      0,    0x10, 0, 0, 0,  0, 0, 0, 3,    0, 0, 0, 0, 0,   0,   0,   0,   0x20, 0,
      0,    0,    0, 0, 0,  2, 0, 0, 0,    0, 0, 0, 0, 'a', 'b', 'c', 'd', 'e'};
  ASSERT_EQ(packet.size(), expected.size());
  EXPECT_EQ(std::memcmp(packet.data(), expected.data(), expected.size()), 0);

  std::span<std::byte> rest(packet);
  Record record;
  ASSERT_TRUE(wire::next_record(rest, record));
  wire::PutPiecesBody body;
  std::memcpy(&body, record.body, sizeof(body));
  wire::PiecesAndData payload;
  ASSERT_TRUE(wire::split_pieces(record, body, payload));
  EXPECT_EQ(payload.count, 2u);
  EXPECT_EQ(payload.length, 5u);
  EXPECT_EQ(payload.data[0], std::byte{'a'});
  body.piece_count = 1;
  EXPECT_FALSE(wire::split_pieces(record, body, payload)) << "more data than the pieces are long";
  body.piece_count = 3;
  EXPECT_FALSE(wire::split_pieces(record, body, payload)) << "pieces beyond the payload";
  body.piece_count = 2;
  const std::uint64_t wraps = UINT64_MAX - 1;
  std::memcpy(record.payload, &wraps, sizeof(wraps));
  EXPECT_FALSE(wire::split_pieces(record, body, payload)) << "a piece beyond the address space";
}

TEST(OperationHeader, AStridedPutByteForByte) {
  RecordBytes fixed(RecordKind::put_strided, wire::PutStridedBody{1, 2, 3, 4, 5, 6, 7, 8, 0});
  fixed.payload_length(1);
  auto packet = packet_of(fixed, 1);
  std::vector<std::byte> expected(73);
  expected[0] = std::byte{15};
  expected[4] = std::byte{1};
  for (std::size_t field = 0; field < 8; ++field) expected[8 + 8 * field] = static_cast<std::byte>(field + 1);
  expected[72] = std::byte{1};
  EXPECT_EQ(packet, expected);
}

TEST(OperationHeader, ARequestForALayoutByteForByte) {
  RecordBytes fixed(RecordKind::get_layout, wire::GetLayoutBody{1, 2, 0});
  fixed.payload_length(1);
  std::vector<std::byte> expected(25);
  expected[0] = std::byte{16};
  expected[4] = expected[8] = expected[24] = std::byte{1};
  expected[16] = std::byte{2};
  EXPECT_EQ(packet_of(fixed, 1), expected);
  fixed.extend({24, 0, 5, 0}, wire::kFlagLong);
  auto packet = packet_of(fixed, 1);
  std::span<std::byte> rest(packet);
  Record record;
  EXPECT_TRUE(wire::next_record(rest, record)) << "a description may be long";
  packet[1] = std::byte{wire::kFlagLong | wire::kFlagAttach};
  expect_no_record(packet, "attach with a payload");
}

TEST(OperationHeader, FlagsOfLayouts) {
  const auto accepted = [](RecordKind kind, int flags) {
    RecordBytes fixed(kind, wire::PutBody{1, 0, 0});
    fixed.extend({100, 5, 1, 48}, static_cast<std::uint8_t>(flags));
    auto packet = packet_of(fixed, 0);
    std::span<std::byte> rest(packet);
    Record record;
    return wire::next_record(rest, record);
  };
  constexpr int kAttach = wire::kFlagLong | wire::kFlagAttach;
  EXPECT_TRUE(accepted(RecordKind::put, kAttach | wire::kFlagLayout));
  EXPECT_TRUE(accepted(RecordKind::active_message, kAttach | wire::kFlagLayout | wire::kFlagVector));
  EXPECT_TRUE(accepted(RecordKind::active_message, wire::kFlagVector));
  EXPECT_FALSE(accepted(RecordKind::put, wire::kFlagVector)) << "a put has no header handler";
  EXPECT_TRUE(accepted(RecordKind::active_message, kAttach | wire::kFlagLayout | wire::kFlagAtoms));
  EXPECT_TRUE(accepted(RecordKind::active_message, wire::kFlagAtoms));
  EXPECT_FALSE(accepted(RecordKind::put, wire::kFlagAtoms)) << "only programs have atoms";
  EXPECT_FALSE(accepted(RecordKind::put, wire::kFlagLong | wire::kFlagLayout)) << "a layout without attach";
  EXPECT_FALSE(accepted(RecordKind::collective, kAttach | wire::kFlagLayout));
  EXPECT_FALSE(accepted(RecordKind::collective, kAttach)) << "nobody offers its memory for a round";
  EXPECT_FALSE(accepted(RecordKind::get_layout, kAttach));
}

// packet_of() numbers the bytes behind the fixed part.
TEST(OperationHeader, AMessageForTheAdaptersByteForByte) {
  RecordBytes fixed(RecordKind::active_message, wire::ActiveMessageBody{5, 6, 7});
  fixed.extend({0x1000, 0x2000, 42, 0}, wire::kFlagLong | wire::kFlagAttach | wire::kFlagBulk)
      .user_header_length(4)
      .payload_length(32);
  auto packet = packet_of(fixed, 36);
  std::vector<std::byte> expected(92);
  expected[0] = std::byte{2};
  expected[1] = std::byte{1 + 2 + 32};
  expected[2] = std::byte{4};
  expected[4] = std::byte{32};
  for (std::size_t field = 0; field < 3; ++field) expected[8 + 8 * field] = static_cast<std::byte>(5 + field);
  expected[33] = std::byte{0x10};
  expected[41] = std::byte{0x20};
  expected[48] = std::byte{42};
  for (std::size_t i = 0; i < 36; ++i) expected[56 + i] = static_cast<std::byte>(i + 1);
  EXPECT_EQ(packet, expected);

  std::span<std::byte> rest(packet);
  Record record;
  ASSERT_TRUE(wire::next_record(rest, record));
  EXPECT_TRUE(rest.empty());
  EXPECT_TRUE(record.is_bulk());
  EXPECT_TRUE(record.is_attach());
  EXPECT_EQ(record.extension.source_address, 0x2000u);
  EXPECT_EQ(record.user_header[0], std::byte{1});
  EXPECT_EQ(record.payload[0], std::byte{5});
  EXPECT_EQ(record.payload[31], std::byte{36});
  for (std::size_t length = 0; length < packet.size(); ++length) {
    expect_no_record({packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(length)}, "cut short");
  }
}

TEST(OperationHeader, KeysForAGetByteForByte) {
  RecordBytes fixed(RecordKind::get_key, wire::GetKeyBody{0x11223344, 0x55667788, 0x99});
  const auto packet = packet_of(fixed.payload_length(16), 16);
  std::vector<std::byte> expected(40);
  expected[0] = std::byte{18};
  expected[4] = std::byte{16};
  expected[16] = std::byte{0x99};
  const unsigned char ids[] = {0x44, 0x33, 0x22, 0x11, 0x88, 0x77, 0x66, 0x55};
  std::memcpy(expected.data() + 8, ids, sizeof(ids));
  for (std::size_t i = 0; i < 16; ++i) expected[24 + i] = static_cast<std::byte>(i + 1);
  EXPECT_EQ(packet, expected);
}

TEST(OperationHeader, WhatAdaptersMayRead) {
  const auto accepted = [](RecordKind kind, int flags, std::uint32_t keys = 16) {
    RecordBytes fixed(kind, wire::PutBody{1, 0, 0});
    fixed.extend({100, 5, 1, 0}, static_cast<std::uint8_t>(flags)).payload_length(keys);
    auto packet = packet_of(fixed, keys);
    std::span<std::byte> rest(packet);
    Record record;
    return wire::next_record(rest, record);
  };
  constexpr int kAttach = wire::kFlagLong | wire::kFlagAttach;
  EXPECT_TRUE(accepted(RecordKind::put, kAttach | wire::kFlagBulk));
  EXPECT_TRUE(accepted(RecordKind::active_message, kAttach | wire::kFlagBulk));
  EXPECT_TRUE(accepted(RecordKind::put, kAttach | wire::kFlagBulk, 128)) << "keys may be longer than the data";
  for (const std::uint32_t keys : {0u, 8u, 15u, 17u, 144u}) {
    EXPECT_FALSE(accepted(RecordKind::put, kAttach | wire::kFlagBulk, keys)) << keys;
  }
  EXPECT_FALSE(accepted(RecordKind::put, kAttach)) << "keys, and nothing says so";
  EXPECT_FALSE(accepted(RecordKind::put, wire::kFlagBulk)) << "keys without the extension";
  EXPECT_FALSE(accepted(RecordKind::put, wire::kFlagLong | wire::kFlagBulk)) << "the data comes by itself";
  EXPECT_FALSE(accepted(RecordKind::put, kAttach | wire::kFlagLayout | wire::kFlagBulk)) << "data in pieces";
  EXPECT_FALSE(accepted(RecordKind::collective, kAttach | wire::kFlagBulk));

  auto request = packet_of(RecordBytes(RecordKind::get_request, wire::GetRequestBody{1, 2, 3, 4, 0}), 0);
  request[1] = std::byte{wire::kFlagBulk};
  std::span<std::byte> rest(request);
  Record record;
  EXPECT_TRUE(wire::next_record(rest, record));
  EXPECT_TRUE(record.is_bulk());
  request[1] = std::byte{wire::kFlagBulk | wire::kFlagLong};
  expect_no_record(request, "a long get request");
  request[1] = std::byte{wire::kFlagAttach};
  expect_no_record(request, "a get request with attach");
}

}  // namespace
}  // namespace openlapi
