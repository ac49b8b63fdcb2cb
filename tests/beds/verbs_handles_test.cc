// Address handles of RoCE, for which the kernel may look for a neighbour for seconds: nobody else waits for that.
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "dataplane/base/monotonic_clock.h"
#include "dataplane/sync/collectives.h"
#include "tests/beds/verbs_adapters.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi::test {
namespace {

// Whoever makes an address handle waits here until it is opened.
class Gate {
 public:
  Gate() {
    adapter_shim.before_handle = [this] {
      std::unique_lock guard(mutex_);
      ++waiting_;
      changed_.wait(guard, [this] { return open_; });
      --waiting_;
    };
  }
  ~Gate() { open(); }
  void open() {
    const std::lock_guard guard(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // So many wait, or will soon.
  bool has(std::size_t count) {
    return wait_for([&] {
      const std::lock_guard guard(mutex_);
      return waiting_ == count;
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::size_t waiting_ = 0;
};

class VerbsHandles : public VerbsAdapters {
 protected:
  // The address of a task behind a port that there is not.
  static verbs::Address nobody(const VerbsTransport& like, std::uint8_t host) {
    verbs::Address address = like.address();
    address.gid[15] = host;
    return address;
  }
};

TEST_F(VerbsHandles, WhileANeighbourIsLookedForOthersGoOn) {
  VerbsPair pair;
  expect_exchange(pair);
  const VerbsPointer third = open_well("rxe0");
  Gate closed;
  std::string error;
  for (int i = 0; i != 100; ++i) {
    EXPECT_FALSE(pair.left->add_peer(2, third->local_address(), error));
    EXPECT_TRUE(pair.left->is_undecided());
  }
  EXPECT_TRUE(closed.has(1)) << "it is looked for once";
  expect_exchange(pair);
  closed.open();
  EXPECT_TRUE(added(*pair.left, 2, third->local_address(), error)) << error;
  EXPECT_FALSE(pair.left->is_undecided());
  EXPECT_TRUE(gets_through(*pair.left, 2, *third, 77));
}

// It has a handle, which serves until there is a new one.
TEST_F(VerbsHandles, APeerThatComesBackIsKnownAtOnce) {
  bed_connects_after = 1;
  bed_has_bulk = true;
  VerbsPair pair;
  expect_exchange(pair);
  Gate closed;
  std::string error;
  forget_requests();
  ASSERT_TRUE(pair.left->add_peer(1, pair.right->local_address(), error)) << error;
  for (std::uint64_t number = 1; number != 100; ++number) EXPECT_EQ(send_number(*pair.left, 1, number), 1u);
  EXPECT_TRUE(closed.has(1));
  closed.open();
  EXPECT_TRUE(gets_through(*pair.left, 1, *pair.right, 500));
  ASSERT_TRUE(wait_for([&] {
    send_number(*pair.left, 1, 501);
    return requests_of_adapter().handles.size() == 1;
  }));
  EXPECT_TRUE(gets_through(*pair.left, 1, *pair.right, 502));
  read_bulk(pair, 1 << 20);
}

TEST_F(VerbsHandles, APeerThatHasMovedIsReachedThereOnceItIsFound) {
  VerbsPair pair;
  const VerbsPointer elsewhere = open_well("rxe0");
  Gate closed;
  std::string error;
  ASSERT_TRUE(pair.left->add_peer(1, elsewhere->local_address(), error)) << error;
  send_number(*pair.left, 1, 5);
  closed.open();
  EXPECT_TRUE(gets_through(*pair.left, 1, *elsewhere, 6));
}

// Whoever has added the end asks only then which packets are from there.
TEST_F(VerbsHandles, AnEndThatHasMovedIsKnownByItsPacketsAtOnce) {
  constexpr PeerIndex kOtherEnd = 5;
  bed_changes = [](VerbsConfig& config) { config.tasks = 2; };
  VerbsPair pair;
  const VerbsPointer other = open_well("rxe0");
  std::string error;
  ASSERT_TRUE(added(*other, 0, pair.left->local_address(), error)) << error;
  ASSERT_TRUE(added(*pair.left, kOtherEnd, pair.right->local_address(), error)) << error;
  Gate closed;
  ASSERT_TRUE(pair.left->add_peer(kOtherEnd, other->local_address(), error)) << error;
  const std::uint64_t origin = pair.left->origin_of(kOtherEnd);
  EXPECT_NE(origin, 0u);
  empty(*pair.left);
  ASSERT_EQ(send_number(*other, 0, 7), 1u);
  IncomingPacket packet{};
  ASSERT_TRUE(wait_for([&] { return pair.left->receive_burst({&packet, 1}) == 1; }));
  pair.left->release(1);
  EXPECT_EQ(packet.origin, origin);
  closed.open();
  EXPECT_TRUE(gets_through(*pair.left, kOtherEnd, *other, 77));
}

// The interface of rxe0 has another address while this exists.
class OtherAddress {
 public:
  OtherAddress() { change("10.77.0.1", "10.77.0.101"); }
  ~OtherAddress() { change("10.77.0.101", "10.77.0.1"); }

 private:
  static void change(const std::string& from, const std::string& to) {
    command("ip address del " + from + "/24 dev rdma0 && ip address add " + to + "/24 dev rdma0");
  }
};

TEST_F(VerbsHandles, NothingLeavesFromAnAddressThatThePortHasNoMore) {
  bed_changes = [](VerbsConfig& config) { config.link_status = true; };
  VerbsPair pair;
  expect_exchange(pair);
  Gate closed;
  const OtherAddress moved;
  ASSERT_TRUE(wait_for([&] {
    pair.left->capabilities().link_status->look();
    return pair.left->address().gid[15] == 101;
  }));
  const std::uint64_t lost = pair.left->verbs_counters().lost_packets;
  for (std::uint64_t number = 1; number != 10; ++number) EXPECT_EQ(send_number(*pair.left, 1, number), 1u);
  EXPECT_EQ(pair.left->verbs_counters().lost_packets, lost + 9);
  EXPECT_TRUE(closed.has(1));
  closed.open();
  EXPECT_TRUE(gets_through(*pair.left, 1, *pair.right, 11));
}

TEST_F(VerbsHandles, SoManyAreLookedForAtATime) {
  VerbsPair pair;
  Gate closed;
  std::string error;
  for (PeerIndex peer = 2; peer != 30; ++peer) {
    const verbs::Address address = nobody(*pair.right, static_cast<std::uint8_t>(100 + peer));
    EXPECT_FALSE(pair.left->add_peer(peer, verbs::encode(address), error));
    EXPECT_TRUE(pair.left->is_undecided());
  }
  EXPECT_TRUE(closed.has(verbs::AddressHandles::kMostInMaking));
  expect_exchange(pair);
  closed.open();
  const verbs::Address last = nobody(*pair.right, 129);
  EXPECT_FALSE(added(*pair.left, 29, verbs::encode(last), error));
  EXPECT_NE(error.find("rxe0 finds no way to GID ::ffff:10.77.0.129"), std::string::npos) << error;
}

// It waits for the kernel, which has the transport's domain.
TEST_F(VerbsHandles, ATransportEndsOnceTheKernelLooksNoMore) {
  VerbsPair pair;
  std::atomic<bool> ended = false;
  std::string error;
  {
    Gate closed;
    ASSERT_TRUE(pair.left->add_peer(1, pair.right->local_address(), error)) << error;
    std::thread end([&] {
      pair.left.reset();
      ended = true;
    });
    EXPECT_TRUE(closed.has(1));
    EXPECT_FALSE(ended);
    closed.open();
    end.join();
  }
  EXPECT_TRUE(ended);
}

// There the kernel looks for nobody.
TEST_F(VerbsHandles, InfiniBandNeedsNoThreads) {
  adapter_shim.infiniband = true;
  VerbsPair pair;
  std::thread::id maker;
  adapter_shim.before_handle = [&maker] { maker = std::this_thread::get_id(); };
  std::string error;
  ASSERT_TRUE(pair.left->add_peer(1, pair.right->local_address(), error)) << error;
  EXPECT_EQ(maker, std::this_thread::get_id());
}

// Adds tasks to one transport when they are talked to first.
struct FirstContactRoute final : RouteResolver {
  Route resolve(PeerIndex peer) override {
    Route route;
    std::string error;
    if (transport->add_peer(peer, addresses[peer], error)) {
      route.paths[route.count++] = transport;
    } else {
      route.undecided = transport->is_undecided();
    }
    return route;
  }
  VerbsTransport* transport = nullptr;
  std::array<PeerAddress, 4> addresses{};
};

// The engines of tasks 0 and 2 on rxe0, and 1 on rxe1. Task 3 is behind a port that there is not.
class VerbsFirstContact : public VerbsHandles {
 protected:
  static constexpr PeerIndex kNear = 2, kFar = 1, kNobody = 3;
  static constexpr PeerIndex kLiving = 3;

  void start(std::uint32_t tasks) {
    EndpointConfig config;
    config.tasks = tasks;
    config.job_key = {fresh_cookie(), 0};
    config.timeout = 100 * kSecond;
    for (PeerIndex i = 0; i != kLiving; ++i) transports_[i] = open_well(i == kFar ? "rxe1" : "rxe0");
    for (PeerIndex i = 0; i != kLiving; ++i) {
      for (PeerIndex peer = 0; peer != kLiving; ++peer) routes_[i].addresses[peer] = transports_[peer]->local_address();
      routes_[i].addresses[kNobody] = verbs::encode(nobody(*transports_[0], 99));
      Transport* transport = routes_[i].transport = transports_[i].get();
      config.self = i;
      endpoints_[i] = std::make_unique<Endpoint>(config, std::span(&transport, 1), clock_, routes_[i], hosts_[i]);
    }
  }

  void step() {
    for (const auto& endpoint : endpoints_) endpoint->progress();
  }
  Submit put(PeerIndex target) {
    return endpoints_[0]->put({target, address(&sinks_[target]), &value_, sizeof(value_), 0, 0, 0});
  }
  bool arrives(PeerIndex target) {
    return wait_for([&] { return step(), put(target) == Submit::accepted; }) &&
           wait_for([&] { return step(), std::exchange(sinks_[target], 0) == value_; });
  }

  std::array<VerbsPointer, kLiving> transports_;
  std::array<FirstContactRoute, kLiving> routes_;
  std::array<ScriptedHost, kLiving> hosts_;
  MonotonicClock clock_;
  std::array<std::unique_ptr<Endpoint>, kLiving> endpoints_;
  const std::uint64_t value_ = 77;
  std::array<std::uint64_t, 4> sinks_{};
};

TEST_F(VerbsFirstContact, MessagesToOthersGoOnAndThoseToTheSlowOneArriveLater) {
  start(3);
  ASSERT_TRUE(arrives(kNear));
  Gate closed;
  for (int i = 0; i != 50; ++i) {
    EXPECT_EQ(put(kFar), Submit::busy);
    EXPECT_TRUE(arrives(kNear));
  }
  EXPECT_TRUE(closed.has(1));
  closed.open();
  EXPECT_TRUE(arrives(kFar));
  EXPECT_TRUE(arrives(kNear));
}

TEST_F(VerbsFirstContact, ABarrierWaitsForTheSlowOne) {
  start(3);
  Gate closed;
  for (const auto& endpoint : endpoints_) endpoint->collectives().begin_barrier();
  const auto states = [&](CollectiveState state) {
    return std::ranges::all_of(endpoints_, [&](auto& one) { return one->collectives().state() == state; });
  };
  for (int i = 0; i != 1000; ++i) step();
  EXPECT_TRUE(states(CollectiveState::pending));
  closed.open();
  EXPECT_TRUE(wait_for([&] { return step(), states(CollectiveState::done); }));
}

TEST_F(VerbsFirstContact, OneThatIsNotFoundIsRefused) {
  start(4);
  ASSERT_TRUE(arrives(kNear));
  Submit answer = Submit::busy;
  ASSERT_TRUE(wait_for([&] {
    EXPECT_TRUE(arrives(kNear));
    return (answer = put(kNobody)) != Submit::busy;
  }));
  EXPECT_EQ(answer, Submit::unreachable);
}

}  // namespace
}  // namespace openlapi::test
