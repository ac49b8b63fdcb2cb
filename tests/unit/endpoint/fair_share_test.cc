// Peers that take nothing hold a bounded share of what all peers draw from: the others go on.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <vector>

#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/layout/vector_cursor.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

// Task 0 talks to all others, of whom only the last one is alive.
class SilentPeers : public testing::Test {
 protected:
  static constexpr std::uint32_t kSilent = 3;
  static constexpr PeerIndex kAlive = kSilent + 1;

  void start(const EndpointConfig& config, std::uint32_t max_packet, std::size_t room, bool reliable) {
    job_ = std::make_unique<Job>(kSilent + 2, config, max_packet);
    for (PeerIndex i = 0; i < kSilent + 2; ++i) {
      job_->task(i).transport.set_room(i == kAlive ? 1000 : room);
      if (!reliable) job_->task(i).transport.make_lossy(0, 1);
    }
    job_->start();
  }

  Submit put(PeerIndex target) {
    return (*job_)[0].put({target, address(sink_.data()), source_.data(), source_.size(), 0, 0, 0});
  }

  // Gives every silent peer as many as it takes, with a step of the engine after each. Returns the least of them.
  template <typename Give>
  unsigned give_all_to_the_silent(Give give) {
    unsigned least = 1'000'000;
    for (PeerIndex silent = 1; silent <= kSilent; ++silent) {
      unsigned given = 0;
      while (given < least && give(silent) == Submit::accepted) {
        (*job_)[0].progress();
        ++given;
      }
      least = std::min(least, given);
    }
    return least;
  }

  std::unique_ptr<Job> job_;
  std::vector<unsigned char> source_ = std::vector<unsigned char>(100, 1);
  std::vector<unsigned char> sink_ = std::vector<unsigned char>(100);
};

TEST_F(SilentPeers, DoNotHoldAllCopies) {
  EndpointConfig config;
  config.copy_buffers = 64;
  start(config, 1024, 1, true);
  EXPECT_GE(give_all_to_the_silent([&](PeerIndex silent) { return put(silent); }), 8u);
  job_->task(kAlive).transport.set_room(0);  // whatever goes to it has to be copied
  EXPECT_EQ(put(kAlive), Submit::accepted);
  EXPECT_EQ(put(kAlive), Submit::accepted);
  job_->task(kAlive).transport.set_room(1000);
  (*job_)[0].progress();
  (*job_)[kAlive].progress();
  EXPECT_EQ(sink_, source_);
}

TEST_F(SilentPeers, LeaveACopyEvenWhenThereIsOnlyOne) {
  EndpointConfig config;
  config.copy_buffers = 1;
  start(config, 1024, 0, true);
  job_->task(kAlive).transport.set_room(0);
  for (PeerIndex peer = 1; peer <= kAlive; ++peer) {
    EXPECT_EQ(put(peer), Submit::accepted);
    EXPECT_EQ(put(peer), Submit::busy);
  }
  int handled = 0;
  job_->task(0).host.on_header = [&](const ArrivedMessage&) {
    ++handled;
    return HeaderVerdict{Delivery::bury, CompletionStyle::thread, nullptr, nullptr, nullptr};
  };
  EXPECT_EQ((*job_)[0].active_message({0, 1, nullptr, 0, source_.data(), 8, 0, 0, 0}), Submit::accepted)
      << "messages to oneself need none";
  EXPECT_EQ(handled, 1);
}

TEST_F(SilentPeers, DoNotHoldAllPacketBuffers) {
  EndpointConfig config;
  config.job_key = {0x1234, 0};
  start(config, 65504, 100'000, false);  // a pool of 64 buffers
  for (PeerIndex i = 0; i <= kAlive; ++i) job_->task(i).epoch_of_peers = 1;
  give_all_to_the_silent([&](PeerIndex silent) {
    return (*job_)[0].read_modify_write(
        {silent, wire::RmwOperation::fetch_and_add, 8, address(sink_.data()), 1, 0, nullptr, 0});
  });
  // Packet upon packet, of which none is acknowledged before the last one leaves.
  int arrived = 0;
  for (int n = 0; n < 8; ++n) {
    ASSERT_EQ((*job_)[0].put({kAlive, address(sink_.data()), source_.data(), 8, address(&arrived), 0, 0}),
              Submit::accepted);
    (*job_)[0].progress();
  }
  for (int step = 0; step < 4; ++step) (*job_)[kAlive].progress();
  EXPECT_GE(arrived, 5);
}

TEST_F(SilentPeers, DoNotHoldAllRequests) {
  EndpointConfig config;
  config.copy_buffers = 1'000'000;
  start(config, 1024, 1'000'000, true);
  std::uint64_t word = 0;
  const auto add = [&](PeerIndex target) {
    return (*job_)[0].read_modify_write(
        {target, wire::RmwOperation::fetch_and_add, 8, address(&word), 1, 0, nullptr, 0});
  };
  for (PeerIndex silent = 1; silent <= kSilent; ++silent) {
    for (unsigned n = 0; n < 100'000 && add(silent) == Submit::accepted; ++n) {
    }
  }
  EXPECT_EQ(add(kAlive), Submit::accepted);
  EXPECT_EQ(add(kAlive), Submit::accepted);
}

// Puts to many peers name memory that is not there: the packets that were opened for them hold no buffers.
TEST(RefusedPuts, HoldNoPacketBuffers) {
  constexpr PeerIndex kRefused = 61, kOther = kRefused + 1;
  catch_memory_faults();
  EndpointConfig config;
  config.job_key = {0x1234, 0};
  Job job(kOther + 1, config, 65504);  // a pool of 64 buffers
  for (PeerIndex i = 0; i <= kOther; ++i) {
    job.task(i).transport.make_lossy(0, i);
    job.task(i).epoch_of_peers = 1;
  }
  job.start();
  job[0].guard_layouts(true);
  constexpr std::size_t kPage = 4096;
  void* const nowhere = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(nowhere, MAP_FAILED);
  std::uint64_t word = 5, there = 0;
  for (PeerIndex target = 1; target <= kRefused; ++target) {
    StridedCursor source(address(nowhere), sizeof(word)), destination(address(&there), sizeof(there));
    ASSERT_EQ(job[0].put_layout({target, &source, &destination, 0, 0, 0}), Submit::origin_memory);
  }
  munmap(nowhere, kPage);
  int arrived = 0;
  for (int n = 0; n < 8; ++n) {
    ASSERT_EQ(job[0].put({kOther, address(&there), &word, sizeof(word), address(&arrived), 0, 0}), Submit::accepted);
    job[0].progress();
  }
  for (int step = 0; step < 4; ++step) job[kOther].progress();
  EXPECT_GE(arrived, 5);
}

// Nobody acknowledges anything: more peers than there are buffers get their packet all the same.
TEST(FirstPackets, FindABufferWhenAllAreInUse) {
  constexpr PeerIndex kOthers = 80;
  EndpointConfig config;
  config.job_key = {0x1234, 0};
  Job job(kOthers + 1, config, 65504);  // a pool of 64 buffers
  for (PeerIndex i = 0; i <= kOthers; ++i) {
    job.task(i).transport.make_lossy(0, i);
    job.task(i).epoch_of_peers = 1;
  }
  job.start();
  const std::uint64_t word = 5;
  std::uint64_t there = 0;
  int arrived = 0;
  for (PeerIndex target = 1; target <= kOthers; ++target) {
    ASSERT_EQ(job[0].put({target, address(&there), &word, sizeof(word), address(&arrived), 0, 0}), Submit::accepted);
  }
  for (PeerIndex target = 1; target <= kOthers; ++target) job[target].progress();
  EXPECT_EQ(arrived, static_cast<int>(kOthers));
}

// The peer has its share of the buffers. A record whose data stays where it is needs none, but a long user header does.
TEST(LongHeaders, WaitForABuffer) {
  std::vector<unsigned char> header(200, 1), data(100'000, 2), there(data.size());
  const std::uint64_t word = 5;
  std::uint64_t words = 0;
  int share = 1000;
  for (const bool counting : {true, false}) {
    Job job(2, small_copies(), 65504);
    for (PeerIndex i = 0; i < 2; ++i) {
      job.task(i).transport.make_lossy(0, i);
      job.task(i).transport.set_room(1000);
      job.task(i).epoch_of_peers = 1;
    }
    job.task(1).host.on_header = [&](const ArrivedMessage&) {
      return HeaderVerdict{Delivery::deliver, CompletionStyle::thread, there.data(), nullptr, nullptr};
    };
    job.start();
    int begun = 0, arrived = 0;
    while (begun < share && job[0].load(1).copies == 0) {
      ASSERT_EQ(job[0].put({1, address(&words), &word, sizeof(word), 0, 0, 0}), Submit::accepted);
      job[0].progress();
      ++begun;
    }
    if (counting) {
      share = begun - 1;  // the last one found no buffer
      continue;
    }
    ASSERT_EQ(job[0].load(1).copies, 0u);
    ASSERT_EQ(job[0].active_message({1, 1, header.data(), 200, data.data(), data.size(), address(&arrived), 0, 0}),
              Submit::accepted);
    for (int step = 0; step < 200; ++step) {
      job[step % 2].progress();
      job.clock.advance(kMillisecond);
    }
    EXPECT_EQ(arrived, 1);
    EXPECT_EQ(there, data);
  }
}

}  // namespace
}  // namespace openlapi
