#include "shm/direct/address_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace openlapi::direct {
namespace {

class AddressTableTest : public testing::Test {
 protected:
  // As neighbours read it.
  std::vector<OpenRange> published() const {
    std::vector<OpenRange> ranges;
    for (std::uint64_t number = 0; number < header->count; ++number) {
      const TableEntry& entry = header->entries[number];
      ranges.push_back({entry.begin, entry.end, entry.offset});
    }
    return ranges;
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> drop(std::uint64_t begin, std::uint64_t end) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> dropped;
    table->drop(begin, end, [&](std::uint64_t offset, std::uint64_t length) { dropped.emplace_back(offset, length); });
    return dropped;
  }

  std::unique_ptr<ControlHeader> header = std::make_unique<ControlHeader>();
  std::unique_ptr<AddressTable> table = std::make_unique<AddressTable>(*header);
};

using Ranges = std::vector<OpenRange>;
using Dropped = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST_F(AddressTableTest, JoinsWhatContinuesInAddressAndFile) {
  EXPECT_TRUE(table->add({100, 200, 1100}));
  EXPECT_TRUE(table->add({200, 300, 1200}));
  EXPECT_TRUE(table->add({300, 400, 5300}));
  EXPECT_TRUE(table->add({500, 600, 1300}));
  EXPECT_EQ(published(), (Ranges{{100, 300, 1100}, {300, 400, 5300}, {500, 600, 1300}}));
}

TEST_F(AddressTableTest, KnowsWhetherAllOfARangeIsOpen) {
  table->add({300, 400, 5300});
  table->add({100, 300, 1100});
  table->add({500, 600, 1300});
  EXPECT_TRUE(table->has_all(100, 400)) << "in two ranges of the file";
  EXPECT_TRUE(table->has_all(599, 600));
  EXPECT_FALSE(table->has_all(99, 200));
  EXPECT_FALSE(table->has_all(300, 401));
  EXPECT_FALSE(table->has_all(300, 600)) << "with a hole";
  EXPECT_TRUE(table->has(399));
  EXPECT_FALSE(table->has(400));
}

TEST_F(AddressTableTest, DropsAHoleOutOfTheMiddle) {
  table->add({100, 500, 1100});
  table->add({700, 800, 2700});
  EXPECT_EQ(drop(200, 300), (Dropped{{1200, 100}}));
  EXPECT_EQ(published(), (Ranges{{100, 200, 1100}, {700, 800, 2700}, {300, 500, 1300}}));
}

TEST_F(AddressTableTest, DropsWholeRangesAndEnds) {
  table->add({100, 200, 1100});
  table->add({300, 400, 3300});
  table->add({500, 600, 5500});
  table->add({700, 800, 7700});
  EXPECT_EQ(drop(150, 550), (Dropped{{1150, 50}, {3300, 100}, {5500, 50}}));
  EXPECT_EQ(published(), (Ranges{{100, 150, 1100}, {550, 600, 5550}, {700, 800, 7700}}));
  EXPECT_EQ(drop(600, 700), Dropped{});
  EXPECT_EQ(drop(0, UINT64_MAX).size(), 3u);
  EXPECT_EQ(published(), Ranges{});
}

TEST_F(AddressTableTest, RefusesWhatDoesNotFit) {
  for (std::uint64_t number = 0; number < kMostEntries; ++number) {
    ASSERT_TRUE(table->add({number * 1000, number * 1000 + 900, number * 1000}));
  }
  EXPECT_FALSE(table->add({5000000, 5000100, 5000000}));
  EXPECT_TRUE(table->add({900, 950, 900})) << "the first one can still grow";
  // A hole needs one more: what is behind it is lost, and nothing else.
  EXPECT_EQ(drop(1100, 1200).size(), 1u);
  EXPECT_EQ(table->size(), kMostEntries);
  EXPECT_EQ((*table)[1], (OpenRange{1000, 1100, 1000}));
  EXPECT_EQ((*table)[2], (OpenRange{2000, 2900, 2000}));
  EXPECT_EQ(published().size(), kMostEntries);
}

}  // namespace
}  // namespace openlapi::direct
