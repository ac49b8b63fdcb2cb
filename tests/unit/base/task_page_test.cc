// What a launcher reads in a task's page.
#include "dataplane/base/task_page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <tuple>

namespace openlapi {
namespace {

constexpr std::uint32_t kOld = 77;  // what nobody would write
constexpr std::size_t kPlaces = sizeof(TaskPage::waits) / sizeof(TaskPage::Wait);

class TaskPageTest : public testing::Test {
 protected:
  // Whoever takes it is not its first owner.
  TaskPageTest() {
    for (std::atomic<std::uint32_t>* number : {&page.process, &page.opened, &page.open, &page.polled}) *number = kOld;
    for (TaskPage::Wait& wait : page.waits) {
      wait.call = kOld;
      wait.since = kOld;
      wait.first = static_cast<std::int32_t>(kOld);
      wait.second = static_cast<std::int32_t>(kOld);
    }
  }
  using Line = std::tuple<WaitedCall, std::int32_t, std::int32_t>;
  Line line(std::size_t place) const {
    const TaskPage::Wait& wait = page.waits[place];
    return {static_cast<WaitedCall>(wait.call.load()), wait.first.load(), wait.second.load()};
  }
  bool is_free(std::size_t place) const { return page.waits[place].call == 0; }

  static TaskPage page;  // the process has it to its end
};

TaskPage TaskPageTest::page;

// The first test of the process: the page is not taken yet.
TEST_F(TaskPageTest, WithoutOneNothingIsWritten) {
  if (has_task_page()) GTEST_FAIL() << "another test ran before";
  count_opened_context();
  count_closed_context();
  count_fruitless_polls();
  const LongWait wait({WaitedCall::put, 1, 2});
  EXPECT_EQ(page.opened, kOld);
  EXPECT_EQ(page.open, kOld);
  EXPECT_EQ(page.polled, kOld);
  EXPECT_EQ(page.waits[0].call, kOld);
}

TEST_F(TaskPageTest, WhoTakesItFindsItEmptyAndWritesItsNumber) {
  take_task_page(page);
  EXPECT_TRUE(has_task_page());
  EXPECT_EQ(page.process, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(page.opened, 0u);
  EXPECT_EQ(page.open, 0u);
  EXPECT_EQ(page.polled, 0u);
  for (std::size_t place = 0; place < kPlaces; ++place) EXPECT_TRUE(is_free(place)) << place;
}

TEST_F(TaskPageTest, ContextsAreCounted) {
  take_task_page(page);
  for (int context = 0; context < 3; ++context) count_opened_context();
  count_closed_context();
  EXPECT_EQ(page.opened, 3u);
  EXPECT_EQ(page.open, 2u);
}

TEST_F(TaskPageTest, FruitlessPollsHaveATime) {
  take_task_page(page);
  const std::uint32_t before = monotonic_seconds();
  count_fruitless_polls();
  EXPECT_GE(page.polled, before);
  EXPECT_LE(page.polled, monotonic_seconds());
}

TEST_F(TaskPageTest, AWaitShowsFromItsFirstNoteToItsEnd) {
  take_task_page(page);
  const std::uint32_t before = monotonic_seconds();
  {
    LongWait wait;
    EXPECT_TRUE(is_free(0));
    wait.note({WaitedCall::wait_for_counter, 3, 7});
    EXPECT_EQ(line(0), Line(WaitedCall::wait_for_counter, 3, 7));
    EXPECT_GE(page.waits[0].since, before);
    EXPECT_LE(page.waits[0].since, monotonic_seconds());
    page.waits[0].since = before - 5;
    wait.note({WaitedCall::wait_for_counter, 4, 7});
    EXPECT_EQ(line(0), Line(WaitedCall::wait_for_counter, 4, 7));
    EXPECT_EQ(page.waits[0].since, before - 5) << "it is still the same wait";
    EXPECT_TRUE(is_free(1));
  }
  EXPECT_TRUE(is_free(0));
}

TEST_F(TaskPageTest, WaitsHaveAPlaceEach) {
  take_task_page(page);
  auto first = std::make_unique<LongWait>(WaitedFor{.call = WaitedCall::fence});
  const LongWait second({WaitedCall::put, 5});
  EXPECT_EQ(line(0), Line(WaitedCall::fence, -1, -1));
  EXPECT_EQ(line(1), Line(WaitedCall::put, 5, -1));
  first.reset();
  EXPECT_TRUE(is_free(0));
  const LongWait third({WaitedCall::get, 6});
  EXPECT_EQ(line(0), Line(WaitedCall::get, 6, -1));
  EXPECT_EQ(line(1), Line(WaitedCall::put, 5, -1));
}

TEST_F(TaskPageTest, WaitsForWhichThereIsNoPlaceShowWhenOneIsFree) {
  take_task_page(page);
  std::array<LongWait, kPlaces> waits;
  for (LongWait& wait : waits) wait.note({WaitedCall::put});
  auto extra = std::make_unique<LongWait>(WaitedFor{.call = WaitedCall::get});
  for (std::size_t place = 0; place < kPlaces; ++place) EXPECT_EQ(line(place), Line(WaitedCall::put, -1, -1)) << place;
  page.waits[7].call = 0;  // as if its wait had ended
  extra->note({WaitedCall::get, 2});
  EXPECT_EQ(line(7), Line(WaitedCall::get, 2, -1));
}

// A child has its parent's memory, but not its page.
TEST_F(TaskPageTest, AForkedChildWritesNothing) {
  take_task_page(page);
  EXPECT_EXIT(
      {
        count_opened_context();
        const LongWait wait({WaitedCall::put});
        _exit(page.opened == 0 && page.open == 0 && is_free(0) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace openlapi
