// What is worth promoting: what neighbours ask for again and again, wherever it lies.
#include "shm/direct/demand.h"

#include <gtest/gtest.h>

#include <memory>

namespace openlapi::direct {
namespace {

constexpr std::uint64_t kChunkBytes = 64 << 10, kHeap = 0x5555'5575'0000;

class DemandTest : public testing::Test {
 protected:
  // How many of these chunks become hot when each is asked for so often, in turn.
  unsigned hot_of(unsigned chunks, std::uint64_t distance, unsigned times) {
    unsigned hot = 0;
    for (unsigned time = 0; time < times; ++time) {
      for (unsigned chunk = 0; chunk < chunks; ++chunk) hot += demand_->grows(kHeap + chunk * distance + time) ? 1 : 0;
    }
    return hot;
  }

  std::unique_ptr<Demand> demand_ = std::make_unique<Demand>();
};

TEST_F(DemandTest, GrowsWithEachMessageForTheChunk) {
  for (unsigned message = 1; message <= 256; ++message) {
    const bool asks = message == 32 || message == 64 || message == 128 || message == 256;
    ASSERT_EQ(demand_->grows(kHeap + message * 8), asks) << message;
  }
  EXPECT_FALSE(demand_->grows(kHeap + kChunkBytes)) << "another chunk";
}

TEST_F(DemandTest, BeginsAnewForWhatIsOpen) {
  EXPECT_EQ(hot_of(1, 0, 50), 1u);
  demand_->forget(kHeap + 100);
  EXPECT_EQ(hot_of(1, 0, Demand::kHot - 1), 0u);
  EXPECT_EQ(hot_of(1, 0, 1), 1u);
}

TEST_F(DemandTest, KeepsAskingForWhatIsRefusedForLong) { EXPECT_GE(hot_of(1, 0, 200'000), 12u); }

TEST_F(DemandTest, KnowsChunksApartAtAnyDistance) {
  for (unsigned bits = 16; bits < 40; ++bits) {
    demand_ = std::make_unique<Demand>();
    EXPECT_EQ(hot_of(64, std::uint64_t{1} << bits, Demand::kHot), 64u) << bits;
  }
}

// As much as a table can have.
TEST_F(DemandTest, FindsTwoThousandChunks) { EXPECT_EQ(hot_of(2048, kChunkBytes, Demand::kHot), 2048u); }

TEST_F(DemandTest, FindsWhatIsHotAmongMuchThatIsNot) {
  bool hot = false;
  for (std::uint64_t other = 1; other < 100'000; ++other) {
    demand_->grows(kHeap + other * kChunkBytes);
    if (other % 64 == 0) hot = demand_->grows(kHeap) || hot;
  }
  EXPECT_TRUE(hot);
}

}  // namespace
}  // namespace openlapi::direct
