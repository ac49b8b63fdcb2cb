#include "control/sealing/sealed_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace openlapi::sealing {
namespace {

constexpr std::size_t kLongest = 1000;

SealedMessages side(Role role, std::uint8_t secret = 1, Purpose purpose = Purpose::kNeighbours,
                    std::size_t longest = kLongest) {
  Key key{};
  key.fill(secret);
  return SealedMessages(key, role, purpose, longest);
}

Bytes take_outgoing(SealedMessages& from) { return std::exchange(from.outgoing(), {}); }

// Carries bytes until nothing moves. False: one of the two has had enough.
bool carry(SealedMessages& left, SealedMessages& right, std::size_t step = 1 << 20) {
  const auto move = [&](SealedMessages& from, SealedMessages& to) {
    const Bytes bytes = take_outgoing(from);
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

// Two that have greeted each other.
struct Ends {
  Ends() { EXPECT_TRUE(carry(left, right)); }
  SealedMessages left = side(Role::kConnects), right = side(Role::kAccepts);
};

TEST(SealedMessages, HelloAndProofByteByByte) {
  SealedMessages left = side(Role::kConnects, 1, Purpose::kTree), right = side(Role::kAccepts, 1, Purpose::kTree);
  left.send(Bytes{7});
  const Bytes hello = take_outgoing(left);
  ASSERT_EQ(hello.size(), kHelloBytes);
  EXPECT_EQ(Bytes(hello.begin(), hello.begin() + 8), (Bytes{'L', 'A', 'M', 'S', 1, 3, 0, 0}));
  ASSERT_TRUE(left.take(take_outgoing(right)));
  EXPECT_EQ(take_outgoing(left).size(), kSealedLengthBytes) << "its proof, and not the message";
  ASSERT_TRUE(right.take(hello));
  ASSERT_TRUE(left.take(take_outgoing(right)));
  EXPECT_TRUE(left.is_proven());
  EXPECT_EQ(take_outgoing(left).size(), kSealedLengthBytes + 1 + kSealBytes);
}

TEST(SealedMessages, CarriesMessagesInBothDirectionsInPiecesOfAnySize) {
  for (const std::size_t step : {1u, 13u, 4096u}) {
    SealedMessages left = side(Role::kConnects), right = side(Role::kAccepts);
    left.send(Bytes{1, 2});
    right.send(Bytes{3});
    right.send(Bytes{});
    right.send(Bytes(kLongest, 4));
    ASSERT_TRUE(carry(left, right, step));
    EXPECT_TRUE(left.is_proven() && right.is_proven());
    EXPECT_EQ(right.next(), (Bytes{1, 2}));
    EXPECT_EQ(left.next(), Bytes{3});
    EXPECT_EQ(left.next(), Bytes{});
    EXPECT_EQ(left.next(), Bytes(kLongest, 4));
    EXPECT_EQ(left.next(), std::nullopt);
  }
}

TEST(SealedMessages, NothingThatIsSaidCanBeReadOnTheWay) {
  const std::string secret = "PMIX_NAMESPACE=lapirun-0123456789abcdef";
  SealedMessages left = side(Role::kConnects), right = side(Role::kAccepts);
  std::string seen;
  for (int n = 0; n < 3; ++n) {
    left.send(Bytes(secret.begin(), secret.end()));
    for (SealedMessages* from : {&left, &right}) {
      const Bytes bytes = take_outgoing(*from);
      seen.append(bytes.begin(), bytes.end());
      ASSERT_TRUE((from == &left ? right : left).take(bytes));
    }
  }
  while (!left.outgoing().empty()) {
    const Bytes bytes = take_outgoing(left);
    seen.append(bytes.begin(), bytes.end());
    ASSERT_TRUE(right.take(bytes));
  }
  for (int n = 0; n < 3; ++n) EXPECT_EQ(right.next(), Bytes(secret.begin(), secret.end()));
  // Of what looks random every four bytes come in half a kilobyte one time in some millions; twelve never do.
  for (std::size_t at = 0; at + 12 <= secret.size(); ++at) {
    EXPECT_EQ(seen.find(secret.substr(at, 12)), std::string::npos) << at;
  }
}

TEST(SealedMessages, AnotherKeyOrPurposeEndsItBeforeAnythingIsSaid) {
  SealedMessages left = side(Role::kConnects), right = side(Role::kAccepts, 2);
  left.send(Bytes(100, 0x55));
  ASSERT_TRUE(right.take(take_outgoing(left)));
  ASSERT_FALSE(left.take(take_outgoing(right)));
  const Bytes said = take_outgoing(left);
  EXPECT_EQ(said.size(), kSealedLengthBytes);
  EXPECT_FALSE(right.take(said));
  EXPECT_FALSE(left.is_proven() || right.is_proven());
  SealedMessages tree = side(Role::kAccepts, 1, Purpose::kTree);
  EXPECT_FALSE(tree.take(side(Role::kConnects).outgoing()));
}

TEST(SealedMessages, WhatItSaidItselfProvesNothing) {
  SealedMessages alone = side(Role::kAccepts);
  ASSERT_TRUE(alone.take(take_outgoing(alone)));
  EXPECT_FALSE(alone.take(take_outgoing(alone)));
  EXPECT_FALSE(alone.is_proven());
}

// Of a stranger who has not proved himself: whatever he says, it ends with the byte after which a proof would be whole.
TEST(SealedMessages, KeepsSixtyBytesOfAStranger) {
  SealedMessages stranger = side(Role::kConnects, 2), alone = side(Role::kAccepts);
  Bytes said = take_outgoing(stranger);
  said.resize(kBytesBeforeProof, 0xff);
  for (std::size_t n = 0; n + 1 < said.size(); ++n) ASSERT_TRUE(alone.take(std::span(said).subspan(n, 1))) << n;
  EXPECT_FALSE(alone.take(std::span(said).last(1)));
  EXPECT_FALSE(alone.take(Bytes(1 << 20)));
  for (const char* no_hello : {"GET ", "LAMD", "LAMS\2", "LAMS\1\4\1"}) {
    SealedMessages other = side(Role::kAccepts);
    EXPECT_FALSE(other.take(std::span(reinterpret_cast<const std::uint8_t*>(no_hello), std::strlen(no_hello))));
  }
}

// Each ends it as soon as what was changed is there, without a further byte.
TEST(SealedMessages, AnyChangedByteEndsIt) {
  const std::size_t length = kSealedLengthBytes + 3 + kSealBytes;
  for (std::size_t at = 0; at < length; ++at) {
    Ends ends;
    ends.left.send(Bytes{1, 2, 3});
    Bytes bytes = take_outgoing(ends.left);
    ASSERT_EQ(bytes.size(), length);
    bytes[at] ^= 1;
    EXPECT_FALSE(ends.right.take(bytes)) << at;
    EXPECT_EQ(ends.right.next(), std::nullopt) << at;
    EXPECT_TRUE(ends.right.is_broken());
  }
}

TEST(SealedMessages, ARepeatedLeftOutSwappedOrInsertedPieceEndsIt) {
  const auto said = [](Ends& ends, std::uint8_t what) {
    ends.left.send(Bytes(3, what));
    return take_outgoing(ends.left);
  };
  Ends repeated;
  const Bytes bytes = said(repeated, 1);
  EXPECT_TRUE(repeated.right.take(bytes));
  EXPECT_FALSE(repeated.right.take(bytes));
  EXPECT_EQ(repeated.right.next(), Bytes(3, 1));
  EXPECT_EQ(repeated.right.next(), std::nullopt);
  Ends swapped;
  const Bytes first = said(swapped, 1), second = said(swapped, 2);
  EXPECT_FALSE(swapped.right.take(second));
  EXPECT_FALSE(swapped.right.take(first));
  EXPECT_EQ(swapped.right.next(), std::nullopt);
  Ends inserted;
  EXPECT_FALSE(inserted.right.take(bytes)) << "of another connection with the same key";
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Ends cut;
    const Bytes whole = said(cut, 1), next = said(cut, 2);
    Bytes rest = whole;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at));
    rest.insert(rest.end(), next.begin(), next.end());
    EXPECT_FALSE(cut.right.take(rest)) << at;
    // One time in 256 what follows begins with the very byte that was cut off at the end: then the first one is whole.
    const bool first_is_whole = std::equal(whole.begin(), whole.end(), rest.begin());
    if (first_is_whole) {
      EXPECT_EQ(cut.right.next(), Bytes(3, 1)) << at;
    }
    EXPECT_EQ(cut.right.next(), std::nullopt) << at;
  }
}

TEST(SealedMessages, AMessageThatIsTooLongEndsIt) {
  Ends ends;
  ends.left.send(Bytes(kLongest + 1));
  EXPECT_FALSE(carry(ends.left, ends.right));
  Ends allowed;
  allowed.right.allow(kLongest + 1);
  allowed.left.send(Bytes(kLongest + 1));
  EXPECT_TRUE(carry(allowed.left, allowed.right));
}

}  // namespace
}  // namespace openlapi::sealing
