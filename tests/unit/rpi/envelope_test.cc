#include "api/rpi/lapi/envelope.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "api/rpi/include/lam_mpi.h"

namespace openlapi::rpi {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const Envelope& envelope) {
  std::array<std::byte, kMostEnvelope> room;
  const auto bytes = encode(envelope, room);
  return {bytes.begin(), bytes.end()};
}

const Envelope kShort{EnvelopeKind::short_message, 7, -3, -9, 2, 11, 0, 0, 0};
const Envelope kSynchronous{EnvelopeKind::synchronous, UINT32_MAX, 1, 5, 0, -1, 77, 0, 0};
const Envelope kLong{EnvelopeKind::long_message, 1, INT32_MIN, INT32_MAX, kMostRank, 3, UINT64_MAX, 4096, INT32_MAX};
const Envelope kMatched{EnvelopeKind::matched, 0, 0, 0, 0, 0, 5, 0, 0};
const Envelope kFetched{EnvelopeKind::fetched, 0, 0, 0, 0, 0, UINT64_MAX, 0, 0};
const Envelope kLeaves{EnvelopeKind::leaves, UINT32_MAX, 0, 0, 0, 0, 0, 0, 0};

const std::array kAll = {kShort, kSynchronous, kLong, kMatched, kFetched, kLeaves};

TEST(Envelope, ComesOutAsItWentIn) {
  for (const Envelope& envelope : kAll) {
    const auto decoded = decode_envelope(bytes_of(envelope));
    ASSERT_TRUE(decoded.has_value()) << static_cast<int>(envelope.kind);
    EXPECT_EQ(*decoded, envelope);
  }
}

TEST(Envelope, HasTheseBytes) {
  const Envelope envelope{EnvelopeKind::long_message, 0x04030201,          0x14131211, 0x24232221, 0x3231, 0x44434241,
                          0x58575655'54535251,        0x68676665'64636261, 0x01020304};
  const std::array<std::uint8_t, 44> expected = {2,    3,    0x31, 0x32, 0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13,
                                                 0x14, 0x21, 0x22, 0x23, 0x24, 0x41, 0x42, 0x43, 0x44, 0x51, 0x52,
                                                 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x61, 0x62, 0x63, 0x64, 0x65,
                                                 0x66, 0x67, 0x68, 0x04, 0x03, 0x02, 0x01, 0,    0,    0,    0};
  const Bytes bytes = bytes_of(envelope);
  ASSERT_EQ(bytes.size(), expected.size());
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_EQ(std::to_integer<int>(bytes[n]), expected[n]) << n;
  EXPECT_EQ(bytes_of(kShort).size(), 20U);
  EXPECT_EQ(bytes_of(kSynchronous).size(), 28U);
  EXPECT_EQ(bytes_of(kMatched).size(), 16U);
  EXPECT_EQ(bytes_of(kFetched).size(), 16U);
  EXPECT_EQ(bytes_of(kLeaves).size(), 8U);
}

TEST(Envelope, IsRefusedCutOffOrLonger) {
  for (const Envelope& envelope : kAll) {
    const Bytes whole = bytes_of(envelope);
    for (std::size_t size = 0; size <= kMostEnvelope + 4; ++size) {
      Bytes bytes = whole;
      bytes.resize(size);
      EXPECT_EQ(decode_envelope(bytes).has_value(), size == whole.size()) << size;
    }
  }
}

TEST(Envelope, IsRefusedOfAnotherVersionOrKind) {
  for (const Envelope& envelope : kAll) {
    const Bytes whole = bytes_of(envelope);
    for (int value = 0; value < 256; ++value) {
      Bytes bytes = whole;
      bytes[0] = static_cast<std::byte>(value);
      EXPECT_EQ(decode_envelope(bytes).has_value(), value == kEnvelopeVersion) << value;
    }
    for (const int kind : {0, 7, 8, 255}) {
      Bytes bytes = whole;
      bytes[1] = static_cast<std::byte>(kind);
      EXPECT_FALSE(decode_envelope(bytes).has_value()) << kind;
    }
  }
}

bool is_accepted(const Envelope& envelope) { return decode_envelope(bytes_of(envelope)).has_value(); }

TEST(Envelope, IsRefusedWithWhatNoMessageHas) {
  for (Envelope message : {kShort, kSynchronous, kLong}) {
    message.rank = 0;
    EXPECT_TRUE(is_accepted(message));
    message.tag = MPI_ANY_TAG;
    EXPECT_FALSE(is_accepted(message));
  }
  for (Envelope named : {kSynchronous, kLong, kMatched, kFetched}) {
    named.request = 0;
    EXPECT_FALSE(is_accepted(named));
  }
  for (Envelope answer : {kMatched, kFetched}) {
    answer.sequence = 1;
    EXPECT_FALSE(is_accepted(answer));
  }
  for (Envelope other : {kMatched, kFetched, kLeaves}) {
    other.rank = 1;
    EXPECT_FALSE(is_accepted(other));
  }
}

TEST(Envelope, OfALongMessageNamesMemoryThatThereIs) {
  Envelope message = kLong;
  message.length = 0;
  EXPECT_FALSE(is_accepted(message));
  message.length = std::uint64_t{INT32_MAX} + 1;
  EXPECT_FALSE(is_accepted(message));
  message.length = 16;
  message.address = UINT64_MAX - 16;
  EXPECT_TRUE(is_accepted(message));
  ++message.address;
  EXPECT_FALSE(is_accepted(message));
}

}  // namespace
}  // namespace openlapi::rpi
