// Layouts that name memory which is not there: what is refused leaves no trace, what had begun ends, and nobody else
// notices. Over a reliable transport, a lossy one, and to oneself.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPiece = 500;

struct Pieces {
  explicit Pieces(std::size_t count) : bytes(count * 2 * kPiece, std::byte{0xee}) {
    for (std::size_t i = 0; i < count; ++i) list.push_back({address(bytes.data() + i * 2 * kPiece), kPiece});
  }
  ListCursor cursor() const { return ListCursor(PieceList::of_pieces(list.data(), list.size())); }
  void fill(std::byte value) { std::fill(bytes.begin(), bytes.end(), value); }
  // In all pieces, from `first` on.
  bool hold(std::byte value, std::size_t first = 0) const {
    for (std::size_t i = first; i < list.size(); ++i) {
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(i * 2 * kPiece);
      if (list[i].address != address(&*begin)) continue;
      if (std::count(begin, begin + kPiece, value) != static_cast<std::ptrdiff_t>(kPiece)) return false;
    }
    return true;
  }
  bool gaps_untouched() const {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      if (at % (2 * kPiece) >= kPiece && bytes[at] != std::byte{0xee}) return false;
    }
    return true;
  }

  std::vector<std::byte> bytes;
  std::vector<LayoutPiece> list;
};

class MemoryFaultTest : public testing::TestWithParam<bool> {
 protected:
  MemoryFaultTest() : job_(2, small_copies(), 2048) {
    catch_memory_faults();
    nowhere_ = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(nowhere_, MAP_FAILED);
    if (lossy()) {
      for (PeerIndex i = 0; i < 2; ++i) job_.task(i).transport.make_lossy(0, i);
    }
    job_.start();
    for (PeerIndex i = 0; i < 2; ++i) job_[i].guard_layouts(true);
  }
  ~MemoryFaultTest() override { munmap(nowhere_, kPage); }

  static bool lossy() { return GetParam(); }
  static StatisticsPath way() { return lossy() ? StatisticsPath::network : StatisticsPath::shared_memory; }

  Submit put(const Pieces& from, const Pieces& to, PeerIndex target = 1) {
    ListCursor source = from.cursor(), destination = to.cursor();
    return job_[0].put_layout({target, &source, &destination, address(&arrived_), address(&free_), address(&done_)});
  }
  // Until nothing moves and every timer has run.
  void settle() {
    for (int step = 0; step < 50; ++step) {
      job_.settle();
      job_.clock.advance(kSecond / 100);
    }
  }
  void a_good_put_arrives() {
    Pieces from(5), to(5);
    from.fill(std::byte{1});
    arrived_ = free_ = done_ = 0;
    ASSERT_EQ(put(from, to), Submit::accepted);
    settle();
    EXPECT_TRUE(to.hold(std::byte{1}) && to.gaps_untouched());
    EXPECT_EQ(arrived_ + free_ + done_, 3);
    const FenceTicket ticket = job_[0].fences().begin();
    settle();
    EXPECT_EQ(job_[0].fences().state(ticket), FenceState::done);
    EXPECT_TRUE(job_[0].drained());
  }
  std::vector<std::pair<Fault, PeerIndex>> faults(PeerIndex task) { return job_.task(task).host.faults; }
  using Faults = std::vector<std::pair<Fault, PeerIndex>>;

  Job job_;
  void* nowhere_;
  int arrived_ = 0, free_ = 0, done_ = 0;
};

TEST_P(MemoryFaultTest, AShortPutIsRefusedAndLeavesNoTrace) {
  for (int round = 0; round < 100; ++round) {
    Pieces from(3), to(3);
    from.list[1].address = address(nowhere_);
    EXPECT_EQ(put(from, to), Submit::origin_memory);
    EXPECT_TRUE(job_[0].drained());
    settle();
    EXPECT_TRUE(to.hold(std::byte{0xee}));
    EXPECT_EQ(job_[0].statistics(way()).packets_sent, 0u);
    EXPECT_EQ(job_.task(0).transport.abandoned(), lossy() ? 0u : round + 1u) << "a transport ends what it had begun";
  }
  EXPECT_EQ(arrived_ + free_ + done_, 0);
  EXPECT_EQ(job_[0].completed().sends, 0u);
  EXPECT_EQ(faults(0), Faults{});
  EXPECT_EQ(faults(1), Faults{});
  a_good_put_arrives();
}

TEST_P(MemoryFaultTest, ALongPutThatBeginsBadlyIsRefused) {
  for (const std::size_t pieces : {6u, 60u}) {
    Pieces from(pieces), to(pieces);
    from.list[0].address = address(nowhere_);
    EXPECT_EQ(put(from, to), Submit::origin_memory);
    if (!lossy()) {
      EXPECT_EQ(job_[0].deadline(), UINT64_MAX) << "nothing waits for room";
    }
    settle();
    EXPECT_TRUE(to.hold(std::byte{0xee}));
    EXPECT_EQ(job_[0].fences().state(job_[0].fences().begin()), FenceState::done) << "there is nothing to wait for";
  }
  EXPECT_EQ(arrived_ + free_ + done_, 0);
  EXPECT_EQ(faults(0), Faults{});
  a_good_put_arrives();
}

TEST_P(MemoryFaultTest, TheRestOfABegunPutIsZeros) {
  for (const std::size_t pieces : {7u, 60u}) {
    Pieces from(pieces), to(pieces);
    from.fill(std::byte{1});
    from.list[pieces - 2].address = address(nowhere_);
    arrived_ = free_ = done_ = 0;
    ASSERT_EQ(put(from, to), Submit::accepted);
    settle();
    EXPECT_EQ(arrived_ + free_ + done_, 3);
    EXPECT_EQ(faults(0), (Faults{{Fault::origin_vector, 1}}));
    EXPECT_EQ(faults(1), Faults{});
    Pieces beginning = to;
    beginning.list.resize(2);
    EXPECT_TRUE(beginning.hold(std::byte{1}));
    EXPECT_TRUE(to.hold(std::byte{0}, pieces - 2) && to.gaps_untouched());
    job_.task(0).host.faults.clear();
    a_good_put_arrives();
  }
}

// What finds no room is copied: the copy meets the fault.
TEST_P(MemoryFaultTest, APutThatFindsNoRoomIsRefused) {
  job_.task(1).transport.set_room(0);
  Pieces good(1), to(3), from(3), longer(6), to_longer(6);
  from.list[2].address = longer.list[4].address = address(nowhere_);
  for (int i = 0; i < 400 && put(good, good) == Submit::accepted; ++i) continue;
  const Submit first = put(from, to), second = put(longer, to_longer);
  EXPECT_NE(first, Submit::accepted);
  EXPECT_NE(second, Submit::accepted);
  job_.task(1).transport.set_room(64);
  settle();
  EXPECT_TRUE(to.hold(std::byte{0xee}) && to_longer.hold(std::byte{0xee}));
  EXPECT_EQ(arrived_, done_);
  a_good_put_arrives();
}

// A message of several records finds no room for any of them: it is refused, however often, and keeps no copy.
TEST_P(MemoryFaultTest, ALongPutThatFindsNoRoomIsRefused) {
  job_.task(1).transport.set_room(0);
  Pieces filling(1), from(6), to(6);
  for (int i = 0; i < 400 && job_[0].load(1).copies == 0; ++i) ASSERT_EQ(put(filling, filling), Submit::accepted);
  ASSERT_EQ(job_[0].load(1).copies, 1u);
  for (int round = 0; round < 10; ++round) {
    Pieces bad = from;
    bad.list[4].address = address(nowhere_);
    EXPECT_EQ(put(bad, to), Submit::origin_memory);
    EXPECT_EQ(job_[0].load(1).copies, 1u);
  }
  from.fill(std::byte{1});
  EXPECT_EQ(put(from, to), Submit::accepted);
  from.fill(std::byte{2});
  job_.task(1).transport.set_room(64);
  settle();
  EXPECT_TRUE(to.hold(std::byte{1}) && to.gaps_untouched()) << "the good one is what it was";
  EXPECT_EQ(job_[0].load(1).copies, 0u);
  EXPECT_EQ(faults(0), Faults{});
}

// Its first record has left.
TEST_P(MemoryFaultTest, TheRestOfAPutThatFindsNoMoreRoomIsZeros) {
  job_.task(1).transport.set_room(1);
  Pieces from(6), to(6);
  from.fill(std::byte{1});
  from.list[4].address = address(nowhere_);
  ASSERT_EQ(put(from, to), Submit::accepted);
  EXPECT_EQ(faults(0), (Faults{{Fault::origin_vector, 1}}));
  job_.task(1).transport.set_room(64);
  settle();
  EXPECT_EQ(arrived_ + free_ + done_, 3);
  Pieces beginning = to;
  beginning.list.resize(2);
  EXPECT_TRUE(beginning.hold(std::byte{1}));
  EXPECT_TRUE(to.hold(std::byte{0}, 4) && to.gaps_untouched());
  EXPECT_EQ(job_[0].load(1).copies, 0u);
}

// One that is too long to be copied waits with its data where it is, which may be gone when its turn comes.
TEST_P(MemoryFaultTest, APutWhoseMemoryGoesWhileItWaitsIsZeros) {
  constexpr std::size_t kPages = 3;
  void* const memory = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kPages * kPage);
  job_.task(1).transport.set_room(0);
  Pieces filling(1), from(20), to(20);
  for (int i = 0; i < 400 && job_[0].load(1).copies == 0; ++i) ASSERT_EQ(put(filling, filling), Submit::accepted);
  for (std::size_t i = 0; i < from.list.size(); ++i) from.list[i].address = address(memory) + i * kPiece;
  settle();
  arrived_ = free_ = done_ = 0;
  ASSERT_EQ(put(from, to), Submit::accepted);
  EXPECT_EQ(free_, 0);
  munmap(memory, kPages * kPage);
  job_.task(1).transport.set_room(64);
  settle();
  EXPECT_TRUE(to.hold(std::byte{0}) && to.gaps_untouched());
  EXPECT_EQ(faults(0), (Faults{{Fault::origin_vector, 1}}));
  EXPECT_EQ(free_, 1);
  EXPECT_EQ(arrived_, done_);
  a_good_put_arrives();
}

// Fences count puts, whichever way they go.
TEST_P(MemoryFaultTest, AFenceWaitsForAPutOfEitherKind) {
  job_.task(1).transport.set_room(0);
  Pieces from(3), to(3);
  const std::uint64_t word = 5;
  std::uint64_t there = 0;
  ASSERT_EQ(put(from, to), Submit::accepted);
  ASSERT_EQ(job_[0].put({1, address(&there), &word, sizeof(word), 0, 0, 0}), Submit::accepted);
  const FenceTicket fence = job_[0].fences().begin();
  settle();
  EXPECT_EQ(job_[0].fences().state(fence), FenceState::pending);
  job_.task(1).transport.set_room(64);
  settle();
  EXPECT_EQ(job_[0].fences().state(fence), FenceState::done);
  EXPECT_EQ(there, word);
}

// What is copied for want of room comes behind what had waited before, counts, and is waited for.
TEST_P(MemoryFaultTest, AGoodPutThatFindsNoRoomArrivesInItsTurn) {
  job_.task(1).transport.set_room(0);
  Pieces first(3), second(3), to(3);
  first.fill(std::byte{1});
  second.fill(std::byte{2});
  const MessageStatistics before = job_[0].statistics(way());
  for (const Pieces* from : {&first, &second}) ASSERT_EQ(put(*from, to), Submit::accepted);
  EXPECT_EQ(job_[0].completed().sends, 2u);
  EXPECT_EQ(job_[0].statistics(way()).data_sent - before.data_sent, 6 * kPiece);
  const FenceTicket fence = job_[0].fences().begin();
  job_.task(1).transport.set_room(1);
  job_[0].progress();
  EXPECT_EQ(job_[0].fences().state(fence), FenceState::pending);
  job_.task(1).transport.set_room(64);
  settle();
  EXPECT_EQ(job_[0].fences().state(fence), FenceState::done);
  EXPECT_TRUE(to.hold(std::byte{2}) && to.gaps_untouched());
  EXPECT_EQ(arrived_, 2);
  EXPECT_EQ(done_, 2);
}

TEST_P(MemoryFaultTest, TheTargetHearsOfItsMemoryOnce) {
  for (const std::size_t pieces : {3u, 60u}) {
    Pieces from(pieces), to(pieces);
    from.fill(std::byte{1});
    to.list[1].address = to.list[pieces - 1].address = address(nowhere_);
    arrived_ = free_ = done_ = 0;
    ASSERT_EQ(put(from, to), Submit::accepted);
    settle();
    EXPECT_EQ(arrived_ + free_ + done_, 3);
    EXPECT_EQ(faults(0), Faults{});
    EXPECT_EQ(faults(1), (Faults{{Fault::target_vector, 0}}));
    EXPECT_TRUE(to.gaps_untouched());
    job_.task(1).host.faults.clear();
    a_good_put_arrives();
  }
}

TEST_P(MemoryFaultTest, AGetEndsWhosesoeverMemoryIsBad) {
  for (const bool at_target : {true, false}) {
    for (const std::size_t pieces : {3u, 60u}) {
      Pieces there(pieces), here(pieces);
      there.fill(std::byte{1});
      (at_target ? there : here).list[1].address = address(nowhere_);
      arrived_ = free_ = 0;
      ListCursor source = there.cursor(), destination = here.cursor();
      ASSERT_EQ(job_[0].get_layout({1, &source, &destination, address(&arrived_), address(&free_)}), Submit::accepted);
      settle();
      EXPECT_EQ(arrived_ + free_, 2);
      const Faults expected{{at_target ? Fault::target_vector : Fault::origin_vector, at_target ? 0 : 1}};
      EXPECT_EQ(faults(at_target ? 1 : 0), expected);
      EXPECT_EQ(faults(at_target ? 0 : 1), Faults{});
      if (!at_target) {
        EXPECT_TRUE(here.hold(std::byte{0xee}, 10)) << "the rest is thrown away";
      }
      EXPECT_TRUE(here.gaps_untouched());
      job_.task(0).host.faults.clear();
      job_.task(1).host.faults.clear();
      a_good_put_arrives();
    }
  }
}

TEST_P(MemoryFaultTest, OnesOwnMemoryIsFoundAtOnce) {
  Pieces good(3), bad(3);
  bad.list[1].address = address(nowhere_);
  EXPECT_EQ(put(bad, good, 0), Submit::origin_memory);
  EXPECT_EQ(put(good, bad, 0), Submit::target_memory);
  ListCursor readable = good.cursor(), unreadable = bad.cursor();
  EXPECT_EQ(job_[0].get_layout({0, &unreadable, &readable, 0, address(&free_)}), Submit::target_memory);
  EXPECT_EQ(job_[0].get_layout({0, &readable, &unreadable, 0, address(&free_)}), Submit::origin_memory);
  job_[0].guard_layouts(false);  // one of the two may ask for it alone
  unreadable.set_guarded(true);
  EXPECT_EQ(job_[0].get_layout({0, &unreadable, &readable, 0, address(&free_)}), Submit::target_memory);
  EXPECT_EQ(job_[0].get_layout({0, &readable, &unreadable, 0, address(&free_)}), Submit::origin_memory);
  job_[0].guard_layouts(true);
  bool asked = false;
  job_.task(0).host.on_header = [&](const ArrivedMessage&) {
    asked = true;
    return HeaderVerdict{};
  };
  const LayoutMessageRequest message{0, 100'000, nullptr, 0, &unreadable, true, 0, address(&free_), 0};
  EXPECT_EQ(job_[0].layout_message(message), Submit::origin_memory);
  EXPECT_FALSE(asked);
  EXPECT_EQ(arrived_ + free_ + done_, 0);
  EXPECT_EQ(faults(0), Faults{});
  EXPECT_EQ(job_[0].layout_message({0, 100'000, nullptr, 0, &readable, true, 0, address(&free_), 0}), Submit::accepted);
  EXPECT_TRUE(asked);
  EXPECT_EQ(free_, 1);
}

// A message that its handler has dropped and takes later: what was kept goes to memory that is not there.
TEST_P(MemoryFaultTest, ADroppedMessageIsDeliveredLater) {
  for (const std::size_t pieces : {3u, 60u}) {
    Pieces from(pieces), to(pieces);
    to.list[0].address = address(nowhere_);
    int refusals = 2;
    job_.task(1).host.on_header = [&](const ArrivedMessage&) {
      HeaderVerdict verdict;
      if (refusals-- > 0) {
        verdict.delivery = Delivery::drop;
      } else {
        verdict.layout = std::make_unique<ListCursor>(to.cursor());
      }
      return verdict;
    };
    arrived_ = free_ = done_ = 0;
    ListCursor source = from.cursor();
    ASSERT_EQ(job_[0].layout_message(
                  {1, 100'000, nullptr, 0, &source, true, address(&arrived_), address(&free_), address(&done_)}),
              Submit::accepted);
    settle();
    EXPECT_EQ(arrived_ + free_ + done_, 3);
    EXPECT_EQ(faults(1), (Faults{{Fault::target_vector, 0}}));
    EXPECT_TRUE(to.gaps_untouched());
    job_.task(1).host.faults.clear();
    a_good_put_arrives();
  }
}

// The layout comes from the header handler: a vector's for a vector, else a program's.
TEST_P(MemoryFaultTest, TheFaultSaysWhatTheLayoutWas) {
  for (const bool vector : {true, false}) {
    for (const std::size_t pieces : {3u, 60u}) {
      Pieces from(pieces), to(pieces);
      from.fill(std::byte{1});
      to.list[0].address = to.list[pieces - 1].address = address(nowhere_);
      job_.task(1).host.on_header = [&](const ArrivedMessage&) {
        HeaderVerdict verdict;
        verdict.layout = std::make_unique<ListCursor>(to.cursor());
        return verdict;
      };
      ListCursor source = from.cursor();
      ASSERT_EQ(job_[0].layout_message({1, 100'000, nullptr, 0, &source, vector, 0, 0, 0}), Submit::accepted);
      settle();
      EXPECT_EQ(faults(1), (Faults{{vector ? Fault::target_vector : Fault::program_memory, 0}})) << pieces;
      EXPECT_TRUE(to.hold(std::byte{0xee}, 10)) << "the rest is thrown away";
      job_.task(1).host.faults.clear();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, MemoryFaultTest, testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "Channel" : "Direct"; });

}  // namespace
}  // namespace openlapi
