#include "control/daemon/messages/sealed_stream.h"

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
  EXPECT_EQ(said.size(), sealing::kSealedLengthBytes) << "its proof, and not the message";
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

TEST(SealedStream, AChangedByteBreaksIt) {
  SealedStream left(key_of(1), Role::kConnects), right(key_of(1), Role::kAccepts);
  carry(left, right);
  left.send({1, 2, 3});
  MessageBytes bytes = take_outgoing(left);
  bytes[3] ^= 1;
  EXPECT_FALSE(right.is_broken());
  EXPECT_FALSE(right.take(bytes));
  EXPECT_TRUE(right.is_broken());
  EXPECT_EQ(right.next(), std::nullopt);
}

}  // namespace
}  // namespace openlapi::daemon
