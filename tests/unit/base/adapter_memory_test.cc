#include "dataplane/base/adapter_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace openlapi {
namespace {

using PageRanges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

struct Owner final : AdapterMemory::Watcher, AdapterMemory::Follower {
  void hand_over(std::uint64_t begin, std::uint64_t end) override { handed_over.emplace_back(begin, end); }
  bool follows(std::uint64_t begin, std::uint64_t end) override { return begin >= 0x5000 && end <= 0x7000; }
  bool settled() override { return is_settled; }

  PageRanges handed_over;
  bool is_settled = true;
};

class AdapterMemoryTest : public testing::Test {
 protected:
  bool is_free(std::uint64_t begin, std::uint64_t end, std::uint64_t pinned) {
    const AdapterMemory::Change change(memory);
    return !change.is_used(begin, end) && change.knows_all(pinned);
  }
  PageRanges told() {
    PageRanges ranges;
    reader.take([] { std::this_thread::yield(); },
                [&](std::uint64_t begin, std::uint64_t end, bool gone) {
                  EXPECT_TRUE(gone);
                  ranges.emplace_back(begin, end);
                });
    return ranges;
  }

  AdapterMemory& memory = AdapterMemory::of_process();
  MemoryChanges::Reader reader{memory.changes()};
};

TEST_F(AdapterMemoryTest, WhatIsUsedIsNotFree) {
  AdapterMemory::Pinned pinned;
  EXPECT_TRUE(is_free(0x1000, 0x9000, 0));
  pinned.begin(0x3000, 0x5000);
  EXPECT_FALSE(is_free(0x1000, 0x4000, 0x2000)) << "from the beginning";
  EXPECT_FALSE(is_free(0x4000, 0x9000, 0x2000));
  EXPECT_TRUE(is_free(0x1000, 0x3000, 0x2000)) << "before it";
  EXPECT_TRUE(is_free(0x5000, 0x9000, 0x2000)) << "behind it";
  pinned.rest();
  EXPECT_TRUE(is_free(0x1000, 0x9000, 0x2000));
  pinned.use();
  EXPECT_FALSE(is_free(0x1000, 0x9000, 0x2000));
  pinned.end();
  EXPECT_TRUE(is_free(0x1000, 0x9000, 0));
}

// What nobody knows of could be anywhere.
TEST_F(AdapterMemoryTest, WithUnknownPinsNothingIsFree) {
  AdapterMemory::Pinned one, same;
  one.begin(0x3000, 0x5000);
  same.begin(0x3000, 0x5000);
  EXPECT_TRUE(is_free(0x8000, 0x9000, 0x4000)) << "the kernel counts them twice";
  EXPECT_FALSE(is_free(0x8000, 0x9000, 0x5000));
  EXPECT_FALSE(is_free(0x8000, 0x9000, UINT64_MAX));
  one.end();
  EXPECT_FALSE(is_free(0x8000, 0x9000, 0x4000)) << "the adapter has them for a moment still";
  same.end();
}

TEST_F(AdapterMemoryTest, MovesAreToldAndWatchesHandedOver) {
  Owner owner;
  memory.begin(static_cast<AdapterMemory::Watcher&>(owner));
  {
    AdapterMemory::Change change(memory);
    EXPECT_TRUE(reader.behind()) << "whoever begins to use memory now waits";
    change.take(0x1000, 0x2000);
    change.tell(0x3000, 0x4000);
  }
  EXPECT_EQ(told(), (PageRanges{{0x1000, 0x2000}, {0x3000, 0x4000}}));
  EXPECT_EQ(owner.handed_over, (PageRanges{{0x1000, 0x2000}}));
  memory.end(static_cast<AdapterMemory::Watcher&>(owner));
  AdapterMemory::Change(memory).take(0x1000, 0x2000);
  EXPECT_EQ(owner.handed_over.size(), 1u);
}

TEST_F(AdapterMemoryTest, TheFollowerIsAsked) {
  EXPECT_FALSE(memory.follows(0x5000, 0x6000));
  EXPECT_TRUE(memory.settled());
  Owner owner, other;
  memory.begin(static_cast<AdapterMemory::Follower&>(owner));
  EXPECT_TRUE(memory.follows(0x5000, 0x6000));
  EXPECT_FALSE(memory.follows(0x4000, 0x6000));
  owner.is_settled = false;
  EXPECT_FALSE(memory.settled());
  memory.end(static_cast<AdapterMemory::Follower&>(other));
  EXPECT_FALSE(memory.settled()) << "another one's end";
  memory.end(static_cast<AdapterMemory::Follower&>(owner));
  EXPECT_TRUE(memory.settled());
}

TEST_F(AdapterMemoryTest, RegistrationsWaitForMoves) {
  std::atomic<bool> moved{false};
  bool saw_it = false;
  AdapterMemory::Pinned pinned;
  std::thread other;
  {
    AdapterMemory::Change change(memory);
    other = std::thread([&] {
      pinned.begin(0x3000, 0x5000);
      saw_it = moved;
      pinned.end();
    });
    for (int turn = 0; turn < 100; ++turn) std::this_thread::yield();
    moved = true;
  }
  other.join();
  EXPECT_TRUE(saw_it);
}

// In the middle of a move by another thread, too.
TEST_F(AdapterMemoryTest, AChildOfAForkHasNothing) {
  AdapterMemory::Pinned pinned;
  pinned.begin(0x3000, 0x5000);
  std::atomic<int> step{0};
  std::thread mover([&] {
    const AdapterMemory::Change change(memory);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    told();        // nobody ends the parent's round
    pinned.end();  // the parent's
    AdapterMemory::Pinned own;
    const bool is_empty = is_free(0x1000, 0x9000, 0);
    own.begin(0x3000, 0x5000);
    _exit(is_empty && !is_free(0x1000, 0x9000, 0x2000) ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  step = 2;
  mover.join();
  pinned.end();
}

}  // namespace
}  // namespace openlapi
