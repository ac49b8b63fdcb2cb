#include "control/daemon/sealed_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace openlapi::daemon {
namespace {

using Role = SealedStream::Role;

BootKey key_of(std::uint8_t byte) {
  BootKey key{};
  key.fill(byte);
  return key;
}

MessageBytes take_outgoing(SealedStream& stream) { return std::exchange(stream.outgoing(), {}); }

// Carries bytes until nothing moves. False: one of the two has had enough.
bool carry(SealedStream& left, SealedStream& right, std::size_t step = 1 << 20) {
  const auto move = [&](SealedStream& from, SealedStream& to) {
    const MessageBytes bytes = take_outgoing(from);
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      if (!to.take(std::span(bytes).subspan(at, std::min(step, bytes.size() - at)))) return false;
    }
    return true;
  };
  while (!left.outgoing().empty() || !right.outgoing().empty()) {
    if (!move(left, right) || !move(right, left)) return false;
  }
  return true;
}

TEST(SealedStream, CarriesMessagesInBothDirections) {
  for (const std::size_t step : {1u, 13u, 4096u}) {
    SealedStream left(key_of(1), Role::kConnects), right(key_of(1), Role::kAccepts);
    left.send({1, 2});
    right.send({3});
    right.send({});
    ASSERT_TRUE(carry(left, right, step));
    EXPECT_TRUE(left.is_trusted());
    EXPECT_TRUE(right.is_trusted());
    EXPECT_EQ(right.next(), (MessageBytes{1, 2}));
    EXPECT_EQ(left.next(), MessageBytes{3});
    EXPECT_EQ(left.next(), MessageBytes{});
    left.send({9});
    ASSERT_TRUE(carry(left, right));
    EXPECT_EQ(right.next(), MessageBytes{9});
    EXPECT_EQ(left.next(), std::nullopt);
    EXPECT_EQ(right.next(), std::nullopt);
  }
}

TEST(SealedStream, AnotherKeyEndsItBeforeAnythingIsSaid) {
  SealedStream left(key_of(1), Role::kConnects), right(key_of(2), Role::kAccepts);
  left.send(MessageBytes(100, 0x55));
  MessageBytes said = take_outgoing(left);
  ASSERT_TRUE(right.take(said));
  ASSERT_FALSE(left.take(take_outgoing(right)));
  said = take_outgoing(left);
  EXPECT_EQ(said.size(), 4u + 16u);  // its proof, and not the message
  EXPECT_FALSE(right.take(said));
  EXPECT_FALSE(left.is_trusted());
  EXPECT_FALSE(right.is_trusted());
}

TEST(SealedStream, WhatItSaidItselfProvesNothing) {
  SealedStream stream(key_of(1), Role::kAccepts);
  ASSERT_TRUE(stream.take(take_outgoing(stream)));
  EXPECT_FALSE(stream.take(take_outgoing(stream)));
  EXPECT_FALSE(stream.is_trusted());
}

TEST(SealedStream, AnyChangedByteEndsIt) {
  SealedStream reference_left(key_of(1), Role::kConnects), reference_right(key_of(1), Role::kAccepts);
  carry(reference_left, reference_right);
  reference_left.send({1, 2, 3});
  const std::size_t length = reference_left.outgoing().size();
  EXPECT_EQ(length, 4u + 3u + 16u);
  for (std::size_t at = 0; at < length; ++at) {
    SealedStream left(key_of(1), Role::kConnects), right(key_of(1), Role::kAccepts);
    carry(left, right);
    left.send({1, 2, 3});
    MessageBytes bytes = take_outgoing(left);
    bytes[at] ^= 1;
    // A longer length makes it wait for bytes that never come; any next ones end it.
    right.take(bytes);
    right.take(MessageBytes(1000, 0));
    EXPECT_EQ(right.next(), std::nullopt) << at;
    EXPECT_FALSE(right.take(MessageBytes(70000, 0))) << at;
  }
}

TEST(SealedStream, ARepeatedMessageEndsIt) {
  SealedStream left(key_of(1), Role::kConnects), right(key_of(1), Role::kAccepts);
  carry(left, right);
  left.send({1});
  const MessageBytes bytes = take_outgoing(left);
  EXPECT_TRUE(right.take(bytes));
  EXPECT_FALSE(right.take(bytes));
  EXPECT_EQ(right.next(), MessageBytes{1});
  EXPECT_EQ(right.next(), std::nullopt);
}

TEST(SealedStream, KeepsNothingOfWhoHasNotProved) {
  SealedStream stream(key_of(1), Role::kAccepts), other(key_of(2), Role::kConnects);
  stream.take(take_outgoing(other));
  EXPECT_FALSE(stream.take(MessageBytes{1, 0, 0, 0}));
  SealedStream garbage(key_of(1), Role::kAccepts);
  EXPECT_FALSE(garbage.take(MessageBytes{'G', 'E', 'T', ' '}));
  SealedStream newer(key_of(1), Role::kAccepts);
  EXPECT_FALSE(newer.take(MessageBytes{'L', 'A', 'M', 'D', 2}));
}

}  // namespace
}  // namespace openlapi::daemon
