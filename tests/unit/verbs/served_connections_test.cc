#include "nic/verbs/served_connections.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace {

// What these tests need of an adapter, in the place of libibverbs.
struct FakeAdapter {
  std::uint32_t next_number = 17;
  std::set<const ibv_qp*> alive;
  std::map<const ibv_qp*, ibv_qp_state> states;
  std::vector<ibv_qp_state> last_states;  // of those that were destroyed, at their end
  std::deque<ibv_async_event> events;
  int unacknowledged = 0;
  bool refuses = false;
  int modify_error = 0;
  ibv_context* context = nullptr;                           // of queue pairs
  std::deque<std::uint64_t> done;                           // numbers of requests, which are carried out at once
  std::map<std::uint64_t, openlapi::verbs::RingNews> news;  // the latest, by the address that it was written to

  void tell_last(ibv_qp* queue_pair) {
    ibv_async_event event{};
    event.event_type = IBV_EVENT_QP_LAST_WQE_REACHED;
    event.element.qp = queue_pair;
    events.push_back(event);
  }
};

FakeAdapter* adapter = nullptr;

// Nobody has ever written a packet, and so what is read are zeroes.
int post_send(ibv_qp*, ibv_send_wr* request, ibv_send_wr**) {
  adapter->done.push_back(request->wr_id);
  if (request->opcode == IBV_WR_RDMA_WRITE) {
    std::memcpy(&adapter->news[request->wr.rdma.remote_addr], reinterpret_cast<void*>(request->sg_list->addr),
                sizeof(openlapi::verbs::RingNews));
  }
  return 0;
}

int poll_completions(ibv_cq*, int most, ibv_wc* completions) {
  int count = 0;
  for (; count < most && !adapter->done.empty(); ++count) {
    completions[count] = {};
    completions[count].wr_id = adapter->done.front();
    adapter->done.pop_front();
  }
  return count;
}

}  // namespace

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd*, ibv_qp_init_attr*) {
  if (adapter->refuses) {
    errno = ENOMEM;
    return nullptr;
  }
  auto* const made = new ibv_qp{};
  made->qp_num = adapter->next_number++;
  made->context = adapter->context;
  adapter->alive.insert(made);
  return made;
}

int ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int) {
  if (adapter->modify_error != 0) return adapter->modify_error;
  adapter->states[queue_pair] = attributes->qp_state;
  return 0;
}

int ibv_destroy_qp(ibv_qp* queue_pair) {
  EXPECT_EQ(adapter->unacknowledged, 0);
  EXPECT_EQ(adapter->alive.erase(queue_pair), 1u);
  adapter->last_states.push_back(adapter->states[queue_pair]);
  delete queue_pair;
  return 0;
}

int ibv_get_async_event(ibv_context*, ibv_async_event* event) {
  if (adapter->events.empty()) return errno = EAGAIN, -1;
  *event = adapter->events.front();
  adapter->events.pop_front();
  ++adapter->unacknowledged;
  return 0;
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned) { return new ibv_mr{}; }

int ibv_dereg_mr(ibv_mr* region) {
  delete region;
  return 0;
}

void ibv_ack_async_event(ibv_async_event*) { --adapter->unacknowledged; }

}  // extern "C"

namespace openlapi::verbs {
namespace {

using Kind = ConnectionMessage::Kind;

class FakePath final : public ConnectionPath {
 public:
  const Address& own_address() const override { return own_; }
  const Address* address_of(PeerIndex) const override { return &own_; }
  ibv_ah_attr route_to_address(const Address&) const override { return {}; }
  void send_message(PeerIndex peer, const ConnectionMessage& message) override { said.push_back({peer, message}); }

  struct Said {
    PeerIndex peer;
    ConnectionMessage message;
  };
  std::vector<Said> said;

 private:
  Address own_;
};

class ServedConnectionsTest : public testing::Test {
 protected:
  ServedConnectionsTest() {
    adapter = &adapter_;
    context_.ops.post_send = post_send;
    context_.ops.poll_cq = poll_completions;
    adapter_.context = completions_.context = &context_;
  }
  ~ServedConnectionsTest() override { EXPECT_TRUE(adapter_.alive.empty()); }

  void ask(ServedConnections& served, PeerIndex peer, std::uint64_t connection) {
    served.requested(peer, {.kind = Kind::request, .reads = 1, .connection = connection, .address = {}});
  }

  // For one behind a connection; the sender's words lie at the address. Whether it is granted, and where.
  RingPlace ask_for_ring(ServedConnections& served, PeerIndex peer, std::uint8_t ring, std::uint64_t control) {
    served.ring_requested(peer, {.kind = Kind::ring_request,
                                 .purpose = ConnectionMessage::Purpose::packets,
                                 .connection = 100 + peer,
                                 .address = {},
                                 .ring = ring,
                                 .place = {control, 7}});
    const ConnectionMessage& answer = path_.said.back().message;
    EXPECT_EQ(answer.kind, answer.place.address != 0 ? Kind::ring_grant : Kind::ring_refuse);
    EXPECT_EQ(answer.ring, ring);
    return answer.place;
  }

  // To the last one.
  void expect_said(PeerIndex peer, Kind kind, std::uint64_t connection, std::size_t before_last = 0) {
    ASSERT_GT(path_.said.size(), before_last);
    const FakePath::Said& said = path_.said[path_.said.size() - 1 - before_last];
    EXPECT_EQ(said.peer, peer);
    EXPECT_EQ(said.message.kind, kind);
    EXPECT_EQ(said.message.connection, connection);
  }

  std::uint32_t last_number() const { return path_.said.back().message.queue_pair; }

  ibv_qp* in_error_state() const {
    for (const auto& [queue_pair, state] : adapter_.states) {
      if (state == IBV_QPS_ERR && adapter_.alive.count(queue_pair) != 0) return const_cast<ibv_qp*>(queue_pair);
    }
    return nullptr;
  }

  FakeAdapter adapter_;
  FakePath path_;
  ibv_context context_{};
  ibv_cq completions_{};
  ibv_pd domain_{};
  ibv_srq shared_{};
  ReliableSetting packets_{.context = &context_,
                           .domain = &domain_,
                           .shared = &shared_,
                           .purpose = ConnectionMessage::Purpose::packets,
                           .inline_limit = InlineLimit(64)};
  ReliableSetting reads_{.context = &context_, .domain = &domain_};
};

TEST_F(ServedConnectionsTest, TheOneThatIsUsedLeastLeavesAndIsTold) {
  ServedConnections served(packets_, path_, 3);
  std::vector<std::uint32_t> numbers;
  for (PeerIndex peer = 0; peer < 3; ++peer) {
    ask(served, peer, 100 + peer);
    expect_said(peer, Kind::accept, 100 + peer);
    numbers.push_back(last_number());
  }
  served.used(numbers[0]);
  served.used(numbers[2]);
  ask(served, 3, 103);
  expect_said(1, Kind::close, 101, 1);
  expect_said(3, Kind::accept, 103);
  ask(served, 1, 201);
  expect_said(0, Kind::close, 100, 1);
  EXPECT_EQ(served.count(), 3u);
}

TEST_F(ServedConnectionsTest, OfThoseThatAreReadThroughTheOldestLeavesAtOnce) {
  ServedConnections served(reads_, path_, 2);
  for (PeerIndex peer = 0; peer < 3; ++peer) ask(served, peer, 100 + peer);
  expect_said(0, Kind::close, 100, 1);
  EXPECT_EQ(adapter_.alive.size(), 2u);
  EXPECT_EQ(served.retiring(), 0u);
}

TEST_F(ServedConnectionsTest, OneThatArrivalsMayWaitForGoesWhenTheAdapterIsDoneAndTheyAreTaken) {
  ServedConnections served(packets_, path_, 1);
  ask(served, 0, 100);
  ask(served, 1, 101);
  EXPECT_EQ(served.retiring(), 1u);
  ibv_qp* const leaving = in_error_state();
  ASSERT_NE(leaving, nullptr);
  for (int i = 0; i < 10; ++i) served.retire(true);
  EXPECT_EQ(served.retiring(), 1u) << "the adapter is not done";
  adapter_.tell_last(leaving);
  served.retire(true);
  EXPECT_EQ(served.retiring(), 1u) << "arrivals may have come since they were taken";
  for (int i = 0; i < 10; ++i) served.retire(false);
  EXPECT_EQ(served.retiring(), 1u) << "not all were taken";
  served.retire(true);
  EXPECT_EQ(served.retiring(), 0u);
  EXPECT_EQ(adapter_.alive.size(), 1u);
  EXPECT_EQ(adapter_.last_states, std::vector{IBV_QPS_ERR});
}

TEST_F(ServedConnectionsTest, APeerThatClosesOrAsksAnewOrGoesLeavesItsOwnBehind) {
  ServedConnections served(packets_, path_, 8);
  ask(served, 0, 100);
  served.closed(0, 99);
  served.closed(1, 100);
  EXPECT_EQ(served.count(), 1u) << "not this one";
  served.closed(0, 100);
  EXPECT_EQ(served.retiring(), 1u);
  ask(served, 1, 101);
  const std::uint32_t number = last_number();
  ask(served, 1, 101);
  EXPECT_EQ(last_number(), number) << "its answer was lost";
  ask(served, 1, 102);
  EXPECT_NE(last_number(), number);
  EXPECT_EQ(served.retiring(), 2u);
  served.forget(1);
  EXPECT_EQ(served.count(), 0u);
  EXPECT_EQ(served.retiring(), 3u);
}

TEST_F(ServedConnectionsTest, WhoAsksWhileTooManyAreLeavingIsRefused) {
  constexpr PeerIndex kMost = RetiringQueuePairs::kMost;
  ServedConnections served(packets_, path_, 2);
  for (PeerIndex peer = 0; peer < 2 + kMost; ++peer) ask(served, peer, 100 + peer);
  EXPECT_EQ(served.retiring(), kMost);
  ask(served, 4, 1000);
  expect_said(4, Kind::refuse, 1000);
  EXPECT_EQ(served.count(), 2u) << "nobody leaves for it";
  adapter_.tell_last(in_error_state());
  served.retire(true);
  served.retire(true);
  ask(served, 4, 1001);
  expect_said(4, Kind::accept, 1001);
}

TEST_F(ServedConnectionsTest, AnAdapterWithoutRoomRefuses) {
  ServedConnections served(packets_, path_, 2);
  adapter_.refuses = true;
  ask(served, 0, 100);
  expect_said(0, Kind::refuse, 100);
  EXPECT_EQ(served.count(), 0u);
}

TEST_F(ServedConnectionsTest, OneWhoseAdapterTellsNothingGoesAfterAWhile) {
  constexpr std::uint64_t kEnd = 1000 + RetiringQueuePairs::kLongestWait;
  RetiringQueuePairs retiring;
  EXPECT_FALSE(retiring.want_looks());
  retiring.add(ReliableQueuePair::make(packets_), 1000);
  EXPECT_TRUE(retiring.want_looks()) << "nothing would wake who sleeps";
  for (const std::uint64_t now : {kEnd - 1, kEnd}) {
    retiring.keep_time(now);
    EXPECT_EQ(retiring.count(), 1u);
    if (now < kEnd) retiring.arrivals_were_taken();
    EXPECT_EQ(retiring.count(), 1u);
  }
  EXPECT_TRUE(retiring.want_looks());
  retiring.arrivals_were_taken();
  EXPECT_EQ(retiring.count(), 0u);
  EXPECT_FALSE(retiring.want_looks());
}

TEST_F(ServedConnectionsTest, WhileOneRetiresNobodySleeps) {
  ServedConnections served(packets_, path_, 1);
  ask(served, 0, 100);
  EXPECT_FALSE(served.want_looks());
  ask(served, 1, 101);
  EXPECT_TRUE(served.want_looks());
  adapter_.tell_last(in_error_state());
  served.retire(true);
  EXPECT_TRUE(served.want_looks());
  served.retire(true);
  EXPECT_FALSE(served.want_looks());
}

TEST_F(ServedConnectionsTest, EventsOfOthersAreTaken) {
  ServedConnections served(packets_, path_, 1);
  ask(served, 0, 100);
  ask(served, 1, 101);
  adapter_.events.push_back({});
  adapter_.events.back().event_type = IBV_EVENT_PORT_ACTIVE;
  adapter_.tell_last(in_error_state());
  served.retire(true);
  EXPECT_TRUE(adapter_.events.empty());
  served.retire(true);
  EXPECT_EQ(served.retiring(), 0u);
}

TEST_F(ServedConnectionsTest, WhatWasToldOfOneThatIsStillServedCountsWhenItLeaves) {
  ServedConnections served(packets_, path_, 2);
  ask(served, 0, 100);
  ibv_qp* const failed = const_cast<ibv_qp*>(*adapter_.alive.begin());
  ask(served, 1, 101);
  served.closed(1, 101);
  ibv_qp* const leaving = in_error_state();
  ASSERT_NE(leaving, failed);
  adapter_.tell_last(failed);
  adapter_.tell_last(leaving);
  served.retire(true);
  served.retire(true);
  EXPECT_EQ(served.retiring(), 0u);
  EXPECT_EQ(served.count(), 1u);
  served.closed(0, 100);
  EXPECT_EQ(served.retiring(), 1u) << "arrivals may not have been taken";
  served.retire(true);
  EXPECT_EQ(served.retiring(), 0u) << "the adapter does not tell it twice";
}

TEST_F(ServedConnectionsTest, OneThatTheAdapterDoesNotStopIsNotTakenAsStopped) {
  constexpr std::uint64_t kLater = 1000 + 2 * RetiringQueuePairs::kLongestWait;
  RetiringQueuePairs retiring;
  auto leaving = ReliableQueuePair::make(packets_);
  adapter_.modify_error = EAGAIN;
  EXPECT_EQ(leaving->stop(), EAGAIN);
  retiring.add(std::move(leaving), 1000);
  EXPECT_FALSE(retiring.want_looks()) << "there is nothing to wait for";
  for (int i = 0; i < 3; ++i) {
    retiring.keep_time(kLater);
    retiring.arrivals_were_taken();
  }
  EXPECT_EQ(retiring.count(), 1u);
  adapter_.modify_error = 0;
  retiring.keep_time(kLater);
  EXPECT_NE(in_error_state(), nullptr) << "asked again";
  retiring.keep_time(kLater + RetiringQueuePairs::kLongestWait - 1);
  retiring.arrivals_were_taken();
  EXPECT_EQ(retiring.count(), 1u) << "its time counts from there";
  retiring.keep_time(kLater + RetiringQueuePairs::kLongestWait);
  retiring.arrivals_were_taken();
  EXPECT_EQ(retiring.count(), 0u);
  EXPECT_EQ(adapter_.last_states, std::vector{IBV_QPS_ERR});
}

TEST_F(ServedConnectionsTest, ALateQuestionForARingThatWasGivenBackTouchesNoOther) {
  constexpr std::uint64_t kFirst = 0x1000, kSecond = 0x2000, kOfOther = 0x3000;
  const auto state_at = [&](std::uint64_t control) { return static_cast<RingState>(adapter_.news[control].state); };
  ServedConnections served(packets_, path_, 2);
  served.serve_rings(std::make_unique<ArrivalRings>(domain_, completions_, 1));
  ask(served, 0, 100);
  ask(served, 1, 101);
  const std::uint32_t of_other = last_number();
  const RingPlace first = ask_for_ring(served, 0, 0, kFirst);
  ASSERT_NE(first.address, 0u);
  EXPECT_EQ(ask_for_ring(served, 0, 0, kFirst).address, first.address) << "the answer was lost";
  for (int packet = 0; packet != 1000; ++packet) served.used(of_other);
  for (int i = 0; i != 3 && ask_for_ring(served, 1, 0, kOfOther).address == 0; ++i) served.keep_up_rings();
  EXPECT_EQ(state_at(kFirst), RingState::given_back);
  served.closed(1, 101);
  EXPECT_EQ(served.rings()->count(), 0u);

  EXPECT_EQ(ask_for_ring(served, 0, 0, kFirst).address, 0u) << "though there is room for one";
  EXPECT_EQ(state_at(kFirst), RingState::given_back) << "its sender may not have looked yet";
  const RingPlace second = ask_for_ring(served, 0, 1, kSecond);
  ASSERT_NE(second.address, 0u);
  EXPECT_EQ(ask_for_ring(served, 0, 0, kFirst).address, 0u);
  EXPECT_EQ(ask_for_ring(served, 0, 1, kSecond).address, second.address) << "it is still there";
}

TEST(LastUses, TellWhichIsIdle) {
  LastUses uses;
  uses.note(0x123456);
  uses.note(7);
  EXPECT_LT(uses.of(0x123456), uses.of(7));
  EXPECT_EQ(uses.of(8), 0u);
  uses.note(0x123456);
  EXPECT_GT(uses.of(0x123456), uses.of(7));
}

}  // namespace
}  // namespace openlapi::verbs
