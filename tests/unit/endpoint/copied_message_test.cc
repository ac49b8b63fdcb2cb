// Messages that found no room and were copied: their memory is the user's again, whatever of them has left before; and
// calls that were answered "busy" are as if they had not been made.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

class CopiedMessage : public testing::Test {
 protected:
  CopiedMessage() : job_(2, small_copies()) { job_.start(); }

  Job job_;
};

// What is copied is free when the call returns, though nothing of it has left; the user header counts. What is longer
// stays with the user until it has left.
TEST_F(CopiedMessage, IsUpToTheCopyLimit) {
  const std::uint64_t limit = small_copies().copy_limit;
  std::vector<unsigned char> data(limit + 1), header(40);
  job_.task(1).host.on_header = [&](const ArrivedMessage&) {
    return HeaderVerdict{Delivery::bury, CompletionStyle::thread, nullptr, nullptr, nullptr};
  };
  for (const std::uint64_t length : {limit - 40, limit - 39, limit, limit + 1}) {
    for (int kind = 0; kind < 4; ++kind) {
      job_.task(1).transport.set_room(0);
      StridedCursor source(address(data.data()), length), destination(address(data.data()), length);
      int origin = 0;
      const std::uint64_t counter = address(&origin);
      const auto begin = [&] {
        if (kind == 0) return job_[0].put({1, address(data.data()), data.data(), length, 0, counter, 0});
        if (kind == 1) return job_[0].put_layout({1, &source, &destination, 0, counter, 0});
        if (kind == 2) return job_[0].active_message({1, 1, header.data(), 40, data.data(), length, 0, counter, 0});
        return job_[0].layout_message({1, 1, header.data(), 40, &source, false, 0, counter, 0});
      };
      ASSERT_EQ(begin(), Submit::accepted);
      EXPECT_EQ(origin == 1, length + (kind < 2 ? 0 : 40) <= limit) << "kind " << kind << " of " << length;
      EXPECT_EQ(job_[0].load(1).copies, static_cast<std::size_t>(origin)) << "kind " << kind << " of " << length;
      job_.task(1).transport.set_room(1000);
      job_.settle();
      EXPECT_EQ(origin, 1) << "kind " << kind << " of " << length;
    }
  }
}

// Of every number of bytes that can be left when the room ends.
TEST_F(CopiedMessage, IsWhatItWasWhenTheCallReturned) {
  for (std::size_t length = 1900; length < 2060; ++length) {
    for (const bool layout : {false, true}) {
      std::vector<unsigned char> data(length), target(length + 8);
      std::iota(data.begin(), data.end(), 0);
      const std::vector<unsigned char> before = data;
      StridedCursor source(address(data.data()), length), destination(address(target.data()), length);
      job_.task(1).transport.set_room(2);
      ASSERT_EQ(layout ? job_[0].put_layout({1, &source, &destination, 0, 0, 0})
                       : job_[0].put({1, address(target.data()), data.data(), length, 0, 0, 0}),
                Submit::accepted);
      std::fill(data.begin(), data.end(), 0xee);
      job_.task(1).transport.set_room(64);
      job_.settle();
      ASSERT_TRUE(std::equal(before.begin(), before.end(), target.begin())) << length << (layout ? " layout" : "");
      ASSERT_EQ(std::count(target.begin() + static_cast<std::ptrdiff_t>(length), target.end(), 0), 8);
    }
  }
}

// It may not be asked for before the message, which would come behind it: the target takes one packet at a time.
TEST_F(CopiedMessage, IsThereWhenAFenceIsDoneThatBeganBeforeItLeft) {
  for (const std::size_t length : {3000u, 10'000u}) {
    std::vector<unsigned char> data(length, 7), data_there(length);
    int target = 0;
    job_.task(1).transport.set_room(0);
    ASSERT_EQ(job_[0].put({1, address(data_there.data()), data.data(), length, address(&target), 0, 0}),
              Submit::accepted);
    const FenceTicket fence = job_[0].fences().begin();
    job_.settle();
    EXPECT_EQ(job_[0].fences().state(fence), FenceState::pending);
    job_.task(1).transport.set_room(1);
    FenceState state = FenceState::pending;
    for (int step = 0; step < 100 && state == FenceState::pending; ++step) {
      job_[step % 2].progress();
      state = job_[0].fences().state(fence);
    }
    EXPECT_EQ(state, FenceState::done);
    EXPECT_EQ(target, 1);
  }
}

// The same cursors serve for the next attempt.
TEST_F(CopiedMessage, IsBegunAnewAfterACallThatWasAnsweredBusy) {
  std::vector<unsigned char> data(900), target(900);
  std::iota(data.begin(), data.end(), 0);
  job_.task(1).host.on_header = [&](const ArrivedMessage&) {
    return HeaderVerdict{Delivery::deliver, CompletionStyle::thread, target.data(), nullptr, nullptr};
  };
  for (const std::size_t length : {300u, 900u}) {
    for (const bool message : {false, true}) {
      const LayoutPiece from[] = {{address(data.data()), 100}, {address(data.data()) + 100, length - 100}};
      const LayoutPiece to[] = {{address(target.data()), 50}, {address(target.data()) + 50, length - 50}};
      ListCursor source(PieceList::of_pieces(from, 2)), destination(PieceList::of_pieces(to, 2));
      const auto call = [&] {
        return message ? job_[0].layout_message({1, 1, nullptr, 0, &source, false, 0, 0, 0})
                       : job_[0].put_layout({1, &source, &destination, 0, 0, 0});
      };
      job_.task(1).transport.set_room(0);
      int accepted = 0;
      while (accepted < 100 && call() == Submit::accepted) ++accepted;
      ASSERT_LT(accepted, 100);
      job_.task(1).transport.set_room(64);
      job_.settle();
      std::fill(target.begin(), target.end(), 0);
      ASSERT_EQ(call(), Submit::accepted);
      job_.settle();
      EXPECT_TRUE(std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(length), target.begin()));
    }
  }
}

}  // namespace
}  // namespace openlapi
