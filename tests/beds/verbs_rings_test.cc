// Short packets through rings in memory, on the devices of the soft-RoCE bed: who gets one, that a receiver can sleep,
// and that nothing is written where a ring has gone.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/beds/verbs_engine.h"

namespace openlapi::test {
namespace {

constexpr std::uint64_t kKnock = 1;  // the number in packets that connect

// Transports that ask for connections at once, and for rings soon.
class WithRings {
 public:
  explicit WithRings(std::uint32_t most = 16) {
    bed_connects_after = 1;
    bed_changes = [most](VerbsConfig& config) {
      config.connection_limits.rings = verbs::Rings::always;
      config.connection_limits.most_rings = most;
    };
  }
  ~WithRings() {
    bed_connects_after = 0;
    bed_changes = nullptr;
  }
};

std::uint64_t written_by(const VerbsTransport& transport) {
  return transport.connections()->counters().packets_written;
}

const verbs::ArrivalRingCounters& rings_of(const VerbsTransport& transport) {
  return transport.connections()->served().rings()->counters();
}

// Sends until a packet has gone through a ring.
bool gets_ring(VerbsTransport& from, PeerIndex to, VerbsTransport& at) {
  const std::uint64_t before = written_by(from);
  return wait_for([&] {
    send_number(from, to, kKnock);
    empty(at);
    empty(from);
    return written_by(from) > before;
  });
}

void exchange_numbers(VerbsTransport& from, PeerIndex to, VerbsTransport& at, std::uint64_t first,
                      std::uint64_t count) {
  for (std::uint64_t number = first; number < first + count; ++number) {
    ASSERT_TRUE(wait_for([&] { return send_number(from, to, number, 8 + number % 105) == 1; }));
    std::uint64_t arrived = kKnock;
    while (arrived == kKnock) arrived = receive_number(at);
    ASSERT_EQ(arrived, number);
  }
}

TEST(VerbsRings, ABusyPeerWritesItsShortPackets) {
  const WithRings rings;
  VerbsPair pair;
  ASSERT_TRUE(gets_ring(*pair.left, 1, *pair.right));
  const std::uint64_t before = written_by(*pair.left);
  exchange_numbers(*pair.left, 1, *pair.right, 1000, 1000);
  EXPECT_EQ(written_by(*pair.left), before + 1000);
  EXPECT_EQ(rings_of(*pair.right).packets, written_by(*pair.left));
  EXPECT_EQ(written_by(*pair.right), 0u) << "one way";
  EXPECT_EQ(pair.left->connections()->counters().connections_broken, 0u);
}

TEST(VerbsRings, AFullRingIsPassedByAndLosesNothing) {
  const WithRings rings;
  VerbsPair pair;
  ASSERT_TRUE(gets_ring(*pair.left, 1, *pair.right));
  ASSERT_TRUE(wait_for([&] { return empty(*pair.right) == 0; }));
  const std::uint64_t before = written_by(*pair.left);
  constexpr std::uint64_t kPackets = 60;
  for (std::uint64_t number = 0; number < kPackets; ++number) {
    ASSERT_TRUE(wait_for([&] { return send_number(*pair.left, 1, 100 + number) == 1; }));
  }
  EXPECT_LE(written_by(*pair.left) - before, verbs::kRingSlots);
  std::vector<bool> here(kPackets);
  for (std::uint64_t count = 0; count < kPackets; ++count) {
    std::uint64_t number = kKnock;
    while (number == kKnock) number = receive_number(*pair.right);
    ASSERT_TRUE(number >= 100 && number < 100 + kPackets && !here[number - 100]) << number;
    here[number - 100] = true;
  }
  exchange_numbers(*pair.left, 1, *pair.right, 1000, 100);
}

// The sender is told of free slots often, without a look in between that finds nothing. (The pauses let packets gather;
// without them the test would be weaker.)
TEST(VerbsRings, AStreamIsWrittenThoughItsReceiverIsNeverIdle) {
  const WithRings rings;
  VerbsPair pair;
  ASSERT_TRUE(gets_ring(*pair.left, 1, *pair.right));
  ASSERT_TRUE(wait_for([&] { return empty(*pair.right) == 0; }));
  const std::uint64_t before = written_by(*pair.left);
  std::vector<IncomingPacket> packets(16);
  for (int lap = 0; lap < 40; ++lap) {
    for (std::uint64_t number = 0; number < 16; ++number) {
      ASSERT_TRUE(wait_for([&] { return send_number(*pair.left, 1, 100 + number) == 1; }));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (std::size_t count = 0; count < 16;) {
      const std::size_t some = pair.right->receive_burst(packets);
      pair.right->release(some);
      count += some;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GT(written_by(*pair.left) - before, 320u) << "of 640";
}

// Two, to whom `right` is peer 9; they are its peers 0 and 1.
void open_lefts(std::vector<VerbsPointer>& lefts, VerbsTransport& right) {
  std::string reason;
  for (PeerIndex i = 0; i < 2; ++i) {
    lefts.push_back(open_well("rxe0"));
    ASSERT_TRUE(added(*lefts[i], 9, right.local_address(), reason) &&
                added(right, i, lefts[i]->local_address(), reason));
  }
}

// Who fills its ring again and again does not keep others from being heard: the one in the next ring, and the one whose
// packet does not fit.
TEST(VerbsRings, AFullRingLeavesRoomForOthers) {
  const WithRings rings;
  const VerbsPointer right = open_well("rxe1");
  std::vector<VerbsPointer> lefts;
  ASSERT_NO_FATAL_FAILURE(open_lefts(lefts, *right));
  for (const VerbsPointer& left : lefts) ASSERT_TRUE(gets_ring(*left, 9, *right));
  ASSERT_TRUE(wait_for([&] { return empty(*right) == 0; }));
  for (std::size_t other = 0; other != 2; ++other) {
    bool heard = false;
    ASSERT_EQ(send_number(*lefts[1], 9, 77, other == 0 ? 64 : 512), 1u);
    std::vector<IncomingPacket> packets(16);
    for (int lap = 0; lap < 100 && !heard; ++lap) {
      for (int i = 0; i < (lap == 0 ? 24 : 16); ++i) send_number(*lefts[0], 9, kKnock);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const std::size_t count = right->receive_burst(packets);
      for (std::size_t i = 0; i < count; ++i) heard = heard || std::memcmp(packets[i].data, "\x4d", 2) == 0;
      right->release(count);
    }
    EXPECT_TRUE(heard) << (other == 0 ? "in its ring" : "through its connection");
    ASSERT_TRUE(wait_for([&] { return empty(*right) == 0; }));
  }
}

// What has been copied out waits for the engine, and rings are not emptied beyond that.
TEST(VerbsRings, HeldPacketsStayAsTheyAre) {
  const WithRings rings;
  VerbsPair pair;
  ASSERT_TRUE(gets_ring(*pair.left, 1, *pair.right));
  ASSERT_TRUE(wait_for([&] { return empty(*pair.right) == 0; }));
  std::vector<IncomingPacket> held(400);
  std::size_t count = 0;
  for (std::uint64_t number = 0; number < 200; ++number) {
    ASSERT_TRUE(wait_for([&] {
      count += pair.right->receive_burst(std::span(held).subspan(count, 16));
      return send_number(*pair.left, 1, 100 + number) == 1;
    }));
  }
  ASSERT_TRUE(wait_for([&] {
    count += pair.right->receive_burst(std::span(held).subspan(count, 16));
    return count > 128;
  }));
  std::vector<bool> here(200);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t number = 0;
    std::memcpy(&number, held[i].data, sizeof number);
    if (number == kKnock) continue;
    ASSERT_TRUE(number >= 100 && number < 300 && !here[number - 100]);
    here[number - 100] = true;
  }
  pair.right->release(count);
  empty(*pair.right);
  exchange_numbers(*pair.left, 1, *pair.right, 1000, 100);
}

TEST(VerbsRings, OfManySendersTheLeastUsedGivesItsRingBack) {
  const WithRings rings(1);
  const VerbsPointer right = open_well("rxe1");
  std::vector<VerbsPointer> lefts;
  ASSERT_NO_FATAL_FAILURE(open_lefts(lefts, *right));
  ASSERT_TRUE(gets_ring(*lefts[0], 9, *right));
  for (int i = 0; i < 200; ++i) {
    send_number(*lefts[1], 9, kKnock);
    empty(*right);
    empty(*lefts[1]);
    exchange_numbers(*lefts[0], 9, *right, 100, 2);
  }
  EXPECT_EQ(written_by(*lefts[1]), 0u) << "it is in use";
  EXPECT_EQ(rings_of(*right).given_back, 0u);
  EXPECT_TRUE(gets_ring(*lefts[1], 9, *right)) << "the other one is idle";
  EXPECT_EQ(rings_of(*right).given_back, 1u);
  EXPECT_EQ(right->connections()->served().rings()->count(), 1u);
  const std::uint64_t before = written_by(*lefts[0]);
  exchange_numbers(*lefts[0], 9, *right, 1000, 20);
  EXPECT_EQ(written_by(*lefts[0]), before) << "as sends";
}

// As a sleeper of the poller does.
bool sleep_for_packet(VerbsTransport& transport, IncomingPacket& packet) {
  WakeSource& wake = *transport.capabilities().wake_source;
  do {
    if (!wake.arm()) continue;
    pollfd waiting{wake.descriptor(), POLLIN, 0};
    const int ready = poll(&waiting, 1, 30'000);
    wake.disarm();
    if (ready == 0) return false;
  } while (transport.receive_burst({&packet, 1}) == 0);
  return true;
}

unsigned laps() {
  const char* const wanted = std::getenv("OPENLAPI_TEST_LAPS");
  return wanted != nullptr ? static_cast<unsigned>(std::atoi(wanted)) : 1500;
}

// In each lap the sender opens the ring with packets that the receiver takes as they come, and then sends one at a
// random moment around the one at which the receiver closes the ring and sleeps. After that it does nothing: it does
// not look at its transport until the receiver says that the packet has come.
TEST(VerbsRings, NoWakeUpIsLost) {
  const WithRings rings;
  VerbsPair pair;
  ASSERT_TRUE(gets_ring(*pair.left, 1, *pair.right));
  ASSERT_TRUE(wait_for([&] { return empty(*pair.right) == 0; }));
  std::atomic<std::uint64_t> ready{0}, taken{0};
  std::atomic<bool> failed{false};
  const unsigned most = laps();
  std::thread sender([&] {
    std::mt19937 random(11);
    for (unsigned lap = 1; lap <= most && !failed; ++lap) {
      for (int i = 0; i < 24; ++i) {
        while (send_number(*pair.left, 1, kKnock) == 0) empty(*pair.left);
      }
      while (ready.load() < lap && !failed) std::this_thread::yield();
      for (unsigned pause = random() % 4000; pause != 0; --pause) asm volatile("");
      if (send_number(*pair.left, 1, 100 + lap) == 0) failed = true;
      while (taken.load() < lap && !failed) std::this_thread::yield();
      empty(*pair.left);
    }
  });
  std::uint64_t through_ring = 0;
  for (unsigned lap = 1; lap <= most && !failed; ++lap) {
    IncomingPacket packet;
    std::size_t knocks = 0;
    failed = !wait_for([&] {
      const std::size_t count = pair.right->receive_burst({&packet, 1});
      pair.right->release(count);
      knocks += count;
      return knocks >= 24;
    });
    EXPECT_FALSE(failed) << "lap " << lap << ": " << knocks << " packets";
    const std::uint64_t before = rings_of(*pair.right).packets;
    ready.store(lap);
    std::uint64_t number = kKnock;
    while (number == kKnock && !failed) {  // a datagram may come late
      failed = !sleep_for_packet(*pair.right, packet);
      if (failed) break;
      std::memcpy(&number, packet.data, sizeof number);
      pair.right->release(1);
    }
    EXPECT_EQ(number, 100 + lap) << "lap " << lap;
    through_ring += rings_of(*pair.right).packets - before;
    taken.store(lap);
  }
  sender.join();
  EXPECT_FALSE(failed);
  EXPECT_GT(rings_of(*pair.right).closings, most / 2);
  EXPECT_GT(rings_of(*pair.right).openings, most / 2);
  RecordProperty("through_ring", std::to_string(through_ring));
  std::printf("%u laps: %llu of the last packets came through the ring\n", most,
              static_cast<unsigned long long>(through_ring));
}

// A peer that is purged and resumed is added anew: its connection is stopped while the sender writes.
TEST(VerbsRings, GoWithTheirConnectionWhileTheSenderWrites) {
  const WithRings rings;
  VerbsPair pair;
  std::string reason;
  for (std::uint64_t lap = 0; lap < 20; ++lap) {
    ASSERT_TRUE(gets_ring(*pair.left, 1, *pair.right)) << lap;
    for (int i = 0; i < 20; ++i) send_number(*pair.left, 1, kKnock);
    ASSERT_TRUE(added(*pair.right, 0, pair.left->local_address(), reason)) << reason;
    EXPECT_EQ(pair.right->connections()->served().rings()->count(), 0u);
    for (int i = 0; i < 40; ++i) send_number(*pair.left, 1, kKnock);
    empty(*pair.right);
    ASSERT_TRUE(added(*pair.left, 1, pair.right->local_address(), reason)) << reason;
    ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 100 + lap)) << "as a datagram";
  }
  EXPECT_TRUE(gets_ring(*pair.left, 1, *pair.right));
  exchange_numbers(*pair.left, 1, *pair.right, 1000, 100);
}

void break_queue_pair(ibv_qp* queue_pair) {
  ASSERT_NE(queue_pair, nullptr);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(queue_pair, &attributes, IBV_QP_STATE), 0);
}

// Its sender is gone, so nothing can come; it must not keep the receiver awake.
TEST(VerbsRings, ABrokenConnectionLetsItsReceiverSleep) {
  const WithRings rings;
  VerbsPair pair;
  ASSERT_TRUE(gets_ring(*pair.left, 1, *pair.right));
  break_queue_pair(pair.left->connections()->queue_pair_to(1));
  WakeSource& wake = *pair.right->capabilities().wake_source;
  EXPECT_TRUE(wait_for([&] { return empty(*pair.right), wake.arm(); }, 60));
  wake.disarm();
  EXPECT_TRUE(gets_ring(*pair.left, 1, *pair.right)) << "another one";
}

// While one exists, the next RDMA WRITE of the queue pair's adapter is not posted, as if the sender had been stopped
// before it, or its first byte is another one, as if the slot had not become whole.
class SpoiltWrite {
 public:
  enum class Fault { not_posted, wrong_byte };

  SpoiltWrite(ibv_qp& queue_pair, Fault fault) : context_(*queue_pair.context) {
    own_ = context_.ops.post_send;
    fault_ = fault;
    spoilt_ = false;
    context_.ops.post_send = post_send;
  }
  ~SpoiltWrite() { context_.ops.post_send = own_; }
  SpoiltWrite(const SpoiltWrite&) = delete;
  SpoiltWrite& operator=(const SpoiltWrite&) = delete;

 private:
  static int post_send(ibv_qp* queue_pair, ibv_send_wr* request, ibv_send_wr** refused) {
    if (request->opcode == IBV_WR_RDMA_WRITE && !std::exchange(spoilt_, true)) {
      if (fault_ == Fault::not_posted) return 0;
      *reinterpret_cast<unsigned char*>(request->sg_list[0].addr) ^= 1;
    }
    return own_(queue_pair, request, refused);
  }

  ibv_context& context_;
  static inline decltype(ibv_context_ops::post_send) own_ = nullptr;
  static inline Fault fault_ = Fault::not_posted;
  static inline bool spoilt_ = false;
};

TEST(VerbsRings, APacketThatNeverComesDoesNotKeepItsReceiverAwake) {
  for (const auto fault : {SpoiltWrite::Fault::not_posted, SpoiltWrite::Fault::wrong_byte}) {
    const WithRings rings;
    VerbsPair pair;
    ASSERT_TRUE(gets_ring(*pair.left, 1, *pair.right));
    ASSERT_TRUE(wait_for([&] { return empty(*pair.right) == 0; }));
    const std::uint64_t before = written_by(*pair.left), taken = rings_of(*pair.right).packets;
    {
      const SpoiltWrite spoilt(*pair.left->connections()->queue_pair_to(1), fault);
      ASSERT_EQ(send_number(*pair.left, 1, 100), 1u);
    }
    ASSERT_EQ(written_by(*pair.left), before + 1);
    WakeSource& wake = *pair.right->capabilities().wake_source;
    EXPECT_TRUE(wait_for([&] { return empty(*pair.right), wake.arm(); }, 60));
    wake.disarm();
    EXPECT_EQ(rings_of(*pair.right).given_up, 1u);
    EXPECT_EQ(rings_of(*pair.right).packets, taken) << "nothing that is not whole";
    ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 200));
    EXPECT_TRUE(gets_ring(*pair.left, 1, *pair.right)) << "of another connection";
    exchange_numbers(*pair.left, 1, *pair.right, 1000, 50);
  }
}

class VerbsWrittenEngine : public VerbsEngine {
 protected:
  const WithRings rings_;
};

TEST_F(VerbsWrittenEngine, MessagesOfManyLengthsArrive) {
  start();
  exchange(500, [](std::uint32_t) {});
  EXPECT_GT(written_by(transport(0)) + written_by(transport(1)), 100u);
}

TEST_F(VerbsWrittenEngine, MessagesArriveThoughConnectionsBreak) {
  start();
  exchange(300, [&](std::uint32_t number) {
    ibv_qp* const queue_pair = transport(number / 20 % 2).connections()->queue_pair_to(1 - number / 20 % 2);
    if (number % 20 == 10 && queue_pair != nullptr) break_queue_pair(queue_pair);
  });
  EXPECT_GT(written_by(transport(0)) + written_by(transport(1)), 20u);
}

TEST_F(VerbsWrittenEngine, MessagesArriveThoughTheInterfaceWasDown) {
  start();
  exchange_while_an_interface_is_down();
}

}  // namespace
}  // namespace openlapi::test
