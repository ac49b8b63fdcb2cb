#include "control/sealing/sealed_direction.h"

#include <gtest/gtest.h>

#include <string>

namespace openlapi::sealing {
namespace {

const Bytes kSalt{1, 2, 3};

SealedDirection direction(std::uint8_t secret = 7, const Bytes& salt = kSalt, std::string_view label = "there") {
  Key key{};
  key.fill(secret);
  return SealedDirection(key, salt, label);
}

Bytes sealed(SealedDirection& direction, const Bytes& text) {
  Bytes result;
  direction.seal(text, result);
  return result;
}

std::string hexadecimal(const Bytes& bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

// As computed with the modules hmac and cryptography of Python.
TEST(SealedDirection, ByteByByte) {
  SealedDirection out = direction();
  EXPECT_EQ(hexadecimal(sealed(out, {'a', 'b', 'c'})), "9fc916ecb92d163bce78f1c0e097ad93501480");
  EXPECT_EQ(hexadecimal(sealed(out, {'a', 'b', 'c'})), "b2696dd8b9d472276eecd93ee7c191dda02ea0");
}

TEST(SealedDirection, OpensWhatWasSealedInOrderAndAppends) {
  SealedDirection out = direction(), in = direction();
  Bytes text{9};
  for (const Bytes& said : {Bytes{1, 2}, Bytes{}, Bytes(100'000, 5)}) {
    const Bytes bytes = sealed(out, said);
    EXPECT_EQ(bytes.size(), said.size() + kSealBytes);
    ASSERT_TRUE(in.open(bytes, text));
  }
  EXPECT_EQ(text.size(), 1 + 2 + 100'000u);
  EXPECT_EQ(text[0], 9);
  EXPECT_EQ(text[2], 2);
}

TEST(SealedDirection, OpensNothingOfAnotherSecretSaltOrLabel) {
  for (SealedDirection* other : {new SealedDirection(direction(8)), new SealedDirection(direction(7, {1, 2})),
                                 new SealedDirection(direction(7, kSalt, "here"))}) {
    SealedDirection out = direction();
    Bytes text;
    EXPECT_FALSE(other->open(sealed(out, {1, 2, 3}), text));
    EXPECT_TRUE(text.empty());
    delete other;
  }
}

TEST(SealedDirection, OpensNothingThatIsChangedRepeatedSwappedOrCut) {
  SealedDirection out = direction();
  const Bytes first = sealed(out, {1, 2, 3}), second = sealed(out, {4, 5, 6});
  Bytes text;
  for (std::size_t at = 0; at < first.size(); ++at) {
    Bytes bytes = first;
    bytes[at] ^= 0x40;
    EXPECT_FALSE(direction().open(bytes, text)) << at;
    EXPECT_FALSE(direction().open(std::span(first).first(at), text)) << at;
  }
  EXPECT_FALSE(direction().open(second, text));
  SealedDirection in = direction();
  ASSERT_TRUE(in.open(first, text));
  EXPECT_FALSE(in.open(first, text));
  EXPECT_EQ(text, (Bytes{1, 2, 3}));
}

// The same text never looks the same, and the key changes on both sides at once.
TEST(SealedDirection, GoesOnWithItsNextKeys) {
  SealedDirection out = direction(), in = direction();
  const Bytes first = sealed(out, {1});
  Bytes text;
  ASSERT_TRUE(in.open(first, text));
  for (int n = 1; n < 3 * 65'536; ++n) {
    text.clear();
    const Bytes bytes = sealed(out, {1});
    ASSERT_NE(bytes, first);
    ASSERT_TRUE(in.open(bytes, text)) << n;
    ASSERT_EQ(text, Bytes{1});
  }
}

}  // namespace
}  // namespace openlapi::sealing
