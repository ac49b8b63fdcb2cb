// Where memory lies in the file: beside what it lies beside in memory, and never where something else has been.
#include "shm/direct/file_places.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace openlapi::direct {
namespace {

constexpr std::uint64_t kChunkBytes = 64 << 10, kMemory = 0x7f12'3460'0000;

class FilePlacesTest : public testing::Test {
 protected:
  std::uint64_t take(std::uint64_t begin) { return places_->take(begin, begin + kChunkBytes).value_or(0); }

  const std::unique_ptr<FilePlaces> places_ = std::make_unique<FilePlaces>();
};

TEST_F(FilePlacesTest, NeighboursAreNeighboursAndHugePagesFit) {
  const std::uint64_t first = take(kMemory);
  EXPECT_EQ(first % kRegion, kMemory % kRegion);
  for (const std::uint64_t distance : {kChunkBytes, 7 * kChunkBytes, 100 * kRegion, std::uint64_t{1} << 40}) {
    EXPECT_EQ(take(kMemory + distance), first + distance);
    EXPECT_EQ(take(kMemory - distance), first - distance);
  }
}

TEST_F(FilePlacesTest, NoPlaceIsGivenAgain) {
  const std::uint64_t first = take(kMemory), beside = take(kMemory + kChunkBytes);
  places_->give_up(first, kChunkBytes);
  const std::uint64_t second = take(kMemory);
  EXPECT_NE(second, first);
  EXPECT_EQ(second % FilePlaces::kAddresses, kMemory);
  EXPECT_EQ(take(kMemory + 2 * kChunkBytes), second + 2 * kChunkBytes) << "the region has moved on";
  places_->give_up(beside, kChunkBytes);
  EXPECT_EQ(take(kMemory + kChunkBytes), second + kChunkBytes) << "nothing was there";
  EXPECT_EQ(take(kMemory + kRegion), first + kRegion) << "nor in the next region";
}

// What is opened across regions is in one piece, and what it was given nobody else gets.
TEST_F(FilePlacesTest, RegionsOfOneRangeAgree) {
  const std::uint64_t first = take(kMemory);
  places_->give_up(first, kChunkBytes);
  const std::uint64_t whole = *places_->take(kMemory, kMemory + 3 * kRegion);
  EXPECT_EQ(whole, first + FilePlaces::kAddresses);
  EXPECT_EQ(take(kMemory + 2 * kRegion), whole + 2 * kRegion);
}

TEST_F(FilePlacesTest, AllPlacesOfAddressesCanBeGivenUp) {
  const std::uint64_t first = take(kMemory);
  places_->give_up(first, kChunkBytes);
  const std::uint64_t second = take(kMemory);
  std::vector<std::uint64_t> visited;
  places_->give_up_all(kMemory, kMemory + kChunkBytes, [&](std::uint64_t life) { visited.push_back(life); });
  EXPECT_EQ(visited, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(take(kMemory), second + FilePlaces::kAddresses);
}

TEST_F(FilePlacesTest, EndsWithTheFile) {
  std::uint64_t before = 0;
  for (std::uint64_t life = 0; life < FilePlaces::kLives; ++life) {
    const std::uint64_t offset = take(kMemory);
    ASSERT_GT(offset, before);
    ASSERT_LE(offset, kFileSize - kChunkBytes);
    before = offset;
    places_->give_up(offset, kChunkBytes);
  }
  EXPECT_FALSE(places_->take(kMemory, kMemory + kChunkBytes));
  EXPECT_TRUE(places_->take(kMemory + kRegion, kMemory + kRegion + kChunkBytes));
  EXPECT_FALSE(places_->take(FilePlaces::kAddresses, FilePlaces::kAddresses + kChunkBytes)) << "of 57 bits";
}

}  // namespace
}  // namespace openlapi::direct
