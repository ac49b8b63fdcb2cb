// What is worth promoting: what neighbours ask for again and again, wherever it lies.
#include "shm/direct/demand.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace openlapi::direct {
namespace {

constexpr std::uint64_t kChunkBytes = 64 << 10, kHeap = 0x5555'5575'0000;

class DemandTest : public testing::Test {
 protected:
  // How many of these chunks become hot when each is asked for so often, in turn.
  unsigned hot_of(unsigned chunks, std::uint64_t distance, unsigned times) {
    unsigned hot = 0;
    for (unsigned time = 0; time < times; ++time) {
      for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        hot += demand_->grows(kHeap + chunk * distance + time) == Demand::kChunk ? 1 : 0;
      }
    }
    return hot;
  }

  std::unique_ptr<Demand> demand_ = std::make_unique<Demand>();
};

TEST_F(DemandTest, GrowsWithEachMessageForTheChunk) {
  for (unsigned message = 1; message <= 256; ++message) {
    const bool asks = message == 32 || message == 64 || message == 128 || message == 256;
    const std::uint64_t wanted = !asks ? 0 : message == 256 ? Demand::kBlock : Demand::kChunk;
    ASSERT_EQ(demand_->grows(kHeap + message * 8), wanted) << message;
  }
  EXPECT_EQ(demand_->grows(kHeap + kChunkBytes), 0u) << "another chunk";
}

TEST_F(DemandTest, BeginsAnewForWhatIsOpen) {
  EXPECT_EQ(hot_of(1, 0, 50), 1u);
  demand_->forget(kHeap + 100, Demand::kChunk);
  EXPECT_EQ(hot_of(1, 0, Demand::kHot - 1), 0u);
  EXPECT_EQ(hot_of(1, 0, 1), 1u);
}

TEST_F(DemandTest, KeepsAskingForWhatIsRefusedForLong) { EXPECT_GE(hot_of(1, 0, 200'000), 12u); }

TEST_F(DemandTest, KnowsChunksApartAtAnyDistance) {
  for (unsigned bits = 16; bits < 40; ++bits) {
    const auto chunks = std::make_unique<UnitDemand<16>>();
    unsigned hot = 0;
    for (std::uint64_t message = 0; message < 64 * Demand::kHot; ++message) {
      hot += chunks->grows(kHeap + (message % 64 << bits), Demand::kHot) ? 1 : 0;
    }
    EXPECT_EQ(hot, 64u) << bits;
  }
}

TEST_F(DemandTest, FindsTwoThousandChunks) { EXPECT_EQ(hot_of(2048, 32 * kChunkBytes, Demand::kHot), 2048u); }

// Each of them only now and then, and more of them than are counted.
TEST_F(DemandTest, FindsBlocksThatAreHotAllOver) {
  constexpr std::uint64_t kBlocks = 4096;  // 8 GiB
  std::minstd_rand random(5);
  std::vector<bool> is_hot(kBlocks);
  std::uint64_t hot = 0, messages = 0;
  for (; hot < kBlocks && messages < 2 * kBlocks * Demand::kHotAllOver; ++messages) {
    const std::uint64_t distance = (std::uint64_t{random()} << 12) % (kBlocks * Demand::kBlock);
    const std::uint64_t address = kHeap / Demand::kBlock * Demand::kBlock + distance;
    if (is_hot[distance / Demand::kBlock] || demand_->grows(address) != Demand::kBlock) continue;
    is_hot[distance / Demand::kBlock] = true;
    ++hot;
    demand_->forget(address, Demand::kBlock);
  }
  EXPECT_EQ(hot, kBlocks) << messages;
}

TEST_F(DemandTest, FindsWhatIsHotAmongMuchThatIsNot) {
  bool hot = false;
  for (std::uint64_t other = 1; other < 100'000; ++other) {
    demand_->grows(kHeap + other * kChunkBytes);
    if (other % 64 == 0) hot = demand_->grows(kHeap) == Demand::kChunk || hot;
  }
  EXPECT_TRUE(hot);
}

}  // namespace
}  // namespace openlapi::direct
