#include "nic/verbs/bulk_reads.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/verbs/fake_read_network.h"

namespace {

time_t seconds_skipped = 0;

}  // namespace

// The clock of connections: the system's, and what the test has skipped.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, time);
  time->tv_sec += seconds_skipped;
  return static_cast<int>(result);
}

namespace openlapi::verbs {
namespace {

struct BulkTask final : FakePort {
  explicit BulkTask(PeerIndex number) : FakePort(number) {
    BulkLimits limits;
    limits.on_demand_paging = OnDemandPaging::never;
    reads = BulkReads::make(device_context.context, domains, channel, {}, *this, limits);
    EXPECT_NE(reads, nullptr);
  }

  std::unique_ptr<BulkReads> reads;
};

// Task 0 reads; the others are read.
class BulkReadsTest : public testing::Test {
 protected:
  BulkReadsTest() {
    network = &network_;
    for (PeerIndex number = 0; number < 3; ++number) tasks_.push_back(std::make_unique<BulkTask>(number));
  }
  ~BulkReadsTest() override {
    tasks_.clear();
    EXPECT_TRUE(network_.ends.empty());
  }

  BulkReads& reader() { return *tasks_[0]->reads; }
  void deliver() {
    for (bool any = true; any;) {
      any = false;
      for (PeerIndex from = 0; from < tasks_.size(); ++from) {
        for (const FakePort::Said& said : std::exchange(tasks_[from]->said, {})) {
          tasks_[said.peer]->reads->message_arrived(from, said.message);
          any = true;
        }
      }
    }
  }
  // Of one piece.
  void begin(PeerIndex peer, std::uint64_t token) {
    ASSERT_EQ(reader().begin_read(peer, 4096, {}, place_.data(), place_.size(), token, {}), BulkMemory::Begin::begun);
    deliver();
  }
  // The latest request that was posted is carried out.
  void end_latest() {
    const std::lock_guard guard(network_.mutex);
    const FakeNetwork::Request request = network_.posted.back();
    network_.posted.pop_back();
    network_.complete(request, IBV_WC_SUCCESS);
  }

  FakeNetwork network_;
  std::vector<std::unique_ptr<BulkTask>> tasks_;
  std::array<std::byte, 4096> place_{};
};

// Its time is half a minute.
TEST_F(BulkReadsTest, AnAdapterThatReturnsNothingFromOnePeerIsNotWaitedForWhileItReadsFromAnother) {
  begin(1, 7);
  std::vector<std::uint64_t> failed;
  constexpr int kReads = 4000;
  for (std::uint64_t token = 100; token < 100 + kReads; ++token) {
    if (token == 100 + kReads / 2) seconds_skipped += 31;
    ASSERT_NO_FATAL_FAILURE(begin(2, token));
    end_latest();
    std::array<BulkMemory::Ending, 4> endings;
    const std::size_t count = reader().take_endings(endings);
    for (std::size_t i = 0; i < count; ++i) {
      if (!endings[i].done) failed.push_back(endings[i].token);
    }
  }
  EXPECT_EQ(failed, std::vector<std::uint64_t>{7});
  EXPECT_EQ(reader().counters().reads_done, static_cast<std::uint64_t>(kReads));
  EXPECT_TRUE(network_.posted.empty()) << "its queue pair is gone";
}

}  // namespace
}  // namespace openlapi::verbs
