// Data that the other side reads by itself: who counts what, and what happens where it cannot be read, at the first
// piece or at a later one.
#include <gtest/gtest.h>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/tuning.h"
#include "tests/support/bulk_pair.h"

namespace openlapi {
namespace {

constexpr std::size_t kPieces = 4, kLength = (kPieces - 1) * tuning::kAttachPiece + 8;

enum class Kind { put, message, put_layout, get, get_layout };

// The reader is task 1 for what task 0 sends, and task 0 for what it asks for.
class Attach : public testing::TestWithParam<Kind> {
 protected:
  Attach() : job_(2, small_copies()), source_(pattern(kLength)), sink_(kLength) {
    job_.task(1).host.on_header = [&](const ArrivedMessage&) {
      return HeaderVerdict{Delivery::deliver, CompletionStyle::thread, sink_.data()};
    };
  }
  static PeerIndex reader() { return GetParam() == Kind::get || GetParam() == Kind::get_layout ? 0 : 1; }
  // Where the data goes is read before it.
  static std::size_t descriptions() { return GetParam() == Kind::put_layout ? 1 : 0; }
  static PeerIndex owner() { return 1 - reader(); }

  Submit begin() {
    const std::uint64_t target = address(&target_), origin = address(&origin_);
    std::uint64_t here = address(source_.data()), there = address(sink_.data()), length = kLength;
    ListCursor from(PieceList::of_arrays(&here, &length, 8, 1)), to(PieceList::of_arrays(&there, &length, 8, 1));
    switch (GetParam()) {
      case Kind::put:
        return job_[0].put({1, address(sink_.data()), source_.data(), kLength, target, origin, 0});
      case Kind::message:
        return job_[0].active_message({1, 1, nullptr, 0, source_.data(), kLength, target, origin, 0});
      case Kind::put_layout:
        return job_[0].put_layout({1, &from, &to, target, origin, 0});
      case Kind::get:
        return job_[0].get({1, address(source_.data()), sink_.data(), kLength, target, origin});
      case Kind::get_layout:
        return job_[0].get_layout({1, &from, &to, target, origin});
    }
    return Submit::busy;
  }
  void expect_arrives(int times) {
    std::fill(sink_.begin(), sink_.end(), 0);
    ASSERT_EQ(begin(), Submit::accepted);
    job_.settle();
    EXPECT_TRUE(sink_ == source_);
    EXPECT_EQ(target_, times);
    EXPECT_EQ(origin_, times);
    for (PeerIndex i = 0; i < 2; ++i) {
      EXPECT_FALSE(job_[i].has_work());
      EXPECT_TRUE(job_[i].drained());
    }
  }
  MessageStatistics told(PeerIndex task) { return job_[task].statistics(StatisticsPath::shared_memory); }
  std::uint64_t retransmitted() { return told(0).retransmitted_packets + told(1).retransmitted_packets; }

  Job job_;
  std::vector<unsigned char> source_, sink_;
  int target_ = 0, origin_ = 0;
};

// What was read counts as one packet on both sides, beside the two records that tell of it.
TEST_P(Attach, IsOnePacket) {
  for (PeerIndex i = 0; i < 2; ++i) job_.task(i).transport.make_readable();
  job_.start();
  expect_arrives(1);
  EXPECT_EQ(job_.task(reader()).transport.reads(), kPieces + descriptions());
  EXPECT_EQ(told(owner()).packets_sent, reader() == 1 ? 2u : 1u);
  EXPECT_EQ(told(owner()).packets_received, 1u);
  EXPECT_EQ(told(reader()).packets_sent, 1u);
  EXPECT_EQ(told(reader()).packets_received, reader() == 1 ? 2u : 1u);
  EXPECT_EQ(told(owner()).data_sent, kLength);
  EXPECT_EQ(told(reader()).data_received, kLength);
  EXPECT_EQ(retransmitted(), 0u);
}

TEST_P(Attach, ThatFailsAtAnyPieceIsOneTransmissionMoreAndIsTriedAgain) {
  for (const std::size_t good : {0u, 1u, 3u}) {
    SCOPED_TRACE(good);
    job_.task(owner()).transport.make_readable();
    job_.task(reader()).transport.make_readable(good);
    if (good == 0) job_.start();
    const std::uint64_t before = retransmitted(), reads = job_.task(reader()).transport.reads();
    expect_arrives(target_ + 1);
    EXPECT_EQ(retransmitted() - before, 1u);
    EXPECT_EQ(job_.task(reader()).transport.reads() - reads, good);
  }
}

// It answers that it never will, and is not asked again.
TEST_P(Attach, IsNotForWhoHasNotThePower) {
  job_.task(owner()).transport.make_readable();
  job_.start();
  for (int times = 1; times <= 3; ++times) expect_arrives(times);
  EXPECT_EQ(job_.task(reader()).transport.reads(), 0u);
  EXPECT_EQ(told(owner()).retransmitted_packets, reader() == 1 ? 1u : 0u) << "offered once";
  EXPECT_GT(told(owner()).packets_sent, kLength / 1024);
}

// Two at a time advance in turn, a piece each in a step.
TEST_P(Attach, LongOnesShareTheReader) {
  for (PeerIndex i = 0; i < 2; ++i) job_.task(i).transport.make_readable();
  job_.start();
  ASSERT_EQ(begin(), Submit::accepted);
  ASSERT_EQ(begin(), Submit::accepted);
  Endpoint& reads = job_[reader()];
  for (int step = 0; step < 20 && origin_ + target_ < 4; ++step) {
    const std::size_t before = job_.task(reader()).transport.reads();
    const bool work = reads.has_work();
    const unsigned moved = reads.progress();
    const std::size_t pieces = job_.task(reader()).transport.reads() - before;
    EXPECT_LE(pieces, 3u + 2 * descriptions()) << "two that begin, and one that goes on";
    EXPECT_TRUE(!work || pieces != 0);
    EXPECT_TRUE(pieces == 0 || moved != 0);
    job_[owner()].progress();
  }
  EXPECT_EQ(origin_, 2);
  EXPECT_EQ(target_, 2);
  EXPECT_TRUE(sink_ == source_);
  EXPECT_FALSE(reads.has_work());
}

constexpr const char* kNames[] = {"put", "message", "put_layout", "get", "get_layout"};
INSTANTIATE_TEST_SUITE_P(Kinds, Attach,
                         testing::Values(Kind::put, Kind::message, Kind::put_layout, Kind::get, Kind::get_layout),
                         [](const auto& info) { return kNames[static_cast<int>(info.param)]; });

// All of it leaves at once when it could not be read.
TEST(AttachOfLittle, ThatFailsEndsToo) {
  Job job(2, small_copies());
  job.task(0).transport.make_readable();
  job.task(1).transport.make_readable(0);
  job.start();
  const std::vector<unsigned char> source = pattern(5000);
  std::vector<unsigned char> sink(source.size());
  int origin = 0;
  ASSERT_EQ(job[0].put({1, address(sink.data()), source.data(), source.size(), 0, address(&origin), 0}),
            Submit::accepted);
  job.settle();
  EXPECT_TRUE(sink == source);
  EXPECT_EQ(origin, 1);
  EXPECT_TRUE(job[0].drained());
}

}  // namespace
}  // namespace openlapi
