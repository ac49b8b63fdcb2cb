// Packets through reliable connections, on the devices of the soft-RoCE bed: who gets one, and that nothing but packets
// is lost with it, which the engine sends again.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/beds/verbs_engine.h"
#include "tests/beds/verbs_provider.h"

namespace openlapi::test {
namespace {

// Transports that ask after so many packets.
class ConnectsAfter {
 public:
  explicit ConnectsAfter(std::uint32_t packets) { bed_connects_after = packets; }
  ~ConnectsAfter() { bed_connects_after = 0; }
};

const verbs::PacketConnectionCounters& counters(const VerbsTransport& transport) {
  return transport.connections()->counters();
}

constexpr std::uint64_t kKnock = 1;  // the number in packets that connect; datagrams among them may come late

// Sends until a packet has gone through a connection.
bool connects(VerbsTransport& from, PeerIndex to, VerbsTransport& at) {
  const std::uint64_t before = counters(from).packets_sent;
  return wait_for(
      [&] {
        send_number(from, to, kKnock);
        empty(at);
        empty(from);
        return counters(from).packets_sent > before;
      },
      30);
}

void break_queue_pair(ibv_qp* queue_pair) {
  ASSERT_NE(queue_pair, nullptr);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(queue_pair, &attributes, IBV_QP_STATE), 0);
}

std::uint64_t receive_behind_knocks(VerbsTransport& at) {
  std::uint64_t number = kKnock;
  while (number == kKnock) number = receive_number(at);
  return number;
}

// All in flight has come when its last one has: connections keep the order.
void exchange_numbers(VerbsTransport& from, PeerIndex to, VerbsTransport& at, std::uint64_t first,
                      std::uint64_t count) {
  for (std::uint64_t number = first; number < first + count; ++number) {
    ASSERT_TRUE(wait_for([&] { return send_number(from, to, number, 8 + number % 4000) == 1; }));
    ASSERT_EQ(receive_behind_knocks(at), number);
  }
}

TEST(VerbsConnections, APeerThatIsSentMuchGetsOne) {
  const ConnectsAfter rule(100);
  VerbsPair pair;
  for (std::uint64_t number = 1; number < 100; ++number) {
    send_number(*pair.left, 1, number);
    ASSERT_EQ(receive_number(*pair.right), number);
  }
  EXPECT_EQ(counters(*pair.left).packets_sent, 0u);
  EXPECT_EQ(pair.left->connections()->queue_pair_to(1), nullptr) << "not before";
  ASSERT_TRUE(connects(*pair.left, 1, *pair.right));
  const std::uint64_t before = counters(*pair.left).packets_sent;
  exchange_numbers(*pair.left, 1, *pair.right, 1000, 500);
  EXPECT_EQ(counters(*pair.left).packets_sent, before + 500) << "and then no datagrams";
  EXPECT_GE(counters(*pair.right).packets_received, 500u);
  EXPECT_EQ(counters(*pair.left).connections_made, 1u);
  EXPECT_EQ(counters(*pair.right).packets_sent, 0u) << "one way";
  EXPECT_EQ(pair.left->verbs_counters().lost_packets, 0u);
}

TEST(VerbsConnections, ManyPacketsOfOneBurstArriveInOrder) {
  const ConnectsAfter rule(1);
  VerbsPair pair;
  ASSERT_TRUE(connects(*pair.left, 1, *pair.right));
  receive_number(*pair.right, 0);
  empty(*pair.right);
  std::uint64_t next = 2, expected = 2;
  ASSERT_TRUE(wait_for([&] {
    for (int i = 0; i < 100 && next < 20'000; ++i) next += send_number(*pair.left, 1, next);
    empty(*pair.left);
    IncomingPacket packets[16];
    const std::size_t count = pair.right->receive_burst(packets);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t number = 0;
      std::memcpy(&number, packets[i].data, sizeof number);
      if (number == kKnock) continue;
      EXPECT_EQ(number, expected++);
    }
    pair.right->release(count);
    return expected == 20'000;
  }));
  EXPECT_GT(pair.left->counters().send_refused, 0u) << "who has no room takes less";
  EXPECT_EQ(counters(*pair.left).connections_broken, 0u);
}

// While the receiver takes nothing its shared queue runs dry: the adapter waits, and loses nothing.
TEST(VerbsConnections, AReceiverWithoutRoomIsWaitedFor) {
  const ConnectsAfter rule(1);
  VerbsPair pair;
  ASSERT_TRUE(connects(*pair.left, 1, *pair.right));
  ASSERT_TRUE(wait_for([&] { return empty(*pair.right) == 0; }));
  std::uint64_t taken = 0;
  std::vector<IncomingPacket> held(2000);
  std::size_t count = 0;
  const std::uint64_t refused = pair.left->counters().send_refused;
  ASSERT_TRUE(wait_for([&] {
    taken += send_number(*pair.left, 1, 100 + taken);
    count += pair.right->receive_burst(std::span(held).subspan(count, 16));
    return count >= 480 && taken > count && pair.left->counters().send_refused > refused + 100;
  }));
  EXPECT_LE(count, 512u) << "the slots of the shared queue";
  EXPECT_LT(count, taken);
  std::uint64_t last = 0;
  std::memcpy(&last, held[count - 1].data, sizeof last);
  pair.right->release(count);
  while (last < 99 + taken) {
    const std::uint64_t number = receive_behind_knocks(*pair.right);
    ASSERT_EQ(number, last + 1);
    last = number;
  }
  EXPECT_EQ(counters(*pair.left).connections_broken, 0u);
}

// A task on rxe0 and several others on rxe1, which know it.
struct VerbsStar {
  VerbsStar(const verbs::PacketConnectionLimits& limits, PeerIndex count) {
    VerbsConfig config;
    config.port.device = "rxe0";
    config.connections = true;
    config.connection_limits = limits;
    VerbsSetupError error;
    left = open_verbs_transport(config, error);
    if (left == nullptr) throw std::runtime_error(error.text);
    std::string reason;
    for (PeerIndex i = 1; i <= count; ++i) {
      others.push_back(open_well("rxe1"));
      EXPECT_TRUE(added(*left, i, others.back()->local_address(), reason)) << reason;
      EXPECT_TRUE(added(*others.back(), 0, left->local_address(), reason)) << reason;
    }
  }
  VerbsPointer left;
  std::vector<VerbsPointer> others;
};

// The numbers of a connection's requests grow beyond 32 bits, while another one has the next name.
TEST(VerbsConnections, MorePacketsThan32BitsCountGoThroughOne) {
  const ConnectsAfter rule(1);
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << 32) - 128;
  const VerbsStar star({.connections = 4, .packets_before_asking = 1, .first_count = kFirst}, 2);
  const auto& [left, others] = star;
  for (PeerIndex i = 1; i <= 2; ++i) {
    ASSERT_TRUE(connects(*left, i, *others[i - 1]));
  }
  for (std::uint64_t first = 1000; first < 1500; first += 100) {
    exchange_numbers(*left, 1, *others[0], first, 100);
    exchange_numbers(*left, 2, *others[1], first, 5);
  }
  EXPECT_EQ(counters(*left).connections_made, 2u);
  EXPECT_EQ(counters(*left).connections_broken, 0u);
  EXPECT_GE(counters(*left).packets_sent, 525u) << "and no datagrams";
}

TEST(VerbsConnections, AreBoundedAndTheLeastUsedIsClosed) {
  const ConnectsAfter rule(1);
  const VerbsStar star({.connections = 2, .packets_before_asking = 1}, 3);
  const auto& [left, others] = star;
  ASSERT_TRUE(connects(*left, 1, *others[0]) && connects(*left, 2, *others[1]));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(gets_through(*left, 3, *others[2], 77)) << "as datagrams";
  }
  EXPECT_EQ(left->connections()->queue_pair_to(3), nullptr) << "both are in use";
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(wait_for([&, &left = left] { return send_number(*left, 2, i) == 1; }));
    empty(*others[1]);
  }
  ASSERT_TRUE(connects(*left, 3, *others[2]));
  EXPECT_EQ(left->connections()->queue_pair_to(1), nullptr) << "the one that was used least lately";
  EXPECT_NE(left->connections()->queue_pair_to(2), nullptr);
  EXPECT_EQ(counters(*left).connections_closed, 1u);
  EXPECT_TRUE(gets_through(*left, 1, *others[0], 78));
}

TEST(VerbsConnections, AQueuePairInErrorIsReplaced) {
  const ConnectsAfter rule(1);
  VerbsPair pair;
  for (std::uint64_t lap = 0; lap < 4; ++lap) {
    ASSERT_TRUE(connects(*pair.left, 1, *pair.right));
    break_queue_pair(pair.left->connections()->queue_pair_to(1));
    ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 100 + lap)) << "at once, as a datagram";
  }
  EXPECT_EQ(counters(*pair.left).connections_broken, 4u);
  EXPECT_TRUE(connects(*pair.left, 1, *pair.right));
}

// As the kernel may take a second for it, where the link is down.
TEST(VerbsConnections, NobodyWaitsForTheEndOfABrokenOne) {
  const ConnectsAfter rule(1);
  VerbsPair pair;
  ASSERT_TRUE(connects(*pair.left, 1, *pair.right));
  const HeldEnds ends;
  break_queue_pair(pair.left->connections()->queue_pair_to(1));
  EXPECT_TRUE(gets_through(*pair.left, 1, *pair.right, 100)) << "as a datagram";
  EXPECT_TRUE(wait_for([&] { return ends.held() == 1; }));
  EXPECT_TRUE(connects(*pair.left, 1, *pair.right)) << "anew";
  EXPECT_EQ(counters(*pair.left).connections_made, 2u);
  EXPECT_EQ(ends.by_its_own_thread(), 0u);
}

// The datagrams' queue pair is reset while packets of the connection wait: their slots are not lost with it. There are
// 512 of them.
TEST(VerbsConnections, LoseNoSlotsWhenTheDatagramsRecover) {
  const ConnectsAfter rule(1);
  VerbsPair pair;
  ASSERT_TRUE(connects(*pair.left, 1, *pair.right));
  for (std::uint64_t lap = 0; lap < 40; ++lap) {
    ASSERT_TRUE(wait_for([&] { return empty(*pair.right) == 0; }));
    break_queue_pair(pair.right->queue_pair());
    const std::uint64_t before = pair.right->verbs_counters().recoveries;
    for (std::uint64_t number = 1; number <= 30; ++number) send_number(*pair.left, 1, number);
    ASSERT_TRUE(wait_for([&] { return empty(*pair.right), pair.right->verbs_counters().recoveries > before; }));
    empty(*pair.left);
  }
  ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 1000));
  EXPECT_EQ(counters(*pair.left).connections_broken, 0u);
  EXPECT_EQ(counters(*pair.left).connections_made, 1u);
}

TEST(VerbsConnections, APeerThatIsKilledAndAnotherAtItsPlace) {
  const ConnectsAfter rule(1);
  const VerbsPointer left = open_well("rxe0");
  for (int lap = 0; lap < 2; ++lap) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const PeerAddress own = left->local_address();
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const VerbsPointer right = open_well("rxe1");
      std::string reason;
      if (!added(*right, 0, own, reason)) _exit(1);
      const PeerAddress address = right->local_address();
      if (write(ends[1], &address, sizeof address) != sizeof address) _exit(1);
      for (;;) empty(*right);
    }
    PeerAddress address;
    ASSERT_EQ(read(ends[0], &address, sizeof address), static_cast<ssize_t>(sizeof address));
    close(ends[0]);
    close(ends[1]);
    std::string error;
    ASSERT_TRUE(added(*left, 1, address, error)) << error;
    const auto connected = [&] {
      send_number(*left, 1, 1);
      empty(*left);
      return left->connections()->queue_pair_to(1) != nullptr;
    };
    ASSERT_TRUE(wait_for(connected, 30)) << lap;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::uint64_t broken = counters(*left).connections_broken;
    ASSERT_TRUE(wait_for([&] {
      return send_number(*left, 1, 1), empty(*left), counters(*left).connections_broken > broken;
    })) << "packets to nobody count as sent, and end";
    EXPECT_EQ(send_number(*left, 1, 1), 1u);
  }
}

TEST(VerbsConnections, WithoutMemoryForThemThereAreDatagrams) {
  in_child([] {
    constexpr std::size_t kLocked = 5 << 20;  // two transports' datagrams
    const rlimit little{kLocked, kLocked};
    ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &little), 0);
    become_ordinary_user();
    const ConnectsAfter rule(1);
    VerbsPair pair(1024, 1024);
    std::vector<VerbsPointer> more;  // take what is left
    VerbsSetupError error;
    while (VerbsPointer one = open_on("rxe0", error, 1024)) more.push_back(std::move(one));
    for (std::uint64_t number = 1; number < 300; ++number)
      ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, number));
    EXPECT_EQ(pair.left->connections()->queue_pair_to(1), nullptr);
  });
}

TEST(VerbsConnections, ASleeperIsWoken) {
  const ConnectsAfter rule(1);
  VerbsPair pair;
  ASSERT_TRUE(connects(*pair.left, 1, *pair.right));
  WakeSource& wake = *pair.right->capabilities().wake_source;
  for (std::uint64_t number = 100; number < 110; ++number) {
    ASSERT_TRUE(wait_for([&] { return empty(*pair.right), wake.arm(); }));
    send_number(*pair.left, 1, number);
    pollfd waiting{wake.descriptor(), POLLIN, 0};
    EXPECT_EQ(poll(&waiting, 1, 20'000), 1);
    wake.disarm();
    EXPECT_EQ(receive_number(*pair.right), number);
  }
}

class VerbsConnectedEngine : public VerbsEngine {
 protected:
  VerbsConnectedEngine() : rule_(1) {}
  const ConnectsAfter rule_;
};

TEST_F(VerbsConnectedEngine, MessagesOfManyLengthsArrive) {
  start();
  exchange(500, [](std::uint32_t) {});
  for (PeerIndex task = 0; task < 2; ++task) {
    const std::uint64_t connected = counters(transport(task)).packets_sent;
    EXPECT_GT(connected * 10, transport(task).counters().packets_sent * 9) << "most go through connections";
    EXPECT_EQ(counters(transport(task)).connections_broken, 0u);
  }
}

TEST_F(VerbsConnectedEngine, MessagesArriveBetweenPortsOfDifferentMtus) {
  start(4096, 1024);
  exchange(300, [](std::uint32_t) {});
  EXPECT_GT(counters(transport(0)).packets_sent, 100u);
  EXPECT_EQ(counters(transport(0)).connections_broken, 0u);
  EXPECT_EQ(transport(0).verbs_counters().lost_packets, 0u);
}

// Nothing is lost, and nothing comes twice: counters of the engine would be beyond what was put.
TEST_F(VerbsConnectedEngine, MessagesArriveThoughConnectionsBreak) {
  start();
  exchange(300, [&](std::uint32_t number) {
    ibv_qp* const queue_pair = transport(number / 20 % 2).connections()->queue_pair_to(1 - number / 20 % 2);
    if (number % 20 == 10 && queue_pair != nullptr) break_queue_pair(queue_pair);
  });
  EXPECT_GT(counters(transport(0)).connections_broken + counters(transport(1)).connections_broken, 0u);
}

TEST_F(VerbsConnectedEngine, MessagesArriveThoughTheInterfaceWasDown) {
  start();
  exchange_while_an_interface_is_down();
}

}  // namespace
}  // namespace openlapi::test
