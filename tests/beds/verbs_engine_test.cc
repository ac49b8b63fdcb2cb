// The engine over RDMA datagrams, on the devices of the soft-RoCE bed: whatever happens to queue pairs and links, every
// message arrives once and with the right bytes.
#include "tests/beds/verbs_engine.h"

namespace openlapi::test {
namespace {

TEST_F(VerbsEngine, MessagesOfManyLengthsArrive) {
  start();
  exchange(500, [](std::uint32_t) {});
  EXPECT_GT(transport(0).counters().packets_sent, 500u);
  EXPECT_GT(transport(1).counters().packets_received, 500u);
}

TEST_F(VerbsEngine, MessagesArriveBetweenPortsOfDifferentMtus) {
  start(4096, 1024);
  exchange(300, [](std::uint32_t) {});
  EXPECT_EQ(transport(0).verbs_counters().lost_packets, 0u) << "no packet was too long for the peer";
}

TEST_F(VerbsEngine, MessagesArriveThoughQueuePairsBreak) {
  start();
  exchange(300, [&](std::uint32_t number) {
    if (number % 20 != 10) return;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(transport(number / 20 % 2).queue_pair(), &attributes, IBV_QP_STATE), 0);
  });
  EXPECT_GT(transport(0).verbs_counters().recoveries, 0u);
  EXPECT_GT(transport(1).verbs_counters().recoveries, 0u);
}

TEST_F(VerbsEngine, MessagesArriveThoughTheInterfaceWasDown) {
  start();
  exchange_while_an_interface_is_down();
}

}  // namespace
}  // namespace openlapi::test
