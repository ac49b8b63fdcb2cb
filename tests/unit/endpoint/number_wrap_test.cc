// Numbers that come round: every message, fence, request and tagged packet of a run that passes the ends of 32 bits is
// what it was.
#include <gtest/gtest.h>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/sync/collectives.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

// The parameter: whether over a reliable transport.
class NumberWrap : public testing::TestWithParam<bool> {
 protected:
  static constexpr int kRounds = 12;

  NumberWrap() {
    EndpointConfig config;
    config.copy_limit = 100;
    config.first_number = std::uint64_t{UINT32_MAX} - kRounds;
    config.first_packet = UINT32_MAX - kRounds;
    config.packet_tags = true;
    job_ = std::make_unique<Job>(2, config);
    for (PeerIndex i = 0; i < 2; ++i) {
      job_->task(i).transport.set_room(1000);
      if (!GetParam()) job_->task(i).transport.make_lossy(0, 1);
    }
    job_->start();
  }

  std::unique_ptr<Job> job_;
};

TEST_P(NumberWrap, LongMessagesAndFencesPassIt) {
  std::vector<unsigned char> from(5000), to(5000), back(5000);
  int target = 0, completion = 0, origin = 0;
  for (int round = 1; round <= 3 * kRounds; ++round) {
    std::fill(from.begin(), from.end(), static_cast<unsigned char>(round));
    ASSERT_EQ((*job_)[0].put({1, address(to.data()), from.data(), from.size(), address(&target), 0,
                              address(&completion)}),
              Submit::accepted);
    const FenceTicket fence = (*job_)[0].fences().begin();
    job_->settle();
    ASSERT_EQ((*job_)[0].fences().state(fence), FenceState::done) << round;
    ASSERT_EQ(to, from) << round;
    ASSERT_EQ(target, round);
    ASSERT_EQ(completion, round);
    ASSERT_EQ((*job_)[0].get({1, address(to.data()), back.data(), back.size(), 0, address(&origin)}),
              Submit::accepted);
    job_->settle();
    ASSERT_EQ(origin, round);
    ASSERT_EQ(back, from) << round;
    for (PeerIndex i = 0; i < 2; ++i) (*job_)[i].collectives().begin_barrier();
    job_->settle();
    for (PeerIndex i = 0; i < 2; ++i) ASSERT_EQ((*job_)[i].collectives().state(), CollectiveState::done) << round;
  }
}

// Of a layout, whose records say by the id whether the message has further ones.
TEST_P(NumberWrap, LayoutsPassIt) {
  std::vector<unsigned char> from(6000), to(6000);
  int target = 0;
  for (int round = 1; round <= 3 * kRounds; ++round) {
    std::fill(from.begin(), from.end(), static_cast<unsigned char>(round));
    StridedCursor source(wire::StridedLayout{address(from.data()), 100, 200, 30});
    StridedCursor destination(wire::StridedLayout{address(to.data()), 100, 200, 30});
    ASSERT_EQ((*job_)[0].put_layout({1, &source, &destination, address(&target), 0, 0}), Submit::accepted);
    job_->settle();
    ASSERT_EQ(target, round);
    for (std::size_t i = 0; i < to.size(); ++i) ASSERT_EQ(to[i], i % 200 < 100 ? round : 0) << round << " " << i;
  }
}

// One message waits while all others pass the numbers' end: nobody takes its number.
TEST_P(NumberWrap, AFenceWaitsForAnOldMessageAmongNewOnes) {
  bool refuse = true;
  job_->task(1).host.on_header = [&](const ArrivedMessage& message) {
    return refuse && message.handler == 9 ? HeaderVerdict{Delivery::drop} : HeaderVerdict{};
  };
  std::vector<unsigned char> data(5000, 1);
  int target = 0, old = 0;
  ASSERT_EQ((*job_)[0].active_message({1, 9, nullptr, 0, data.data(), data.size(), address(&old), 0, 0}),
            Submit::accepted);
  for (int round = 1; round <= 3 * kRounds; ++round) {
    ASSERT_EQ((*job_)[0].active_message({1, 8, nullptr, 0, data.data(), data.size(), address(&target), 0, 0}),
              Submit::accepted);
    job_->settle();
  }
  const FenceTicket fence = (*job_)[0].fences().begin();
  job_->settle();
  EXPECT_EQ(target, 3 * kRounds);
  EXPECT_EQ((*job_)[0].fences().state(fence), FenceState::pending);
  refuse = false;
  job_->clock.advance(kSecond);
  job_->settle();
  EXPECT_EQ(old, 1);
  EXPECT_EQ((*job_)[0].fences().state(fence), FenceState::done);
}

// Handlers that are still to return belong to the incarnation in which they were called, on both sides of the
// incarnations' end.
TEST_P(NumberWrap, IncarnationsOfAPeerPassIt) {
  std::vector<CompletionRun> running;
  job_->task(1).host.on_header = [&](const ArrivedMessage&) {
    return HeaderVerdict{Delivery::bury, CompletionStyle::thread, nullptr, &running, nullptr};
  };
  job_->task(1).host.on_completion = [&](const CompletionRun& run, bool) { return running.push_back(run), false; };
  int target = 0, completion = 0;
  std::uint32_t incarnation = (*job_)[1].peers().incarnation_of(0);
  for (int round = 1; round <= 2 * kRounds; ++round, ++incarnation) {
    ASSERT_EQ((*job_)[1].peers().incarnation_of(0), incarnation);
    ASSERT_EQ((*job_)[0].active_message({1, 7, nullptr, 0, nullptr, 0, address(&target), 0, address(&completion)}),
              Submit::accepted);
    job_->settle();
    ASSERT_EQ(running.size(), static_cast<std::size_t>(round));
    ASSERT_EQ(running.back().source_incarnation, incarnation);
    for (PeerIndex i = 0; i < 2; ++i) (*job_)[i].purge(1 - i);
    for (PeerIndex i = 0; i < 2; ++i) (*job_)[i].resume(1 - i, 10 + static_cast<std::uint64_t>(round) * 64);
  }
  for (const CompletionRun& run : running) (*job_)[1].completion_returned(run);
  job_->settle();
  EXPECT_EQ(completion, 0) << "of incarnations that are over nothing is answered";
}

INSTANTIATE_TEST_SUITE_P(Transports, NumberWrap, testing::Bool());

}  // namespace
}  // namespace openlapi
