#include "dataplane/base/little_endian.h"

#include <gtest/gtest.h>

#include <array>

namespace openlapi {
namespace {

TEST(LittleEndian, EveryByteIsAtItsPlace) {
  std::array<std::byte, 10> place{};
  store_little(place.data() + 1, std::uint64_t{0x8182838485868788});
  constexpr std::array<unsigned, 10> kExpected = {0, 0x88, 0x87, 0x86, 0x85, 0x84, 0x83, 0x82, 0x81, 0};
  for (std::size_t at = 0; at < place.size(); ++at) {
    EXPECT_EQ(std::to_integer<unsigned>(place[at]), kExpected[at]) << at;
  }
  place[9] = std::byte{0xff};  // it is another number's
  EXPECT_EQ(load_little<std::uint64_t>(place.data() + 1), 0x8182838485868788u);
  EXPECT_EQ(load_little<std::uint16_t>(place.data() + 1), 0x8788u);
  EXPECT_EQ(load_little<std::uint8_t>(place.data() + 3), 0x86u);
}

TEST(LittleEndian, ANumberTakesItsOwnBytesAlone) {
  std::array<std::byte, 4> place{};
  store_little(place.data() + 1, std::uint16_t{0xa1a2});
  EXPECT_EQ(place, (std::array<std::byte, 4>{std::byte{0}, std::byte{0xa2}, std::byte{0xa1}, std::byte{0}}));
}

}  // namespace
}  // namespace openlapi
