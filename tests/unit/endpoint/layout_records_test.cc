// Puts between layouts, record by record: sides that are not equally long, of which the shorter one counts; more pieces
// than a record names; and a short put beside a long one. Every byte in its place, and no other one touched.
#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/layout/vector_cursor.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

// Memory with blocks of data in it, and gaps between them; the last block may be shorter.
class Blocks {
 public:
  Blocks(std::size_t total, std::size_t block)
      : total_(total), block_(block), memory_((total + block - 1) / block * (block + kGap), 0xee) {
    for (std::size_t at = 0; at < total; at += block) {
      list_.push_back({address(&byte(at)), std::min(block, total - at)});
    }
  }

  unsigned char& byte(std::size_t at) { return memory_[at / block_ * (block_ + kGap) + at % block_]; }
  void fill() {
    for (std::size_t at = 0; at < total_; ++at) byte(at) = pattern(at);
  }
  // As a list of pieces, or, if the last block is a whole one, as blocks.
  std::unique_ptr<LayoutCursor> cursor(bool blocks) {
    if (!blocks) return std::make_unique<ListCursor>(PieceList::of_pieces(list_.data(), list_.size()));
    return std::make_unique<StridedCursor>(
        wire::StridedLayout{address(memory_.data()), block_, block_ + kGap, list_.size()});
  }
  // The first `count` bytes are those of fill(), and everything else is as it was.
  bool hold_only(std::size_t count) {
    Blocks expected(total_, block_);
    for (std::size_t at = 0; at < count; ++at) expected.byte(at) = pattern(at);
    return memory_ == expected.memory_;
  }

 private:
  static constexpr std::size_t kGap = 10;
  static unsigned char pattern(std::size_t at) { return static_cast<unsigned char>(at * 7 + at / 251); }

  std::size_t total_, block_;
  std::vector<unsigned char> memory_;
  std::vector<LayoutPiece> list_;
};

struct Sides {
  Blocks source, destination;
  bool source_blocks, destination_blocks;
  int arrived = 0, free = 0;

  Submit put(Endpoint& endpoint) {
    source.fill();
    const auto from = source.cursor(source_blocks), to = destination.cursor(destination_blocks);
    return endpoint.put_layout({1, from.get(), to.get(), address(&arrived), address(&free), 0});
  }
};

void run(Job& job) {
  for (int step = 0; step < 400; ++step) job[step % 2].progress();
}

// Of one record, of several that are copied while there is no room, and of several that stay where they are.
TEST(UnequalSides, AreAsLongAsTheShorterOne) {
  constexpr std::size_t kBlock = 90;
  for (const std::size_t room : {0u, 2u, 64u}) {
    for (const std::size_t total : {3 * kBlock, 40 * kBlock, 200 * kBlock}) {
      for (const std::size_t source :
           {total - 2 * kBlock - 1, total - 2 * kBlock + 1, total, total + 1, total + 7 * kBlock + 3}) {
        for (const bool blocks : {false, true}) {
          Job job(2, small_copies());
          job.task(1).transport.set_room(room);
          job.start();
          Sides sides{{source, 70}, {total, kBlock}, false, blocks};
          ASSERT_EQ(sides.put(job[0]), Submit::accepted);
          job.task(1).transport.set_room(64);
          run(job);
          const auto what = testing::Message() << source << " bytes to " << total << (blocks ? " in blocks" : "");
          EXPECT_EQ(sides.arrived, 1) << what;
          EXPECT_EQ(sides.free, 1) << what;
          EXPECT_TRUE(sides.destination.hold_only(std::min(source, total))) << what;
          EXPECT_TRUE(job[0].drained()) << what;
        }
      }
    }
  }
}

// Long packets, which short pieces do not fill.
TEST(ManyPieces, MakeSeveralRecords) {
  for (const std::size_t count : {511u, 512u, 513u, 2000u}) {
    for (const bool blocks : {false, true}) {
      Job job(2, small_copies(), 32 * 1024);
      job.start();
      Sides sides{{8 * count, 8}, {8 * count, 8}, blocks, false};
      ASSERT_EQ(sides.put(job[0]), Submit::accepted);
      run(job);
      EXPECT_EQ(sides.arrived, 1) << count;
      EXPECT_TRUE(sides.destination.hold_only(8 * count)) << count;
    }
  }
}

// The first long message of a task has begun to arrive, and finds no more room.
TEST(ShortPut, IsNoPartOfTheLongOneThatHasBegun) {
  Job job(2, small_copies());
  job.task(1).transport.set_room(1);
  job.start();
  std::vector<unsigned char> data(5000, 1), there(5000);
  ASSERT_EQ(job[0].put({1, address(there.data()), data.data(), data.size(), 0, 0, 0}), Submit::accepted);
  for (const bool blocks : {false, true}) {
    job[1].progress();
    Sides sides{{100, 50}, {100, 50}, false, blocks};
    ASSERT_EQ(sides.put(job[0]), Submit::accepted);
    job[1].progress();
    EXPECT_EQ(sides.arrived, 1);
    EXPECT_TRUE(sides.destination.hold_only(100));
  }
  run(job);
  EXPECT_EQ(there, data);
}

}  // namespace
}  // namespace openlapi
