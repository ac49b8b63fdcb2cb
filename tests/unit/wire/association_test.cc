#include "dataplane/wire/association.h"

#include <gtest/gtest.h>

#include <set>
#include <type_traits>

namespace openlapi::wire {
namespace {

constexpr SipKey kKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

PacketHeader sample_header() {
  PacketHeader header;
  header.instance = 1;
  header.path = 0;
  header.source = 2;
  header.destination = 3;
  header.source_epoch = 4;
  header.destination_epoch = 5;
  return header;
}

// SipHash-2-4 of the 32 bytes 02 01 01 00 00 00 00 00 | 02 00 00 00 03 00 00 00 | 04 .. | 05 .. as libcrypto answers
// it.
TEST(Association, HasOneValueOnEveryMachine) {
  EXPECT_EQ(association_of(kKey, sample_header()), 0xcba749e403494fb6u);
  EXPECT_EQ(first_sequence_of(kKey, sample_header()), 0x18feeff3u);
}

// Of 02 01 01 07 00 .. and the same behind it.
TEST(Association, OfAnotherPathHasOneValueOnEveryMachineToo) {
  PacketHeader header = sample_header();
  header.path = 7;
  EXPECT_EQ(association_of(kKey, header), 0xfc2f36ee9bee679du);
  EXPECT_EQ(first_sequence_of(kKey, header), 0xcdeebd2cu);
}

TEST(Association, OfOthersDiffers) {
  const PacketHeader sample = sample_header();
  const std::uint64_t association = association_of(kKey, sample);
  const auto changed = [&](auto PacketHeader::*field, unsigned bit) {
    PacketHeader other = sample;
    other.*field ^= static_cast<std::remove_cvref_t<decltype(other.*field)>>(std::uint64_t{1} << bit);
    return association_of(kKey, other);
  };
  std::set<std::uint64_t> seen{association};
  for (unsigned bit = 0; bit < 64; ++bit) {
    EXPECT_TRUE(seen.insert(changed(&PacketHeader::source_epoch, bit)).second);
    EXPECT_TRUE(seen.insert(changed(&PacketHeader::destination_epoch, bit)).second);
    EXPECT_TRUE(seen.insert(association_of({kKey.low ^ std::uint64_t{1} << bit, kKey.high}, sample)).second);
    EXPECT_TRUE(seen.insert(association_of({kKey.low, kKey.high ^ std::uint64_t{1} << bit}, sample)).second);
  }
  for (unsigned bit = 0; bit < 32; ++bit) {
    EXPECT_TRUE(seen.insert(changed(&PacketHeader::source, bit)).second);
    EXPECT_TRUE(seen.insert(changed(&PacketHeader::destination, bit)).second);
    EXPECT_EQ(changed(&PacketHeader::sequence, bit), association) << "changes from packet to packet";
    EXPECT_EQ(changed(&PacketHeader::cumulative_ack, bit), association);
  }
  for (unsigned bit = 0; bit < 8; ++bit) {
    EXPECT_TRUE(seen.insert(changed(&PacketHeader::instance, bit)).second);
    EXPECT_TRUE(seen.insert(changed(&PacketHeader::path, bit)).second);
    EXPECT_EQ(changed(&PacketHeader::flags, bit), association);
  }
}

TEST(Association, OfTheOtherDirectionDiffers) {
  PacketHeader back = sample_header();
  std::swap(back.source, back.destination);
  std::swap(back.source_epoch, back.destination_epoch);
  EXPECT_NE(association_of(kKey, back), association_of(kKey, sample_header()));
  EXPECT_NE(first_sequence_of(kKey, back), first_sequence_of(kKey, sample_header()));
}

TEST(Association, DoesNotGiveTheFirstSequenceAway) {
  const PacketHeader header = sample_header();
  EXPECT_NE(static_cast<std::uint32_t>(association_of(kKey, header)), first_sequence_of(kKey, header));
}

}  // namespace
}  // namespace openlapi::wire
