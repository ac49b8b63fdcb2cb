#include "control/sealing/unproved_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace openlapi::sealing {
namespace {

constexpr std::uint32_t kInky = 1, kPinky = 2, kClyde = 3;

std::optional<std::size_t> goes(const std::vector<std::uint32_t>& addresses, std::uint32_t newcomer,
                                std::size_t places) {
  return who_goes(addresses, newcomer, places);
}

TEST(UnprovedPlaces, NobodyGoesWhileThereIsAPlace) {
  EXPECT_EQ(goes({}, kInky, 1), std::nullopt);
  EXPECT_EQ(goes({kInky, kInky, kPinky}, kInky, 4), std::nullopt);
}

TEST(UnprovedPlaces, WhoHasTheMostGivesTheOldest) {
  EXPECT_EQ(goes({kPinky, kInky, kInky}, kInky, 3), 1u);
  EXPECT_EQ(goes({kPinky, kInky, kInky}, kClyde, 3), 1u);
  EXPECT_EQ(goes({kPinky, kInky, kInky}, kPinky, 3), 0u) << "as many as the others, and the newcomer is one too many";
  EXPECT_EQ(goes({kPinky, kInky}, kClyde, 2), 0u);
  EXPECT_EQ(goes({kInky}, kInky, 1), 0u);
}

// However many come of one address: another's connections stay, up to half of the places.
TEST(UnprovedPlaces, AFloodTakesOnlyItsOwnPlaces) {
  constexpr std::size_t kPlaces = 256;
  std::vector<std::uint32_t> there(kPlaces / 2, kPinky);
  for (int n = 0; n < 10'000; ++n) {
    if (const auto gone = goes(there, kInky, kPlaces)) {
      ASSERT_EQ(there[*gone], kInky);
      there.erase(there.begin() + static_cast<std::ptrdiff_t>(*gone));
    }
    there.push_back(kInky);
  }
  EXPECT_EQ(there.size(), kPlaces);
  // And who comes later gets in, again up to half.
  for (std::size_t n = 0; n < kPlaces / 2; ++n) EXPECT_EQ(there[n], kPinky);
  const auto gone = goes(there, kClyde, kPlaces);
  ASSERT_TRUE(gone);
  EXPECT_EQ(*gone, 0u) << "pinky has been waiting longest";
}

TEST(UnprovedPlaces, LeaveMostFilesForTheRest) {
  EXPECT_EQ(unproved_places(0), 1u);
  EXPECT_EQ(unproved_places(64), 16u);
  EXPECT_EQ(unproved_places(1024), 256u);
  EXPECT_EQ(unproved_places(1 << 20), 256u);
}

}  // namespace
}  // namespace openlapi::sealing
