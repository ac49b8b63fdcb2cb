// A task with 32-bit addresses gets messages that name 64-bit ones, or that are longer than its memory. Built for such
// tasks only.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <new>

#include "dataplane/counter/counters.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

static_assert(sizeof(void*) == 4);

namespace openlapi {
namespace {

constexpr std::uint64_t kAbove = std::uint64_t{1} << 32;
constexpr std::uint64_t kFiveGiB = 5 * (std::uint64_t{1} << 30);

struct Pieces {
  explicit Pieces(std::vector<LayoutPiece> pieces)
      : list(std::move(pieces)), cursor(PieceList::of_pieces(list.data(), list.size())) {}
  std::vector<LayoutPiece> list;
  ListCursor cursor;
};

class NarrowTask : public testing::Test {
 protected:
  NarrowTask() : job_(2) {
    job_.task(1).host.on_header = [this](const ArrivedMessage&) {
      ++headers_;
      return HeaderVerdict{Delivery::deliver, CompletionStyle::thread, bytes_.data(), nullptr, nullptr};
    };
  }

  // The first task hears of nothing, the second of that many faults, and no byte has changed.
  void expect_refused(std::size_t times) {
    job_.settle();
    EXPECT_TRUE(job_.task(0).host.faults.empty());
    ASSERT_EQ(job_.task(1).host.faults.size(), times);
    for (const auto& [fault, peer] : job_.task(1).host.faults) {
      EXPECT_EQ(fault, Fault::not_own_memory);
      EXPECT_EQ(peer, 0u);
    }
    EXPECT_EQ(headers_, 0);
    EXPECT_EQ(bytes_, std::vector<unsigned char>(bytes_.size(), 0x33));
    const FenceTicket fence = job_[0].fences().begin();
    job_.settle();
    EXPECT_EQ(job_[0].fences().state(fence), FenceState::done);
  }

  // The first task's requests have ended, with a fault each; the second task hears of as many, and no byte has changed.
  void expect_given_up(std::size_t times) {
    const FenceTicket fence = job_[0].fences().begin();
    job_.settle();
    EXPECT_EQ(job_[0].fences().state(fence), FenceState::done);
    EXPECT_EQ(job_.task(0).host.faults, std::vector(times, std::pair(Fault::refused, PeerIndex{1})));
    EXPECT_EQ(job_.task(1).host.faults, std::vector(times, std::pair(Fault::not_own_memory, PeerIndex{0})));
    EXPECT_EQ(job_[0].counters().loss_of(address(&origin_)), CounterLoss::refused);
    EXPECT_EQ(origin_, 0);
    EXPECT_EQ(target_, 0);
    EXPECT_EQ(bytes_, std::vector<unsigned char>(bytes_.size(), 0x33));
  }

  Job job_;
  std::vector<unsigned char> bytes_ = std::vector<unsigned char>(100'000, 0x33);
  std::vector<unsigned char> source_ = std::vector<unsigned char>(100'000, 0x77);
  int headers_ = 0;
  int target_ = 0, origin_ = 0, completion_ = 0;
};

TEST_F(NarrowTask, RefusesPutsBeyondItsMemory) {
  job_.start();
  const std::uint64_t here = address(bytes_.data());
  int wanted = 0;
  for (const std::uint64_t length : {std::uint64_t{8}, std::uint64_t{100'000}}) {
    for (const std::uint64_t place : {here + kAbove, here + (kAbove << 20), kAbove - 4, std::uint64_t{0xffffffff}}) {
      job_[0].put({1, place, source_.data(), length, address(&target_), address(&origin_), address(&completion_)});
      ++wanted;
    }
  }
  expect_refused(static_cast<std::size_t>(wanted));
  EXPECT_EQ(completion_, wanted) << "nobody waits for a put that was thrown away";
  EXPECT_EQ(origin_, wanted);
  EXPECT_EQ(target_, 0);
}

TEST_F(NarrowTask, RefusesAWrongTargetCounter) {
  job_.start();
  job_[0].put({1, address(bytes_.data()), source_.data(), 8, address(&target_) + kAbove, 0, address(&completion_)});
  expect_refused(1);
  EXPECT_EQ(completion_, 1);
}

// In attach mode the first record has no data: nothing of the 5 GiB exists.
TEST_F(NarrowTask, RefusesWhatIsLongerThanItsMemory) {
  job_.task(0).transport.make_readable();
  job_.task(1).transport.make_readable();
  job_.start();
  job_[0].put({1, address(bytes_.data()), source_.data(), kFiveGiB, address(&target_), 0, address(&completion_)});
  job_[0].active_message({1, 1, nullptr, 0, source_.data(), kFiveGiB, address(&target_), 0, address(&completion_)});
  job_[0].active_message({1, 1, nullptr, 0, source_.data(), kAbove + 8, address(&target_), 0, address(&completion_)});
  expect_refused(3);
  EXPECT_EQ(completion_, 3);
  EXPECT_EQ(target_, 0);
}

TEST_F(NarrowTask, RefusesHandlersBeyondItsMemory) {
  job_.start();
  job_[0].active_message({1, kAbove + 64, nullptr, 0, source_.data(), 16, 0, 0, address(&completion_)});
  expect_refused(1);
  EXPECT_EQ(completion_, 1);
}

TEST_F(NarrowTask, EndsRequestsBeyondItsMemory) {
  job_.start();
  const std::uint64_t here = address(bytes_.data());
  std::vector<unsigned char> buffer(100, 1);
  job_[0].get({1, here + kAbove, buffer.data(), 100, 0, address(&origin_)});
  job_[0].get({1, here, buffer.data(), kFiveGiB, 0, address(&origin_)});
  job_[0].get({1, here, buffer.data(), UINT64_MAX - 7, 0, address(&origin_)});
  job_[0].read_modify_write(
      {1, wire::RmwOperation::fetch_and_add, 8, here + kAbove, 1, 0, buffer.data(), address(&origin_)});
  expect_given_up(4);
  EXPECT_EQ(buffer, std::vector<unsigned char>(100, 1));
}

TEST_F(NarrowTask, EndsRequestsWithAWrongTargetCounter) {
  job_.start();
  const std::uint64_t here = address(bytes_.data());
  job_[0].get({1, here, source_.data(), 8, address(&target_) + kAbove, address(&origin_)});
  Pieces from({{here, 8}, {here + 100, 8}}), to({{address(source_.data()), 16}});
  job_[0].get_layout({1, &from.cursor, &to.cursor, address(&target_) + kAbove, address(&origin_)});
  expect_given_up(2);
  EXPECT_EQ(source_[0], 0x77);
}

TEST_F(NarrowTask, EndsGetsOfLayoutsBeyondItsMemory) {
  job_.start();
  const std::uint64_t here = address(bytes_.data());
  Pieces to({{address(source_.data()), 1600}});
  Pieces one({{here, 8}, {here + kAbove, 8}});
  job_[0].get_layout({1, &one.cursor, &to.cursor, 0, address(&origin_)});
  std::vector<LayoutPiece> list(200, {here, 8});  // its description needs several records
  list.back().address = kAbove - 4;
  Pieces many(list);
  job_[0].get_layout({1, &many.cursor, &to.cursor, 0, address(&origin_)});
  StridedCursor blocks({here, 8, kAbove / 4, 5});
  job_[0].get_layout({1, &blocks, &to.cursor, 0, address(&origin_)});
  expect_given_up(3);
  EXPECT_EQ(source_, std::vector<unsigned char>(source_.size(), 0x77));
}

TEST_F(NarrowTask, BuriesPutsToLayoutsBeyondItsMemory) {
  job_.start();
  const std::uint64_t here = address(bytes_.data());
  Pieces from({{address(source_.data()), 40'000}});
  Pieces short_one({{here, 8}, {here + kAbove, 8}});
  job_[0].put_layout({1, &from.cursor, &short_one.cursor, address(&target_), address(&origin_), address(&completion_)});
  StridedCursor blocks({here + kAbove, 1000, 1000, 40});
  job_[0].put_layout({1, &from.cursor, &blocks, address(&target_), address(&origin_), address(&completion_)});
  StridedCursor short_blocks({here, 8, kAbove / 4, 5});
  job_[0].put_layout({1, &from.cursor, &short_blocks, address(&target_), address(&origin_), address(&completion_)});
  expect_refused(3);
  EXPECT_EQ(completion_, 3);
  EXPECT_EQ(origin_, 3);
  EXPECT_EQ(target_, 0);
}

TEST_F(NarrowTask, AnEmptyPieceLiesNowhere) {
  job_.start();
  const std::uint64_t here = address(bytes_.data());
  Pieces from({{address(source_.data()), 8}}), to({{here, 4}, {here + kAbove, 0}, {here + 8, 4}});
  job_[0].put_layout({1, &from.cursor, &to.cursor, address(&target_), 0, 0});
  job_[0].get_layout({1, &to.cursor, &from.cursor, 0, address(&origin_)});
  job_.settle();
  EXPECT_TRUE(job_.task(1).host.faults.empty());
  EXPECT_EQ(bytes_[11], 0x77);
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(origin_, 1);
}

// Its records come one by one: some are placed, and of all others there is one report.
TEST_F(NarrowTask, ReportsAPutToManyPiecesOnce) {
  job_.start();
  const std::uint64_t here = address(bytes_.data());
  for (const bool wrong_at_first : {false, true}) {
    std::vector<LayoutPiece> list;
    for (std::uint64_t i = 0; i < 500; ++i) list.push_back({here + i * 16, 8});
    for (std::uint64_t i = wrong_at_first ? 0 : 100; i < 300; ++i) list[i].address += kAbove;
    Pieces from({{address(source_.data()), 4000}}), to(list);
    job_[0].put_layout({1, &from.cursor, &to.cursor, address(&target_), 0, address(&completion_)});
    job_.settle();
  }
  EXPECT_EQ(job_.task(1).host.faults.size(), 2u);
  EXPECT_EQ(completion_, 2);
  EXPECT_EQ(target_, 0);
  EXPECT_EQ(bytes_[499 * 16], 0x77) << "the last record was for memory that is there";
  EXPECT_EQ(bytes_[200 * 16], 0x33);
}

TEST_F(NarrowTask, RefusesACompletionCounterBeyondItsMemory) {
  job_.start();
  job_[0].put({1, address(bytes_.data()), source_.data(), 8, 0, 0, address(&completion_) + kAbove});
  job_.settle();
  ASSERT_EQ(job_.task(0).host.faults.size(), 1u);
  EXPECT_EQ(job_.task(0).host.faults[0].first, Fault::not_own_memory);
  EXPECT_EQ(completion_, 0);
}

TEST_F(NarrowTask, EndsItsOwnMessagesToo) {
  job_.start();
  const std::uint64_t here = address(bytes_.data());
  const std::uint64_t above = here + kAbove;
  const std::uint64_t done = address(&completion_);
  Pieces from({{address(source_.data()), 8}}), to({{here, 4}, {above, 4}});
  job_[1].put({1, above, source_.data(), 8, address(&target_), address(&origin_), done});
  job_[1].put({1, here, source_.data(), 8, address(&target_) + kAbove, address(&origin_), done});
  job_[1].put_layout({1, &from.cursor, &to.cursor, address(&target_), address(&origin_), done});
  job_[1].active_message({1, above, nullptr, 0, source_.data(), 8, address(&target_), address(&origin_), done});
  job_[1].layout_message({1, above, nullptr, 0, &from.cursor, true, address(&target_), address(&origin_), done});
  job_.settle();
  EXPECT_EQ(job_.task(1).host.faults, std::vector(5, std::pair(Fault::not_own_memory, PeerIndex{1})));
  EXPECT_EQ(target_, 0);
  EXPECT_EQ(origin_, 5);
  EXPECT_EQ(completion_, 5);
  EXPECT_EQ(bytes_[0], 0x33);
  EXPECT_EQ(headers_, 0);
}

TEST_F(NarrowTask, EndsItsOwnRequestsToo) {
  job_.start();
  const std::uint64_t above = address(bytes_.data()) + kAbove;
  auto ended = [&, reports = std::size_t{0}]() mutable {
    const bool told = job_.task(1).host.faults.size() == ++reports;
    const bool lost = job_[1].counters().loss_of(address(&origin_)) == CounterLoss::refused;
    job_[1].counters().forget_loss(address(&origin_));
    return told && lost;
  };
  job_[1].get({1, above, source_.data(), 8, 0, address(&origin_)});
  EXPECT_TRUE(ended());
  job_[1].get({1, above - kAbove, source_.data(), 8, address(&target_) + kAbove, address(&origin_)});
  EXPECT_TRUE(ended());
  job_[1].read_modify_write({1, wire::RmwOperation::fetch_and_add, 4, above, 1, 0, nullptr, address(&origin_)});
  EXPECT_TRUE(ended());
  Pieces from({{above - kAbove, 4}, {above, 4}}), to({{address(source_.data()), 8}});
  job_[1].get_layout({1, &from.cursor, &to.cursor, 0, address(&origin_)});
  EXPECT_TRUE(ended());
  EXPECT_EQ(origin_, 0);
  EXPECT_EQ(source_[0], 0x77);
  EXPECT_EQ(bytes_[0], 0x33);
  const FenceTicket fence = job_[1].fences().begin();
  EXPECT_EQ(job_[1].fences().state(fence), FenceState::done);
}

TEST_F(NarrowTask, TakesAnAddressWithAWidenedSign) {
  job_.start();
  const std::uint64_t upper_half = ~std::uint64_t{0xffffffff};
  const std::uint64_t here = address(bytes_.data());
  if (here < 0x80000000) {
    job_[0].put({1, here | upper_half, source_.data(), 8, 0, 0, 0});
    return expect_refused(1);  // no pointer is widened to that
  }
  job_[0].put({1, here | upper_half, source_.data(), 8, 0, 0, 0});
  job_.settle();
  EXPECT_TRUE(job_.task(1).host.faults.empty());
  EXPECT_EQ(bytes_[7], 0x77);
}

// As most stacks of 32-bit programs have.
TEST_F(NarrowTask, TakesAHighAddressWithAWidenedSign) {
  job_.start();
  void* const high = mmap(reinterpret_cast<void*>(0xb0000000u), 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(high, reinterpret_cast<void*>(0xb0000000u));
  int& word = *new (high) int(1);
  const std::uint64_t widened = static_cast<std::uint64_t>(reinterpret_cast<std::intptr_t>(&word));
  ASSERT_NE(widened, address(&word));
  job_[0].read_modify_write({1, wire::RmwOperation::fetch_and_add, 4, widened, 41, 0, nullptr, address(&origin_)});
  job_.settle();
  EXPECT_EQ(word, 42);
  EXPECT_EQ(origin_, 1);
  munmap(high, 4096);
}

}  // namespace
}  // namespace openlapi
