// Puts, gets and messages whose data is not contiguous, over a reliable transport with and without attach mode, over a
// lossy one, and to oneself: every byte in its place, no other byte touched, counters once, buffers free when promised.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

// Memory with a vector in it: pieces with gaps between them, some of them empty.
class VectorMemory {
 public:
  VectorMemory(unsigned seed, const std::vector<std::size_t>& lengths) : bytes_(kGap) {
    std::mt19937 random(seed);
    std::vector<std::size_t> begins;
    for (const std::size_t length : lengths) {
      begins.push_back(bytes_.size());
      bytes_.resize(bytes_.size() + length + 1 + random() % kGap);
    }
    std::vector<std::uint32_t> words(bytes_.size() / 4 + 1);
    std::generate(words.begin(), words.end(), std::ref(random));
    std::memcpy(bytes_.data(), words.data(), bytes_.size());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      addresses_.push_back(address(bytes_.data() + begins[i]));
      lengths_.push_back(lengths[i]);
    }
    before_ = bytes_;
  }

  ListCursor cursor() const {
    return ListCursor(PieceList::of_arrays(addresses_.data(), lengths_.data(), 8, lengths_.size()));
  }
  // Until remember_lists() they are unusable for whoever still reads them.
  void forget_lists() {
    real_addresses_ = addresses_;
    real_lengths_ = lengths_;
    std::fill(addresses_.begin(), addresses_.end(), 8);
    std::fill(lengths_.begin(), lengths_.end(), 1u << 30);
  }
  void remember_lists() {
    std::copy(real_addresses_.begin(), real_addresses_.end(), addresses_.begin());
    std::copy(real_lengths_.begin(), real_lengths_.end(), lengths_.begin());
  }
  void clear() { std::fill(bytes_.begin(), bytes_.end(), std::byte{0x5a}); }

  std::vector<std::byte> packed() const {
    ListCursor all = cursor();
    std::vector<std::byte> bytes(all.total_bytes());
    all.gather(bytes.data(), bytes.size());
    return bytes;
  }
  // The first bytes of the pieces are these, and nothing else has changed.
  bool holds_only(const std::vector<std::byte>& data) {
    ListCursor all = cursor();
    auto expected = before_;
    LayoutPiece piece;
    for (std::size_t at = 0; at < data.size() && all.next_pieces({&piece, 1}, data.size() - at) != 0;) {
      std::copy_n(data.data() + at, piece.length, expected.data() + (piece.address - address(bytes_.data())));
      at += piece.length;
    }
    return std::memcmp(expected.data(), bytes_.data(), bytes_.size()) == 0;
  }

 private:
  static constexpr std::size_t kGap = 40;
  std::vector<std::byte> bytes_, before_;
  std::vector<std::uint64_t> addresses_, lengths_;
  std::vector<std::uint64_t> real_addresses_, real_lengths_;
};

std::vector<std::size_t> repeated(std::size_t count, std::size_t length) {
  return std::vector<std::size_t>(count, length);
}

std::vector<std::size_t> mixed(unsigned seed, std::size_t count, std::size_t longest) {
  std::mt19937 random(seed);
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < count; ++i) lengths.push_back(random() % 5 == 0 ? 0 : random() % (longest + 1));
  return lengths;
}

struct Shape {
  const char* name;
  std::vector<std::size_t> lengths;
};

const Shape kShapes[] = {
    {"nothing", {}},
    {"empty pieces", {0, 0, 0}},
    {"one byte", {1}},
    {"three pieces", {5, 0, 10, 5}},
    {"a packet of bytes", repeated(900, 1)},
    {"many bytes", repeated(3000, 1)},
    {"just copied", repeated(40, 100)},
    {"just not copied", {2000, 2001}},
    {"many short", repeated(2000, 64)},
    {"many mixed", mixed(7, 3000, 90)},
    {"few long", {5000, 0, 60'000, 1, 9000}},
    {"many long", repeated(600, 4096)},
    {"few huge", {100'000, 0, 300'001, 77, 200'000}},
};

enum class Way { packets, attach, attach_refused, attach_breaks, lossy, narrow };
constexpr const char* kWays[] = {"packets", "attach", "attach_refused", "attach_breaks", "lossy", "narrow"};

class LayoutOf : public testing::TestWithParam<std::tuple<std::size_t, Way>> {
 protected:
  LayoutOf() : job_(2, small_copies()) {
    for (PeerIndex i = 0; i < 2; ++i) {
      MemoryTransport& transport = job_.task(i).transport;
      if (way() == Way::attach) transport.make_readable();
      if (way() == Way::attach_refused) transport.make_readable(0);
      if (way() == Way::attach_breaks) transport.make_readable(2);
      if (way() == Way::lossy) transport.make_lossy(0.05, i + 1);
      if (way() == Way::narrow) transport.set_room(3);
    }
    job_.start();
  }

  Way way() const { return std::get<1>(GetParam()); }
  const std::vector<std::size_t>& lengths() const { return kShapes[std::get<0>(GetParam())].lengths; }
  std::size_t total() const { return std::accumulate(lengths().begin(), lengths().end(), std::size_t{0}); }
  StatisticsPath path() const { return way() == Way::lossy ? StatisticsPath::network : StatisticsPath::shared_memory; }

  // Until everything has arrived; a lossy way needs time to pass.
  void settle() {
    job_.settle();
    for (int i = 0; way() == Way::lossy && i < 4000 && !(job_[0].drained() && job_[1].drained()); ++i) {
      job_.clock.advance(kMillisecond);
      job_.settle();
    }
  }
  void expect_counters() {
    EXPECT_EQ(origin_, 1);
    EXPECT_EQ(target_, 1);
    EXPECT_EQ(completion_, 1);
  }

  Job job_;
  int target_ = 0, origin_ = 0, completion_ = 0;
};

TEST_P(LayoutOf, PutGoesFromPiecesToPieces) {
  VectorMemory from(1, lengths()), to(2, lengths());
  const auto data = from.packed();
  auto expected_layout = to.cursor().detached();
  auto source = std::make_unique<ListCursor>(from.cursor());
  auto destination = std::make_unique<ListCursor>(to.cursor());
  ASSERT_EQ(job_[0].put_layout(
                {1, source.get(), destination.get(), address(&target_), address(&origin_), address(&completion_)}),
            Submit::accepted);
  source.reset();
  destination.reset();
  from.forget_lists();
  to.forget_lists();
  if (total() <= 4000) {
    EXPECT_EQ(origin_, 1) << "the origin's data must be free as well when the call returns";
    from.clear();
  }
  settle();
  to.remember_lists();
  EXPECT_TRUE(to.holds_only(data));
  expect_counters();
  EXPECT_TRUE(job_[0].drained());
  EXPECT_EQ(job_[0].statistics(path()).data_sent, total());
  EXPECT_EQ(job_[1].statistics(path()).data_received, total());
}

TEST_P(LayoutOf, PutToBlocks) {
  VectorMemory from(1, lengths());
  const auto data = from.packed();
  constexpr std::uint64_t kBlock = 24, kStride = 37;
  const std::uint64_t blocks = (total() + kBlock - 1) / kBlock;
  std::vector<std::byte> memory((blocks + 2) * kStride, std::byte{0xee});
  StridedCursor destination({address(memory.data() + 11), kBlock, kStride, blocks});
  ListCursor source = from.cursor();
  ASSERT_EQ(job_[0].put_layout({1, &source, &destination, address(&target_), address(&origin_), address(&completion_)}),
            Submit::accepted);
  settle();
  std::vector<std::byte> expected(memory.size(), std::byte{0xee});
  for (std::size_t block = 0; block * kBlock < data.size(); ++block) {
    std::memcpy(expected.data() + 11 + block * kStride, data.data() + block * kBlock,
                std::min(kBlock, data.size() - block * kBlock));
  }
  EXPECT_EQ(std::memcmp(memory.data(), expected.data(), memory.size()), 0);
  expect_counters();
}

TEST_P(LayoutOf, GetGoesFromPiecesToPieces) {
  VectorMemory from(3, lengths()), to(4, lengths());
  ListCursor source = from.cursor(), destination = to.cursor();
  ASSERT_EQ(job_[0].get_layout({1, &source, &destination, address(&target_), address(&origin_)}), Submit::accepted);
  from.forget_lists();
  to.forget_lists();
  settle();
  from.remember_lists();
  to.remember_lists();
  EXPECT_TRUE(to.holds_only(from.packed()));
  EXPECT_EQ(origin_, 1);
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(job_[1].statistics(path()).data_sent, total());
  EXPECT_EQ(job_[0].statistics(path()).data_received, total());
}

TEST_P(LayoutOf, GetOfBlocks) {
  constexpr std::uint64_t kBlock = 8, kStride = 24;
  const std::uint64_t blocks = total() / kBlock;
  VectorMemory to(5, lengths());
  std::vector<std::byte> memory((blocks + 1) * kStride);
  for (std::size_t at = 0; at < memory.size(); ++at) memory[at] = static_cast<std::byte>(at * 7);
  StridedCursor source({address(memory.data()), kBlock, kStride, blocks});
  ListCursor destination = to.cursor();
  ASSERT_EQ(job_[0].get_layout({1, &source, &destination, 0, address(&origin_)}), Submit::accepted);
  settle();
  std::vector<std::byte> data(blocks * kBlock);
  StridedCursor({address(memory.data()), kBlock, kStride, blocks}).gather(data.data(), data.size());
  EXPECT_TRUE(to.holds_only(data));
  EXPECT_EQ(origin_, 1);
}

TEST_P(LayoutOf, MessageGoesFromPiecesToPieces) {
  VectorMemory from(1, lengths()), to(2, mixed(9, lengths().size() + 3, 200));
  const auto data = from.packed();
  std::vector<std::uint32_t> header(50);
  std::iota(header.begin(), header.end(), 7);
  const auto original = header;
  job_.task(1).host.on_header = [&](const ArrivedMessage& message) {
    HeaderVerdict verdict;
    EXPECT_TRUE(message.vector);
    EXPECT_EQ(message.length, total());
    EXPECT_EQ(message.handler, 77u);
    EXPECT_EQ(std::memcmp(message.user_header, original.data(), original.size() * 4), 0);
    verdict.layout = std::make_unique<ListCursor>(to.cursor());
    return verdict;
  };
  ListCursor source = from.cursor();
  ASSERT_EQ(job_[0].layout_message({1, 77, header.data(), 200, &source, true, address(&target_), address(&origin_),
                                    address(&completion_)}),
            Submit::accepted);
  std::fill(header.begin(), header.end(), 0);
  from.forget_lists();
  if (total() + 200 <= 4000) {
    EXPECT_EQ(origin_, 1);
    from.clear();
  }
  settle();
  EXPECT_TRUE(to.holds_only(data)) << "as much as there is room for, and no more";
  expect_counters();
  EXPECT_EQ(job_[1].statistics(path()).data_received, total());
}

TEST_P(LayoutOf, MessageThatIsRefusedArrivesLater) {
  VectorMemory from(1, lengths()), to(2, lengths());
  const auto data = from.packed();
  int asked = 0;
  job_.task(1).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict;
    if (++asked <= 2) {
      verdict.delivery = Delivery::drop;
    } else {
      verdict.layout = std::make_unique<ListCursor>(to.cursor());
    }
    return verdict;
  };
  ListCursor source = from.cursor();
  job_[0].layout_message({1, 1, nullptr, 0, &source, true, address(&target_), address(&origin_), 0});
  from.forget_lists();
  for (int i = 0; i < 5; ++i) {
    settle();
    job_.clock.advance(kMillisecond);
  }
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(to.holds_only(data));
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(origin_, 1);
}

TEST_P(LayoutOf, MessageIsBuriedOrContiguous) {
  for (const bool bury : {true, false}) {
    VectorMemory from(1, lengths());
    std::vector<std::byte> buffer(total() + 1, std::byte{0xee});
    job_.task(1).host.on_header = [&](const ArrivedMessage& message) {
      EXPECT_FALSE(message.vector);
      HeaderVerdict verdict;
      verdict.buffer = bury ? nullptr : buffer.data();
      return verdict;
    };
    target_ = origin_ = completion_ = 0;
    ListCursor source = from.cursor();
    job_[0].layout_message(
        {1, 1, nullptr, 0, &source, false, address(&target_), address(&origin_), address(&completion_)});
    settle();
    expect_counters();
    std::vector<std::byte> expected = bury ? std::vector(total(), std::byte{0xee}) : from.packed();
    expected.push_back(std::byte{0xee});
    EXPECT_TRUE(buffer == expected);
  }
}

TEST_P(LayoutOf, ToOneself) {
  VectorMemory from(1, lengths()), to(2, lengths()), back(3, lengths()), late(4, lengths());
  ListCursor source = from.cursor(), there = to.cursor(), here = back.cursor();
  ASSERT_EQ(job_[0].put_layout({0, &source, &there, address(&target_), address(&origin_), address(&completion_)}),
            Submit::accepted);
  EXPECT_TRUE(to.holds_only(from.packed()));
  expect_counters();
  ASSERT_EQ(job_[0].get_layout({0, &there, &here, address(&target_), address(&origin_)}), Submit::accepted);
  EXPECT_TRUE(back.holds_only(from.packed()));
  EXPECT_EQ(origin_ + target_, 4);
  int asked = 0;
  job_.task(0).host.on_header = [&](const ArrivedMessage& message) {
    EXPECT_TRUE(message.vector);
    HeaderVerdict verdict;
    verdict.layout = std::make_unique<ListCursor>(late.cursor());
    if (++asked == 1) verdict.delivery = Delivery::drop;
    return verdict;
  };
  const auto data = from.packed();
  ASSERT_EQ(job_[0].layout_message({0, 1, nullptr, 0, &source, true, address(&target_), address(&origin_), 0}),
            Submit::accepted);
  from.clear();
  job_.clock.advance(kMillisecond);
  job_.settle();
  EXPECT_TRUE(late.holds_only(data));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(origin_ + target_, 6);
  EXPECT_EQ(job_[0].statistics(StatisticsPath::local).data_sent, 3 * total());
}

INSTANTIATE_TEST_SUITE_P(Shapes, LayoutOf,
                         testing::Combine(testing::Range(std::size_t{0}, std::size(kShapes)),
                                          testing::Values(Way::packets, Way::attach, Way::attach_refused,
                                                          Way::attach_breaks, Way::lossy, Way::narrow)),
                         [](const auto& info) {
                           std::string name = kShapes[std::get<0>(info.param)].name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name + "_" + kWays[static_cast<int>(std::get<1>(info.param))];
                         });

TEST(Layout, ManyPiecesAreReadInOneCall) {
  Job job(2, small_copies());
  job.task(1).transport.make_readable();
  job.task(0).transport.make_readable();
  job.start();
  VectorMemory from(1, repeated(10, 65'536)), to(2, repeated(320, 2048));
  ListCursor source = from.cursor(), destination = to.cursor();
  job[0].put_layout({1, &source, &destination, 0, 0, 0});
  job.settle();
  EXPECT_TRUE(to.holds_only(from.packed()));
  EXPECT_EQ(job.task(1).transport.vectored_reads(), 1u);
  EXPECT_EQ(job[0].statistics(StatisticsPath::shared_memory).packets_sent, 2u) << "the offer, and what was read";
}

TEST(Layout, ShortPiecesTravelInPackets) {
  Job job(2, small_copies());
  job.task(1).transport.make_readable();
  job.task(0).transport.make_readable();
  job.start();
  VectorMemory from(1, repeated(1000, 64)), to(2, repeated(1000, 64));
  ListCursor source = from.cursor(), destination = to.cursor();
  job[0].put_layout({1, &source, &destination, 0, 0, 0});
  job.settle();
  EXPECT_TRUE(to.holds_only(from.packed()));
  EXPECT_EQ(job.task(1).transport.reads(), 0u);
}

TEST(Layout, AFullQueueCopiesDataAndVectorsAndThenSaysBusy) {
  Job job(2, small_copies());
  job.task(1).transport.set_room(2);
  job.start();
  std::vector<std::unique_ptr<VectorMemory>> from, to;
  std::vector<std::vector<std::byte>> data;
  int origin = 0, target = 0, accepted = 0;
  for (; accepted < 20; ++accepted) {
    from.push_back(std::make_unique<VectorMemory>(accepted, repeated(10, 150 + accepted)));
    to.push_back(std::make_unique<VectorMemory>(accepted + 50, repeated(10, 150 + accepted)));
    data.push_back(from.back()->packed());
    VectorMemory sink = *to.back();
    ListCursor source = from.back()->cursor(), destination = to.back()->cursor();
    const auto keep = to.back()->cursor().detached();
    if (job[0].put_layout({1, &source, &destination, address(&target), address(&origin), 0}) == Submit::busy) break;
    from.back()->clear();
    from.back()->forget_lists();
    to.back()->forget_lists();
  }
  EXPECT_LT(accepted, 8);
  EXPECT_EQ(origin, accepted);
  job.settle();
  for (int i = 0; i < accepted; ++i) to[i]->remember_lists();
  for (int i = 0; i < accepted; ++i) EXPECT_TRUE(to[i]->holds_only(data[i]));
  EXPECT_TRUE(to[accepted]->holds_only({})) << "what was answered busy must leave no trace";
  EXPECT_EQ(target, accepted);
}

TEST(Layout, FencesWaitForVectors) {
  Job job(2, small_copies());
  job.task(1).transport.set_room(3);
  job.start();
  VectorMemory from(1, repeated(500, 70)), to(2, repeated(500, 70)), got(3, repeated(500, 70));
  ListCursor source = from.cursor(), there = to.cursor(), here = got.cursor();
  job[0].put_layout({1, &source, &there, 0, 0, 0});
  job[0].get_layout({1, &source, &here, 0, 0});
  const FenceTicket ticket = job[0].fences().begin();
  unsigned steps = 0;
  while (job[0].fences().state(ticket) == FenceState::pending) {
    ASSERT_LT(++steps, 10'000u);
    job[0].progress();
    job[1].progress();
  }
  EXPECT_TRUE(to.holds_only(from.packed()));
  EXPECT_TRUE(got.holds_only(from.packed()));
}

}  // namespace
}  // namespace openlapi
