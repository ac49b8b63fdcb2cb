// Address handles, which take a second where nobody answers.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "tests/beds/verbs_adapters.h"

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
  int waiting() {
    const std::lock_guard guard(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
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

TEST_F(VerbsHandles, TasksBehindOnePortShareAnAddressHandle) {
  VerbsPair pair;
  const VerbsPointer neighbour = open_well("rxe1");
  forget_requests();
  std::string error;
  for (PeerIndex peer = 2; peer != 40; ++peer) {
    ASSERT_TRUE(pair.left->add_peer(peer, neighbour->local_address(), error)) << error;
  }
  EXPECT_EQ(requests_of_adapter().handles.size(), 0u) << "the first task behind that port has one";
  ASSERT_TRUE(pair.left->add_peer(2, neighbour->local_address(), error)) << error;
  EXPECT_EQ(requests_of_adapter().handles.size(), 1u) << "who is added again may have another neighbour's address";
  EXPECT_TRUE(gets_through(*pair.left, 39, *neighbour, 5));
  EXPECT_TRUE(gets_through(*pair.left, 1, *pair.right, 6));
}

// The kernel looks for that neighbour for a second each time. Nobody else is there yet who could be held up by that,
// and whoever asks learns that there is no way.
TEST_F(VerbsHandles, APortThatDoesNotAnswerIsLookedForOnce) {
  const VerbsPointer left = open_well("rxe0");
  int attempts = 0;
  adapter_shim.before_handle = [&] { ++attempts; };
  verbs::Address nobody = left->address();
  nobody.gid[15] = 99;
  for (PeerIndex peer = 1; peer != 41; ++peer) {
    nobody.queue_pair = 100 + peer;
    std::string error;
    EXPECT_FALSE(left->add_peer(peer, verbs::encode(nobody), error));
    EXPECT_NE(error.find("rxe0 finds no way to GID"), std::string::npos) << error;
  }
  EXPECT_EQ(attempts, 1);
  std::string error;
  const VerbsPointer right = open_well("rxe1");
  EXPECT_TRUE(left->add_peer(1, right->local_address(), error)) << error;
  EXPECT_EQ(attempts, 2) << "of other ports that says nothing";
}

// The context used to be locked for as long as the kernel looks.
TEST_F(VerbsHandles, WhileANeighbourIsLookedForOthersGoOn) {
  VerbsPair pair;
  expect_exchange(pair);
  const VerbsPointer third = open_well("rxe0");
  Gate closed;
  std::string error;
  ASSERT_TRUE(pair.left->add_peer(2, third->local_address(), error)) << error;
  EXPECT_TRUE(wait_for([&] { return closed.waiting() == 1; }));
  EXPECT_EQ(pair.left->max_packet_to(2), third->address().mtu);
  expect_exchange(pair);
  const std::uint64_t lost = pair.left->verbs_counters().lost_packets;
  EXPECT_EQ(send_number(*pair.left, 2, 5), 1u);
  EXPECT_EQ(pair.left->verbs_counters().lost_packets, lost + 1);
  EXPECT_EQ(closed.waiting(), 1) << "it is looked for once";
  closed.open();
  EXPECT_TRUE(gets_through(*pair.left, 2, *third, 77));
}

// Who is added again has a handle; the new one may be of another neighbour.
TEST_F(VerbsHandles, APeerThatComesBackWaitsForItsNewHandle) {
  bed_connects_after = 1;
  bed_has_bulk = true;
  VerbsPair pair;
  expect_exchange(pair);
  Gate closed;
  std::string error;
  ASSERT_TRUE(pair.left->add_peer(1, pair.right->local_address(), error)) << error;
  EXPECT_FALSE(pair.left->capabilities().bulk_memory->reachable(1)) << "nobody could be asked for a connection";
  const std::uint64_t lost = pair.left->verbs_counters().lost_packets;
  for (std::uint64_t number = 1; number != 100; ++number) EXPECT_EQ(send_number(*pair.left, 1, number), 1u);
  EXPECT_EQ(pair.left->verbs_counters().lost_packets, lost + 99);
  closed.open();
  EXPECT_TRUE(gets_through(*pair.left, 1, *pair.right, 500));
  read_bulk(pair, 1 << 20);
}

// Whoever has added the end asks only then which packets are from there.
TEST_F(VerbsHandles, WhileAnEndIsLookedForItIsKnownWhichPacketsAreFromThere) {
  constexpr PeerIndex kOtherEnd = 5;
  bed_changes = [](VerbsConfig& config) { config.tasks = 2; };
  VerbsPair pair;
  expect_exchange(pair);
  const VerbsPointer other = open_well("rxe0");
  std::string error;
  ASSERT_TRUE(other->add_peer(0, pair.left->local_address(), error)) << error;
  Gate closed;
  ASSERT_TRUE(pair.left->add_peer(kOtherEnd, other->local_address(), error)) << error;
  ASSERT_TRUE(wait_for([&] { return closed.waiting() == 1; }));
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
  EXPECT_EQ(pair.left->origin_of(kOtherEnd), origin);
}

TEST_F(VerbsHandles, ANeighbourThatIsNotFoundIsToldAndLeftAlone) {
  bed_changes = [](VerbsConfig& config) { config.tell = true; };
  VerbsPair pair;
  expect_exchange(pair);
  const verbs::Address address = nobody(*pair.right, 99);
  std::string error;
  {
    Gate closed;
    ASSERT_TRUE(pair.left->add_peer(2, verbs::encode(address), error)) << error;
    ASSERT_TRUE(pair.left->add_peer(3, verbs::encode(address), error)) << error;
  }
  ASSERT_TRUE(wait_for([&] { return !pair.left->add_peer(4, verbs::encode(address), error); }));
  EXPECT_NE(error.find("rxe0 finds no way to GID ::ffff:10.77.0.99"), std::string::npos) << error;
  testing::internal::CaptureStderr();
  const std::uint64_t lost = pair.left->verbs_counters().lost_packets;
  for (std::uint64_t number = 0; number != 100; ++number) {
    EXPECT_EQ(send_number(*pair.left, 2 + number % 2, number), 1u);
  }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(pair.left->verbs_counters().lost_packets, lost + 100);
  EXPECT_NE(told.find("openlapi: rxe0 finds no way to GID"), std::string::npos) << told;
  EXPECT_EQ(told.find('\n'), told.size() - 1) << "once for all behind that port: " << told;
  expect_exchange(pair);
}

TEST_F(VerbsHandles, SoManyAreLookedForAtATime) {
  VerbsPair pair;
  expect_exchange(pair);
  Gate closed;
  for (PeerIndex peer = 2; peer != 30; ++peer) {
    std::string error;
    const verbs::Address address = nobody(*pair.right, static_cast<std::uint8_t>(100 + peer));
    ASSERT_TRUE(pair.left->add_peer(peer, verbs::encode(address), error)) << error;
  }
  EXPECT_TRUE(wait_for([&] { return closed.waiting() == 16; }));
  closed.open();
  std::string error;
  ASSERT_TRUE(wait_for([&] { return pair.left->add_peer(1, pair.right->local_address(), error); })) << error;
  expect_exchange(pair);
}

// It waits for the kernel, which has the transport's domain.
TEST_F(VerbsHandles, ATransportEndsWhileANeighbourIsLookedFor) {
  VerbsPair pair;
  expect_exchange(pair);
  std::string error;
  bool made = false;
  adapter_shim.before_handle = [&made] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    made = true;
  };
  ASSERT_TRUE(pair.left->add_peer(1, pair.right->local_address(), error)) << error;
  pair.left.reset();
  EXPECT_TRUE(made);
}

// There the kernel looks for nobody.
TEST_F(VerbsHandles, InfiniBandNeedsNoThreads) {
  adapter_shim.infiniband = true;
  VerbsPair pair;
  expect_exchange(pair);
  std::thread::id maker;
  adapter_shim.before_handle = [&maker] { maker = std::this_thread::get_id(); };
  std::string error;
  ASSERT_TRUE(pair.left->add_peer(1, pair.right->local_address(), error)) << error;
  EXPECT_EQ(maker, std::this_thread::get_id());
}

}  // namespace
}  // namespace openlapi::test
