#include "dataplane/base/random_number.h"

#include <gtest/gtest.h>

#include <array>

namespace openlapi {
namespace {

// That one of them stays 0 in all rounds has a probability of 256 to the power of -16.
TEST(RandomNumber, FillsEveryByteAndNoOther) {
  std::array<std::uint8_t, 66> seen{};
  for (int round = 0; round < 16; ++round) {
    std::array<std::uint8_t, 66> bytes{};
    fill_randomly(std::span(bytes).subspan(1, 64));
    for (std::size_t i = 0; i < bytes.size(); ++i) seen[i] |= bytes[i];
  }
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i] != 0, i > 0 && i < 65) << i;
}

TEST(RandomNumber, DiffersFromTheOneBefore) {
  EXPECT_NE(random_number<std::uint64_t>(), random_number<std::uint64_t>());
}

}  // namespace
}  // namespace openlapi
