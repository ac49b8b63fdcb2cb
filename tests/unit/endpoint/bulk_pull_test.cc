#include "dataplane/message/bulk_pull.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/scripted_bulk_memory.h"

namespace openlapi {
namespace {

// The adapter checks that nothing is withdrawn twice.
class ExposureTest : public testing::Test {
 protected:
  Exposure expose(std::size_t place) {
    Exposure exposure;
    EXPECT_FALSE(exposure.active());
    EXPECT_TRUE(exposure.add(adapter_, memory_.data() + place, 8));
    EXPECT_TRUE(exposure.active());
    return exposure;
  }

  ScriptedBulkMemory adapter_;
  std::array<std::byte, 64> memory_{};
};

TEST_F(ExposureTest, LastsAsLongAsItExistsOrUntilItIsEnded) {
  {
    Exposure first = expose(0), second = expose(8);
    EXPECT_EQ(adapter_.exposed(), 2u);
    first.end();
    EXPECT_FALSE(first.active());
    EXPECT_EQ(adapter_.exposed(), 1u);
    first.end();
  }
  EXPECT_EQ(adapter_.exposed(), 0u);
}

TEST_F(ExposureTest, IsOneWhereverItIsMoved) {
  {
    Exposure first = expose(0);
    const MemoryKey key = first.keys().all()[0];
    Exposure moved(std::move(first));
    EXPECT_FALSE(first.active());
    EXPECT_EQ(moved.keys().all()[0].bytes, key.bytes);
    Exposure other = expose(8);
    other = std::move(moved);
    EXPECT_EQ(adapter_.exposed(), 1u) << "what it had before is withdrawn";
    EXPECT_TRUE(other.active());
    EXPECT_FALSE(moved.active());
    EXPECT_EQ(other.keys().all()[0].bytes, key.bytes);
    other = Exposure();
    EXPECT_EQ(adapter_.exposed(), 0u);
    EXPECT_FALSE(other.active());
  }
  EXPECT_EQ(adapter_.exposed(), 0u);
}

TEST_F(ExposureTest, IsThroughAllAdaptersThatTookIt) {
  ScriptedBulkMemory second, third;
  Exposure exposure = expose(0);
  EXPECT_TRUE(exposure.add(second, memory_.data(), 8));
  third.refuses_to_expose = true;
  EXPECT_FALSE(exposure.add(third, memory_.data(), 8));
  third.refuses_to_expose = false;
  EXPECT_FALSE(exposure.is_through(third));
  EXPECT_TRUE(exposure.add(third, memory_.data(), 8));
  const Exposure moved(std::move(exposure));
  EXPECT_TRUE(exposure.keys().empty());
  for (const ScriptedBulkMemory* each : {&adapter_, &second, &third}) {
    EXPECT_TRUE(moved.is_through(*each));
    EXPECT_EQ(each->exposed(), 1u);
  }
  EXPECT_EQ(moved.keys().all().size(), 3u);
  EXPECT_EQ(moved.keys().bytes(), 48u);
  for (ScriptedBulkMemory* each : {&second, &third}) expose(8).add(*each, memory_.data(), 8);
  EXPECT_EQ(second.exposed(), 1u) << "the other one's end";
}

TEST_F(ExposureTest, ReliesOnThoseThatAreNotSpare) {
  ScriptedBulkMemory second, third;
  Exposure exposure = expose(0);
  EXPECT_TRUE(exposure.add(second, memory_.data(), 8, true));
  EXPECT_FALSE(exposure.relies_on(third));
  EXPECT_TRUE(exposure.add(third, memory_.data(), 8));
  Exposure moved(std::move(exposure));
  exposure = std::move(moved);
  EXPECT_TRUE(exposure.relies_on(adapter_));
  EXPECT_FALSE(exposure.relies_on(second));
  EXPECT_TRUE(exposure.relies_on(third));
}

TEST_F(ExposureTest, ThatFailsIsNone) {
  adapter_.refuses_to_expose = true;
  Exposure exposure;
  EXPECT_FALSE(exposure.add(adapter_, memory_.data(), 8));
  EXPECT_FALSE(exposure.active());
}

}  // namespace
}  // namespace openlapi
