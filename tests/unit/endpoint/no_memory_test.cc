// Gets for which the target has no memory: they end, nobody waits for them, and later ones are answered. Over a
// reliable transport and a lossy one. And puts for which it has none, or the origin.
#include <gtest/gtest.h>

#include "dataplane/counter/counters.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/message/outgoing_message.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/allocation_count.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

constexpr std::size_t kPieces = 300;
constexpr std::size_t kDescription = kPieces * sizeof(LayoutPiece);  // longer than a packet

struct Pieces {
  explicit Pieces(std::byte value) : bytes(kPieces * 16, value) {
    for (std::size_t i = 0; i < kPieces; ++i) list.push_back({address(bytes.data() + 16 * i), 8});
  }
  ListCursor cursor() const { return ListCursor(PieceList::of_pieces(list.data(), list.size())); }

  std::vector<std::byte> bytes;
  std::vector<LayoutPiece> list;
};

using Faults = std::vector<std::pair<Fault, PeerIndex>>;

class NoMemory : public testing::TestWithParam<bool> {
 protected:
  NoMemory() : job_(2) {
    for (PeerIndex i = 0; GetParam() && i < 2; ++i) job_.task(i).transport.make_lossy(0, i);
    job_.start();
  }
  ~NoMemory() override { test::allow_allocations(); }

  Submit get_pieces() {
    ListCursor from = there_.cursor(), into = here_.cursor();
    return job_[0].get_layout({1, &from, &into, address(&target_), address(&origin_)});
  }
  void settle() {
    for (int step = 0; step < 50; ++step) {
      job_.settle();
      job_.clock.advance(kSecond / 100);
    }
  }
  void get_arrives() {
    std::fill(here_.bytes.begin(), here_.bytes.end(), std::byte{0});
    origin_ = target_ = 0;
    ASSERT_EQ(get_pieces(), Submit::accepted);
    settle();
    EXPECT_EQ(origin_ + target_, 2);
    for (std::size_t at = 0; at < here_.bytes.size(); ++at) {
      ASSERT_EQ(here_.bytes[at], at % 16 < 8 ? std::byte{7} : std::byte{0}) << at;
    }
  }
  void expect_ended() {
    const FenceTicket fence = job_[0].fences().begin();
    settle();
    test::allow_allocations();
    EXPECT_EQ(job_[0].fences().state(fence), FenceState::done);
    EXPECT_EQ(job_.task(0).host.faults, (Faults{{Fault::target_out_of_memory, 1}}));
    EXPECT_EQ(job_.task(1).host.faults, (Faults{{Fault::out_of_memory, 0}}));
    EXPECT_EQ(job_[0].counters().loss_of(address(&origin_)), CounterLoss::no_memory);
    EXPECT_EQ(origin_ + target_, 0);
    EXPECT_TRUE(job_[0].drained());
    job_[0].counters().forget_loss(address(&origin_));
    get_arrives();
    EXPECT_TRUE(job_[0].drained() && job_[1].drained());
  }

  Job job_;
  Pieces there_{std::byte{7}}, here_{std::byte{0}};
  int target_ = 0, origin_ = 0;
};

TEST_P(NoMemory, ForTheDescription) {
  get_arrives();
  origin_ = target_ = 0;
  ASSERT_EQ(get_pieces(), Submit::accepted);
  test::refuse_allocations(kDescription);
  expect_ended();
}

TEST_P(NoMemory, ForTheAnswerAfterTheDescription) {
  get_arrives();
  origin_ = target_ = 0;
  job_.task(1).transport.set_room(2);
  ASSERT_EQ(get_pieces(), Submit::accepted);
  ASSERT_NE(job_[1].progress(), 0u) << "it has taken the first part, and keeps room for all";
  EXPECT_GE(job_[1].load(0).bytes, kDescription);
  test::refuse_allocations(kDescription);
  expect_ended();
}

// One block of memory, but more than a packet, so that the answer has to be kept.
TEST_P(NoMemory, ForTheAnswerToAPlainGet) {
  get_arrives();
  origin_ = target_ = 0;
  ASSERT_EQ(job_[0].get({1, address(there_.bytes.data()), here_.bytes.data(), there_.bytes.size(), address(&target_),
                         address(&origin_)}),
            Submit::accepted);
  // Not the blocks of the transports' queues, which are larger.
  test::refuse_allocations(sizeof(OutgoingMessage), 2 * sizeof(OutgoingMessage));
  expect_ended();
}

// What is read from the origin's memory says in a description where it lies. Without one it comes in packets.
TEST(NoMemoryForALayout, LetsAPutComeInPackets) {
  constexpr std::size_t kLength = tuning::kSmallestAttachPiece;
  Job job(2);
  for (PeerIndex i = 0; i < 2; ++i) job.task(i).transport.make_readable();
  job.start();
  std::vector<std::byte> from(3 * kLength, std::byte{7}), to(3 * kLength);
  std::vector<LayoutPiece> here, there;
  for (std::size_t i : {2, 1, 0}) {
    here.push_back({address(from.data() + i * kLength), kLength});
    there.push_back({address(to.data() + i * kLength), kLength});
  }
  ListCursor source(PieceList::of_pieces(here.data(), 3)), destination(PieceList::of_pieces(there.data(), 3));
  std::vector<std::byte> description;
  for (const LayoutCursor* layout : {&source, &destination}) describe_layout(*layout, SIZE_MAX, description);
  int arrived = 0;
  ASSERT_EQ(job[0].put_layout({1, &source, &destination, address(&arrived), 0, 0}), Submit::accepted);
  test::refuse_allocations(description.size(), description.size() + 1);
  EXPECT_NE(job[1].progress(), 0u);
  test::allow_allocations();
  EXPECT_EQ(job[1].load(0).bytes, 0u);
  job.settle();
  EXPECT_EQ(arrived, 1);
  EXPECT_TRUE(to == from);
  EXPECT_EQ(job.task(1).transport.vectored_reads(), 0u);
  EXPECT_TRUE(job.task(1).host.faults.empty());
}

// Messages that have to be copied when they find no more room, or are too long for that.
class NoMemoryForACopy : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::size_t kLength = 2 * tuning::kSurelyFindsMemory;

  NoMemoryForACopy() : job_(2, config()) {
    job_.task(1).transport.set_room(3);
    job_.start();
  }
  ~NoMemoryForACopy() override { test::allow_allocations(); }
  static EndpointConfig config() {
    EndpointConfig config = small_copies();
    config.copy_limit = kLength;
    return config;
  }
  // Contiguous, or from layout to layout.
  Submit put(std::size_t length) {
    if (!GetParam()) return job_[0].put({1, address(to_.data()), from_.data(), length, address(&arrived_), 0, 0});
    StridedCursor source(address(from_.data()), length), destination(address(to_.data()), length);
    return job_[0].put_layout({1, &source, &destination, address(&arrived_), 0, 0});
  }
  void expect_arrived(int count) {
    job_.settle();
    EXPECT_EQ(arrived_, count);
    EXPECT_EQ(job_[0].unfinished().not_taken, 0u);
  }

  Job job_;
  std::vector<std::byte> from_ = std::vector<std::byte>(kLength + 1, std::byte{7}), to_ = from_;
  int arrived_ = 0;
};

// The memory is asked for before anything leaves: the call is as if it had not been made.
TEST_P(NoMemoryForACopy, EndsTheCallBeforeAnythingLeaves) {
  test::refuse_allocations(kLength, kLength + 1);
  EXPECT_THROW(put(kLength), std::bad_alloc);
  test::allow_allocations();
  EXPECT_EQ(job_.task(1).transport.waiting(), 0u);
  EXPECT_EQ(job_[0].load(1).copies, 0u);
  EXPECT_EQ(job_[0].fences().state(job_[0].fences().begin()), FenceState::done);
  ASSERT_EQ(put(kLength), Submit::accepted);
  expect_arrived(1);
}

TEST_P(NoMemoryForACopy, IsNoneForALongerMessage) {
  test::refuse_allocations(kLength / 2);
  EXPECT_EQ(put(kLength + 1), Submit::accepted);
  expect_arrived(1);
}

// What has left needs no copy.
TEST_P(NoMemoryForACopy, IsWantedForTheRestOnly) {
  constexpr std::size_t kShort = 4000;
  test::refuse_allocations(kShort / 2);
  EXPECT_EQ(put(kShort), Submit::accepted);
  EXPECT_EQ(job_[0].load(1).copies, 1u);
  expect_arrived(1);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NoMemoryForACopy, testing::Bool(),
                         [](const auto& info) { return info.param ? "layout" : "contiguous"; });

// Two that share memory begin anew with each other; the record that says so finds neither room nor memory to wait in.
TEST(NoMemoryToBeginAnew, IsWanted) {
  Job job(2);
  job.start();
  std::uint64_t there[2] = {};
  const std::uint64_t value = 7;
  int completion[2] = {};
  const auto put = [&](PeerIndex from) {
    return job[from].put({1 - from, address(&there[from]), &value, sizeof value, 0, 0, address(&completion[from])});
  };
  ASSERT_EQ(put(0), Submit::accepted);
  job.settle();
  job[0].purge(1);
  job[0].resume(1, 100);
  job.task(0).transport.set_room(0);
  ASSERT_EQ(job[0].put({1, address(&there[0]), &value, sizeof value, 0, 0, 0}), Submit::accepted) << "begins anew";
  const std::size_t record = sizeof(wire::RecordHeader) + sizeof(wire::RequestRefusedBody);
  test::refuse_allocations(record, record + 1);
  job[1].progress();
  test::allow_allocations();
  job.task(0).transport.set_room(64);
  for (PeerIndex i = 0; i < 2; ++i) ASSERT_EQ(put(i), Submit::accepted);
  job.settle();
  EXPECT_EQ(completion[0], 2) << "the one who began anew is not heard";
  EXPECT_EQ(completion[1], 1) << "nor is the other";
  for (PeerIndex i = 0; i < 2; ++i) {
    EXPECT_TRUE(job.task(i).host.faults.empty()) << i;
    EXPECT_TRUE(job[i].drained()) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, NoMemory, testing::Bool(),
                         [](const auto& info) { return info.param ? "lossy" : "reliable"; });

}  // namespace
}  // namespace openlapi
