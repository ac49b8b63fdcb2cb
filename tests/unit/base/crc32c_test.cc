#include "dataplane/base/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace openlapi {
namespace {

// RFC 3720, B.4.
TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(extend_crc32c(0, "123456789", 9), 0xe3069283u);
  EXPECT_EQ(extend_crc32c(0, std::vector<unsigned char>(32, 0).data(), 32), 0x8a9136aau);
  EXPECT_EQ(extend_crc32c(0, std::vector<unsigned char>(32, 0xff).data(), 32), 0x62a8ab43u);
  std::vector<unsigned char> ascending(32);
  for (unsigned i = 0; i < 32; ++i) ascending[i] = static_cast<unsigned char>(i);
  EXPECT_EQ(extend_crc32c(0, ascending.data(), 32), 0x46dd794eu);
  EXPECT_EQ(extend_crc32c(7, nullptr, 0), 7u);
}

TEST(Crc32c, InstructionAndTableAgreeAtAllLengthsAndCuts) {
  std::vector<unsigned char> bytes(100);
  for (unsigned i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 37 + 11);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const std::uint32_t whole = extend_crc32c_by_table(0, bytes.data(), length);
    EXPECT_EQ(extend_crc32c(0, bytes.data(), length), whole);
    const std::size_t cut = length / 3;
    const std::uint32_t front = extend_crc32c(0, bytes.data(), cut);
    EXPECT_EQ(extend_crc32c(front, bytes.data() + cut, length - cut), whole);
    EXPECT_EQ(extend_crc32c_by_table(front, bytes.data() + cut, length - cut), whole);
  }
}

}  // namespace
}  // namespace openlapi
