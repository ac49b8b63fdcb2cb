// A task's view of the network availability matrix, with the page and the socket of a daemon.
#include "control/client/adapter_watch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <thread>

#include "tests/unit/control/adapter_page_daemon.h"

namespace openlapi {
namespace {

using daemon::AdapterAddress;
using daemon::AdapterCause;
using daemon::AdapterStatus;
using daemon::NodeAdapters;
using Rows = std::map<std::uint32_t, NodeAdapters>;

constexpr AdapterPlace kFirst{3, 1, 0, 4, 24, {10, 0, 0, 1}};

Rows rows_of(std::uint8_t cause = AdapterCause::kUp, std::uint8_t last = 1) {
  const AdapterStatus adapter{"e", daemon::AdapterKind::kInterface, cause, 0, 1, {{{10, 0, 0, last}, 24}}};
  return {{3, {3, 0, 1, {adapter}}}};
}

// Many addresses, all of them with the same last byte.
Rows many_rows(std::uint8_t last) {
  Rows rows;
  for (std::uint32_t node = 0; node < 200; ++node) {
    rows[node] = rows_of(AdapterCause::kUp, last).at(3);
    rows[node].node = node;
  }
  return rows;
}

class AdapterWatchTest : public testing::Test, protected test::AdapterPageDaemon {
 protected:
  void open() {
    answer([this] { watch_ = AdapterWatch::open(folder_.path(), error_); });
  }
  bool is_readable() const { return AdapterPageDaemon::is_readable(watch_->descriptor()); }

  std::string error_{};
  std::unique_ptr<AdapterWatch> watch_{};
  std::vector<AdapterPlace> places_{};
  std::uint32_t seen_ = 0;
};

TEST_F(AdapterWatchTest, ReadsWhatTheDaemonWrites) {
  page_.write(rows_of());
  open();
  ASSERT_TRUE(watch_) << error_;
  ASSERT_TRUE(watch_->read(places_, seen_));
  EXPECT_EQ(places_, std::vector{kFirst});
  EXPECT_EQ(seen_, watch_->changes());
  AdapterPlace down = kFirst;
  down.is_up = 0;
  EXPECT_TRUE(page_.write(rows_of(AdapterCause::kNoCarrier)));
  EXPECT_NE(seen_, watch_->changes()) << "it is seen without a call";
  ASSERT_TRUE(watch_->read(places_, seen_));
  EXPECT_EQ(places_, std::vector{down});
  EXPECT_TRUE(page_.write({}));
  ASSERT_TRUE(watch_->read(places_, seen_));
  EXPECT_TRUE(places_.empty());
}

TEST_F(AdapterWatchTest, WhatTasksDoNotSeeIsNoChange) {
  EXPECT_TRUE(page_.write(rows_of()));
  Rows rows = rows_of();
  rows[3].generation = 7;
  rows[3].adapters[0].since = 7;
  EXPECT_FALSE(page_.write(rows));
}

TEST_F(AdapterWatchTest, WakesWhoSleeps) {
  open();
  ASSERT_TRUE(watch_) << error_;
  EXPECT_FALSE(is_readable());
  tell(task_);
  EXPECT_TRUE(is_readable());
  EXPECT_TRUE(watch_->drain());
  EXPECT_FALSE(is_readable());
}

TEST_F(AdapterWatchTest, TellsTheDaemonOfADeadPath) {
  open();
  ASSERT_TRUE(watch_) << error_;
  const daemon::MessageBytes here{10, 0, 0, 1}, there{10, 0, 0, 2};
  watch_->report(here, there);
  EXPECT_EQ(next_message(task_), daemon::DaemonMessage(daemon::PathReport{here, there}));
}

// Who reads nothing is told no more than the socket takes.
TEST_F(AdapterWatchTest, ADaemonThatIsBusyKeepsNobodyWaiting) {
  open();
  ASSERT_TRUE(watch_) << error_;
  const daemon::MessageBytes here{10, 0, 0, 1}, there{10, 0, 0, 2};
  for (int n = 0; n < 100'000; ++n) watch_->report(here, there);
  std::size_t came = 0;
  while (task_.serve()) {
    const std::size_t before = came;
    while (task_.stream().next()) ++came;
    if (came == before) break;
  }
  EXPECT_GT(came, 0U);
  EXPECT_LT(came, 100'000U);
}

TEST_F(AdapterWatchTest, HearsThatTheDaemonHasEnded) {
  page_.write(rows_of());
  open();
  ASSERT_TRUE(watch_) << error_;
  task_.close();
  EXPECT_TRUE(is_readable());
  EXPECT_FALSE(watch_->drain());
  EXPECT_TRUE(watch_->read(places_, seen_)) << "as it was";
}

TEST_F(AdapterWatchTest, APageOfALaterDaemonIsAnother) {
  page_.write(rows_of());
  open();
  ASSERT_TRUE(watch_) << error_;
  daemon::AdapterPageWriter later(daemon::adapter_page(folder_.path()));
  later.write({});
  ASSERT_TRUE(watch_->read(places_, seen_));
  EXPECT_EQ(places_.size(), 1U);
}

TEST_F(AdapterWatchTest, ShowsSoManyPlacesAndNoMore) {
  Rows rows;
  for (std::uint32_t node = 0; node < AdapterPage::kMostPlaces + 1; ++node) rows[node] = rows_of().at(3);
  page_.write(rows);
  open();
  ASSERT_TRUE(watch_) << error_;
  ASSERT_TRUE(watch_->read(places_, seen_));
  EXPECT_EQ(places_.size(), AdapterPage::kMostPlaces);
}

TEST_F(AdapterWatchTest, WithoutADaemonOrAPageThereIsNone) {
  EXPECT_FALSE(AdapterWatch::open(parent_.path("none"), error_));
  EXPECT_NE(error_.find("no lamd is running here"), std::string::npos) << error_;
  ASSERT_EQ(truncate(daemon::adapter_page(folder_.path()).c_str(), 100), 0);
  open();
  EXPECT_FALSE(watch_);
  EXPECT_NE(error_.find("lam-adapters is of another version"), std::string::npos) << error_;
  unlink(daemon::adapter_page(folder_.path()).c_str());
  open();
  EXPECT_FALSE(watch_);
  EXPECT_NE(error_.find("lam-adapters: No such file"), std::string::npos) << error_;
}

TEST_F(AdapterWatchTest, ADaemonThatIsStoppedIsDoneWithout) {
  EXPECT_FALSE(AdapterWatch::open(folder_.path(), error_));
  EXPECT_NE(error_.find("lamd has not answered within 2 s"), std::string::npos) << error_;
}

// Tasks that have given up stand in its queue until that is full.
TEST_F(AdapterWatchTest, NorAreManyTasksKeptByIt) {
  std::list<FileDescriptor> gone;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  daemon::tool_socket(folder_.path()).copy(address.sun_path, sizeof address.sun_path - 1);
  do {
    gone.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ASSERT_LT(gone.size(), 1000U);
  } while (connect(gone.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  EXPECT_FALSE(AdapterWatch::open(folder_.path(), error_));
  EXPECT_NE(error_.find("no answer after 2 s"), std::string::npos) << error_;
}

TEST_F(AdapterWatchTest, ThePageIsForItsUserAlone) {
  struct stat status {};
  ASSERT_EQ(stat(daemon::adapter_page(folder_.path()).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(AdapterWatchTest, NobodyReadsHalfOfAChange) {
  open();
  ASSERT_TRUE(watch_) << error_;
  std::atomic<bool> ends = false;
  std::thread writer([&] {
    for (std::uint8_t n = 0; !ends; ++n) page_.write(many_rows(n));
  });
  std::uint32_t last = 0;
  for (int found = 0; found < 200;) {
    if (!watch_->read(places_, seen_) || places_.empty()) {
      std::this_thread::yield();
      continue;
    }
    ++found;
    EXPECT_GE(seen_, last);
    last = seen_;
    ASSERT_EQ(places_.size(), 200U);
    for (const AdapterPlace& place : places_) ASSERT_EQ(place.address[3], places_[0].address[3]);
  }
  ends = true;
  writer.join();
}

}  // namespace
}  // namespace openlapi
