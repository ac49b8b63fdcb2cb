// Connections that others send through go while packets arrive, with a provider of mlx5's habits over soft-RoCE: no
// slot of the shared receive queue is lost with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/beds/verbs_engine.h"
#include "tests/beds/verbs_provider.h"

namespace openlapi::test {
namespace {

constexpr ProviderHabits kLikeMlx5{.cleans_completions = true, .tells_last_request = true};
constexpr std::size_t kUnseen = 60;  // packets: more than the transport takes at one look

// One that receives through `2 * connections` connections, and others with short queues that send to it.
class VerbsServed : public testing::Test {
 protected:
  VerbsServed() : habits_(kLikeMlx5) {}

  void start(std::uint32_t connections, PeerIndex senders) {
    receiver_ = open("rxe1", connections, 512);
    ASSERT_NE(receiver_, nullptr);
    std::string reason;
    for (PeerIndex i = 0; i < senders; ++i) {
      senders_.push_back(open("rxe0", 1, 64));
      ASSERT_NE(senders_.back(), nullptr);
      ASSERT_TRUE(added(*senders_[i], 0, receiver_->local_address(), reason)) << reason;
      ASSERT_TRUE(added(*receiver_, i, senders_[i]->local_address(), reason)) << reason;
    }
  }

  static VerbsPointer open(const char* device, std::uint32_t connections, std::uint32_t slots) {
    VerbsConfig config;
    config.port.device = device;
    config.mtu = 1024;
    config.receive_slots = config.send_slots = slots;
    config.connections = true;
    config.connection_limits = {.connections = connections, .packets_before_asking = 1};
    VerbsSetupError error;
    VerbsPointer transport = open_verbs_transport(config, error);
    EXPECT_NE(transport, nullptr) << error.text;
    return transport;
  }

  const verbs::PacketConnections& received() const { return *receiver_->connections(); }
  ibv_cq& arrivals() { return *receiver_->queue_pair()->recv_cq; }
  bool is_connected(PeerIndex sender) { return senders_[sender]->connections()->queue_pair_to(0) != nullptr; }

  bool connect(PeerIndex sender) {
    return wait_for([&] {
      if (!is_connected(sender)) send_number(*senders_[sender], 0, 1);
      empty(*receiver_);
      empty(*senders_[sender]);
      return is_connected(sender);
    });
  }

  std::size_t waiting(unsigned flag = 0) {
    const std::vector<ibv_wc> all = waiting_completions(arrivals());
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const ibv_wc& one) { return flag == 0 || (one.wc_flags & flag) != 0; }));
  }

  // Through its connection: they have arrived, and nobody has looked at them.
  void send_unseen(PeerIndex sender, std::size_t count) {
    const std::size_t before = waiting();
    ASSERT_TRUE(is_connected(sender));
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(send_number(*senders_[sender], 0, 2), 1u);
    ASSERT_TRUE(wait_for([&] { return empty(*senders_[sender]), waiting() >= before + count; }));
  }

  // `newcomer` asks for a connection; the idlest one, the victim's, has to leave, while its packets wait behind that.
  void push_out(PeerIndex victim, PeerIndex newcomer) {
    ASSERT_TRUE(wait_for([&] { return empty(*receiver_) == 0 && received().served().retiring() == 0; }));
    ASSERT_TRUE(wait_for([&] {
      send_number(*senders_[newcomer], 0, 3);
      return waiting(IBV_WC_WITH_IMM) != 0;
    })) << "it asks";
    send_unseen(victim, kUnseen);
    ASSERT_TRUE(connect(newcomer)) << newcomer;
    ASSERT_TRUE(wait_for([&] { return empty(*senders_[victim]), empty(*receiver_), !is_connected(victim); }))
        << victim << " is told";
  }

  void expect_every_slot() {
    ASSERT_TRUE(wait_for([&] { return empty(*receiver_) == 0 && received().served().retiring() == 0; }));
    ASSERT_TRUE(wait_for([&] { return empty(*receiver_) == 0; }));
    const verbs::ReceiveRing& ring = received().receives();
    EXPECT_EQ(ring.posted() + ring.idle(), 512u) << "none is held";
    EXPECT_EQ(slots_of_adapter(*receiver_->queue_pair()->context), static_cast<std::int64_t>(ring.posted()));
    EXPECT_EQ(swallowed_slots(), swallowed_);
    EXPECT_EQ(early_ends(), early_ends_);
  }

  const Habits habits_;
  VerbsPointer receiver_;
  std::vector<VerbsPointer> senders_;
  const std::uint64_t swallowed_ = swallowed_slots(), early_ends_ = early_ends();
};

TEST_F(VerbsServed, TheOneThatIsUsedLeastLeaves) {
  start(1, 3);
  ASSERT_TRUE(connect(0) && connect(1));
  send_unseen(0, 1);
  ASSERT_TRUE(wait_for([&] { return empty(*receiver_) != 0; }));
  ASSERT_TRUE(connect(2));
  EXPECT_TRUE(wait_for([&] { return empty(*senders_[1]), !is_connected(1); })) << "nothing has come through it";
  EXPECT_TRUE(is_connected(0)) << "the oldest, but it is used";
  EXPECT_EQ(received().served().count(), 2u);
}

// Thirty times, each of which would lose at least 28 of 512 slots.
TEST_F(VerbsServed, OneThatLeavesTakesNoSlotsAlong) {
  start(1, 3);
  ASSERT_TRUE(connect(0) && connect(1));
  for (PeerIndex lap = 0; lap < 30; ++lap) ASSERT_NO_FATAL_FAILURE(push_out(lap % 3, (lap + 2) % 3)) << lap;
  expect_every_slot();
  EXPECT_GE(received().counters().packets_received, 30 * kUnseen);
}

TEST_F(VerbsServed, ItStaysUntilTheAdapterIsDoneWithItsLastSlot) {
  provider_habits.completes_late = provider_habits.holds_events = true;
  start(1, 3);
  ASSERT_TRUE(connect(0) && connect(1));
  push_out(0, 2);
  for (int look = 0; look < 1000; ++look) empty(*receiver_);
  EXPECT_EQ(received().served().retiring(), 1u);
  EXPECT_LT(received().counters().packets_received, kUnseen);
  provider_habits.holds_events = false;
  expect_every_slot();
  EXPECT_EQ(received().counters().packets_received, kUnseen) << "what had arrived is handed out";
}

// Each look of the receiver's finds a packet.
TEST_F(VerbsServed, ItGoesUnderConstantLoadToo) {
  start(1, 3);
  ASSERT_TRUE(connect(0) && connect(1));
  provider_habits.holds_events = true;
  push_out(0, 2);
  ASSERT_EQ(received().served().retiring(), 1u);
  provider_habits.holds_events = false;
  for (int packet = 0; packet < 1000 && received().served().retiring() != 0; ++packet) {
    ASSERT_NO_FATAL_FAILURE(send_unseen(2, 1));
    IncomingPacket arrived;
    ASSERT_EQ(receiver_->receive_burst({&arrived, 1}), 1u);
    receiver_->release(1);
  }
  EXPECT_EQ(received().served().retiring(), 0u);
  expect_every_slot();
}

TEST_F(VerbsServed, WhileItStaysNobodySleeps) {
  provider_habits.tells_last_request = false;
  start(1, 3);
  ASSERT_TRUE(connect(0) && connect(1));
  push_out(0, 2);
  EXPECT_TRUE(wait_for([&] { return empty(*receiver_), receiver_->capabilities().wake_source->arm(); }));
  EXPECT_EQ(received().served().retiring(), 0u) << "nothing would end the sleep";
  expect_every_slot();
}

TEST_F(VerbsServed, AnAdapterThatTellsNothingIsGivenTime) {
  provider_habits.tells_last_request = false;
  start(1, 3);
  ASSERT_TRUE(connect(0) && connect(1));
  push_out(0, 2);
  EXPECT_EQ(received().served().retiring(), 1u);
  expect_every_slot();
}

// The datagrams' queue pair is found broken by a send, as of an answer, while packets of connections that were taken
// from the completion queue together are handed out one after the other.
TEST_F(VerbsServed, ASendThatRecoversTheDatagramsLosesNoSlots) {
  start(1, 1);
  ASSERT_TRUE(connect(0));
  ASSERT_TRUE(wait_for([&] { return empty(*receiver_) == 0; }));
  send_unseen(0, 30);
  IncomingPacket first;
  ASSERT_EQ(receiver_->receive_burst({&first, 1}), 1u);
  receiver_->release(1);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(receiver_->queue_pair(), &attributes, IBV_QP_STATE), 0);
  ASSERT_TRUE(wait_for([&] {
    send_number(*receiver_, 0, 4);
    return receiver_->verbs_counters().recoveries != 0;
  }));
  expect_every_slot();
}

// As many as a task of a usual job has, and two more, in turn.
TEST_F(VerbsServed, AHundredAndThirtySendersInTurnLeaveEverySlot) {
  constexpr PeerIndex kSenders = 130, kServed = 128;
  start(kServed / 2, kSenders);
  for (PeerIndex i = 0; i < kServed; ++i) ASSERT_TRUE(connect(i)) << i;
  expect_every_slot();
  for (PeerIndex i = kServed; i < kServed + kSenders; ++i) {
    ASSERT_NO_FATAL_FAILURE(push_out((i - kServed) % kSenders, i % kSenders)) << i;
    if (i % 32 == 0) expect_every_slot();
  }
  expect_every_slot();
  EXPECT_EQ(received().served().count(), kServed);
}

// Two more tasks that are no part of the job take the places of task 0's connection to task 1 again and again.
class VerbsEvictedEngine : public VerbsEngine {
 protected:
  VerbsEvictedEngine() : habits_(kLikeMlx5) {
    bed_connects_after = 1;
    bed_connections = 1;
  }
  ~VerbsEvictedEngine() override {
    bed_connects_after = 0;
    bed_connections = 64;
  }
  const Habits habits_;
};

TEST_F(VerbsEvictedEngine, NothingIsLostOrDoubledWhenServedConnectionsGo) {
  const std::uint64_t swallowed = swallowed_slots();
  start();
  std::vector<VerbsPointer> others;
  std::string reason;
  for (PeerIndex i = 0; i < 2; ++i) {
    others.push_back(open_well("rxe0"));
    ASSERT_TRUE(added(*others[i], 0, transport(1).local_address(), reason)) << reason;
    ASSERT_TRUE(added(transport(1), 2 + i, others[i]->local_address(), reason)) << reason;
  }
  const auto& counters = transport(0).connections()->counters();
  const auto push_out = [&](std::uint32_t number) {
    if (number % 10 != 0) return;
    for (const VerbsPointer& other : others) empty(*other);
    // What one sends makes task 0's connection the idlest one when the other asks.
    if (others[0]->connections()->queue_pair_to(0) == nullptr) std::swap(others[0], others[1]);
    for (const VerbsPointer& other : others) {
      for (int i = 0; i < 40; ++i) send_number(*other, 0, 5);
    }
  };
  for (int lap = 0; lap < 30 && counters.connections_made < 4; ++lap) exchange(100, push_out);
  EXPECT_GT(counters.connections_closed, 1u);
  EXPECT_EQ(counters.connections_made, 4u) << "and it connects anew";
  EXPECT_EQ(swallowed_slots(), swallowed);
}

}  // namespace
}  // namespace openlapi::test
