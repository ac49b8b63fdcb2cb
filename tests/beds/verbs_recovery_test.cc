// Queue pairs, links and peers that fail, on the devices of the soft-RoCE bed: everything goes on afterwards.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "tests/beds/verbs_bed.h"

namespace openlapi::test {
namespace {

void break_queue_pair(VerbsTransport& transport) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(transport.queue_pair(), &attributes, IBV_QP_STATE), 0);
}

TEST(VerbsRecovery, AQueuePairInErrorIsUsedAgainUnderItsNumber) {
  VerbsPair pair;
  const PeerAddress before = pair.right->local_address();
  for (std::uint64_t lap = 1; lap <= 20; ++lap) {
    ASSERT_EQ(send_number(*pair.left, 1, 1), 1u);
    ASSERT_EQ(receive_number(*pair.right), 1u);
    break_queue_pair(*pair.right);
    ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 100 + lap));
    ASSERT_TRUE(gets_through(*pair.right, 0, *pair.left, 200 + lap));
    EXPECT_EQ(pair.right->verbs_counters().recoveries, lap);
    empty(*pair.right);
  }
  EXPECT_GT(pair.right->verbs_counters().error_completions, 0u);
  EXPECT_EQ(pair.right->verbs_counters().failed_recoveries, 0u);
  EXPECT_EQ(pair.right->local_address().bytes, before.bytes);
}

TEST(VerbsRecovery, PacketsThatAreHeldStayAsTheyAre) {
  VerbsPair pair;
  ASSERT_EQ(send_number(*pair.left, 1, 1), 1u);
  ASSERT_EQ(send_number(*pair.left, 1, 2), 1u);
  IncomingPacket held[2];
  for (IncomingPacket& packet : held) {
    ASSERT_TRUE(wait_for([&] { return pair.right->receive_burst({&packet, 1}) == 1; }));
  }
  break_queue_pair(*pair.right);
  ASSERT_TRUE(wait_for([&] {
    IncomingPacket none;
    EXPECT_EQ(pair.right->receive_burst({&none, 1}), 0u);
    return pair.right->verbs_counters().recoveries == 1;
  }));
  for (int i = 0; i < 1000; ++i) send_number(*pair.left, 1, 9);
  std::uint64_t number = 0;
  for (std::uint64_t i = 0; i < 2; ++i) {
    std::memcpy(&number, held[i].data, sizeof number);
    EXPECT_EQ(number, i + 1);
  }
  pair.right->release(2);
  ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 3));
}

TEST(VerbsRecovery, ASenderAloneRecoversToo) {
  VerbsPair pair;
  break_queue_pair(*pair.left);
  // Only sends: no look at arrivals that would tell of the error. The ring must not stay full.
  ASSERT_TRUE(wait_for([&] {
    send_number(*pair.left, 1, 5);
    return pair.left->verbs_counters().recoveries != 0;
  }));
  ASSERT_TRUE(wait_for([&] {
    send_number(*pair.left, 1, 6);
    return receive_number(*pair.right, 0) == 6;
  }));
}

TEST(VerbsRecovery, ASleeperIsWokenByAQueuePairInError) {
  VerbsPair pair;
  WakeSource& wake = *pair.right->capabilities().wake_source;
  ASSERT_TRUE(wake.arm());
  break_queue_pair(*pair.right);
  pollfd waiting{wake.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, 10'000), 1);
  wake.disarm();
  ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 4));
  EXPECT_EQ(pair.right->verbs_counters().recoveries, 1u);
}

// Takes a link down, sends meanwhile, takes it up again: both ways work as before.
void survives_link_loss(VerbsPair& pair, const std::string& link) {
  ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 1));
  for (std::uint64_t lap = 0; lap < 3; ++lap) {
    command("ip link set " + link + " down");
    ASSERT_TRUE(wait_for_port("rxe0", "DOWN"));
    for (std::uint64_t i = 0; i < 2000; ++i) {
      send_number(*pair.left, 1, 2 + i % 2);
      pair.left->receive_burst({});
      send_number(*pair.right, 0, 4);
    }
    command("ip link set " + link + " up");
    ASSERT_TRUE(wait_for_port("rxe0", "ACTIVE"));
    ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 100 + lap)) << "towards the other";
    ASSERT_TRUE(gets_through(*pair.right, 0, *pair.left, 200 + lap)) << "from the other";
  }
  EXPECT_LT(pair.left->verbs_counters().recoveries, 100u) << "no recovery for each packet";
}

TEST(VerbsRecovery, AnInterfaceThatGoesDownAndUp) {
  VerbsPair pair;
  survives_link_loss(pair, "rdma0");
  EXPECT_GT(pair.left->verbs_counters().recoveries, 0u);
  EXPECT_GT(pair.left->verbs_counters().lost_packets, 100u);
}

// Here soft-RoCE keeps what is sent until it knows that nobody answers: sends may be refused meanwhile.
TEST(VerbsRecovery, ACableThatIsPulledAndPutBack) {
  VerbsPair pair;
  survives_link_loss(pair, "port0");
}

// Whoever sleeps is woken by what the driver tells of the port, and by packets as ever.
void tells_of_link(const std::string& down, const std::string& up) {
  VerbsConfig config;
  config.port.device = "rxe0";
  config.link_status = true;
  VerbsSetupError error;
  const VerbsPointer transport = open_verbs_transport(config, error);
  ASSERT_TRUE(transport) << error.text;
  LinkStatus* const link = transport->capabilities().link_status;
  ASSERT_NE(link, nullptr);
  WakeSource& wake = *transport->capabilities().wake_source;
  const auto comes_to = [&](bool expected) {
    return wait_for([&] {
      pollfd sleeper{wake.descriptor(), POLLIN, 0};
      if (wake.arm()) poll(&sleeper, 1, 1000);
      wake.disarm();
      return link->reaches(1) == expected;
    });
  };
  ASSERT_TRUE(comes_to(true));
  for (int lap = 0; lap < 3; ++lap) {
    const std::uint32_t before = link->changes();
    command(down);
    EXPECT_TRUE(comes_to(false)) << down;
    command(up);
    ASSERT_TRUE(wait_for_port("rxe0", "ACTIVE"));
    EXPECT_TRUE(comes_to(true)) << up;
    EXPECT_GE(link->changes(), before + 2);
  }
  pollfd sleeper{wake.descriptor(), POLLIN, 0};
  ASSERT_TRUE(wait_for([&] { return wake.arm(); }));
  EXPECT_EQ(poll(&sleeper, 1, 0), 0) << "nobody is kept awake";
}

TEST(VerbsRecovery, AnInterfaceThatGoesDownAndUpIsTold) {
  tells_of_link("ip link set rdma0 down", "ip link set rdma0 up");
}

TEST(VerbsRecovery, ACableThatIsPulledAndPutBackIsTold) {
  tells_of_link("ip link set port0 down", "ip link set port0 up");
}

TEST(VerbsRecovery, WithoutBeingAskedNobodyTells) {
  VerbsPair pair;
  EXPECT_EQ(pair.left->capabilities().link_status, nullptr);
}

// A peer that claims a longer MTU than it has gets packets that do not fit its slots.
TEST(VerbsRecovery, PacketsThatAreTooLongForTheReceiver) {
  VerbsPair pair(4096, 1024);
  verbs::Address claimed = pair.right->address();
  claimed.mtu = 4096;
  std::string error;
  ASSERT_TRUE(added(*pair.left, 2, verbs::encode(claimed), error)) << error;
  for (std::uint64_t lap = 0; lap < 5; ++lap) {
    ASSERT_EQ(send_number(*pair.left, 2, 66, 4096), 1u);
    ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 100 + lap));
  }
  EXPECT_LE(pair.right->counters().packets_received, 5u + 5000u);
}

TEST(VerbsRecovery, APeerThatCameBackElsewhere) {
  VerbsPair pair;
  ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 1));
  pair.right.reset();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(wait_for([&] { return send_number(*pair.left, 1, 2) == 1; })) << "sends to one that is gone are lost";
  }
  for (std::uint64_t lap = 0; lap < 50; ++lap) {  // handles of former addresses are given back
    const VerbsPointer again = open_well(lap % 2 == 0 ? "rxe1" : "rxe0");
    std::string error;
    ASSERT_TRUE(added(*pair.left, 1, again->local_address(), error)) << error;
    ASSERT_TRUE(gets_through(*pair.left, 1, *again, 10 + lap));
  }
}

TEST(VerbsRecovery, APeerThatIsKilled) {
  VerbsPair pair;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const PeerAddress own = pair.left->local_address();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    VerbsSetupError error;
    const VerbsPointer transport = open_on("rxe1", error);
    std::string reason;
    if (!transport || !added(*transport, 0, own, reason)) _exit(1);
    const PeerAddress address = transport->local_address();
    if (write(ends[1], &address, sizeof address) != sizeof address) _exit(1);
    for (;;) send_number(*transport, 0, 1);
  }
  PeerAddress address;
  ASSERT_EQ(read(ends[0], &address, sizeof address), static_cast<ssize_t>(sizeof address));
  std::string error;
  ASSERT_TRUE(added(*pair.left, 5, address, error)) << error;
  ASSERT_EQ(receive_number(*pair.left), 1u) << "it talks";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(wait_for([&] { return send_number(*pair.left, 5, 1) == 1; }));
  empty(*pair.left);
  EXPECT_TRUE(gets_through(*pair.left, 1, *pair.right, 77));
  EXPECT_TRUE(gets_through(*pair.right, 0, *pair.left, 78));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace openlapi::test
