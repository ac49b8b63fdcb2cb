#include "nic/verbs/ring_to_peer.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

extern "C" {

ibv_mr* ibv_reg_mr_iova2(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned) { return new ibv_mr{}; }

int ibv_dereg_mr(ibv_mr* region) {
  delete region;
  return 0;
}

}  // extern "C"

namespace openlapi::verbs {
namespace {

constexpr std::uint32_t kAfter = 4;  // packets before a ring is asked for
constexpr RingPlace kSlots{0x10000, 7};

class RingToPeerTest : public testing::Test {
 protected:
  RingToPeerTest() { ring_.open(kAfter, 100); }

  // Packets until the peer is asked.
  std::uint32_t packets_until_asking() {
    std::uint32_t packets = 1;
    while (!ring_.count_packet() && packets != 1'000'000) ++packets;
    return packets;
  }
  RingPlace ask() { return ring_.next_control(domain_); }
  static void give_back(const RingPlace& control) {
    reinterpret_cast<RingControl*>(control.address)->state = static_cast<std::uint32_t>(RingState::given_back);
  }
  bool compose() {
    const ConstBuffer piece{"text", 4};
    SlotImage image;
    return ring_.compose({{&piece, 1}, 4}, image);
  }

  RingToPeer ring_;
  ibv_pd domain_{};
};

TEST_F(RingToPeerTest, IsAskedForUntilItIsGranted) {
  EXPECT_EQ(packets_until_asking(), kAfter);
  const RingPlace control = ask();
  EXPECT_EQ(packets_until_asking(), kAfter) << "the question, or the answer, may be lost";
  EXPECT_EQ(ask().address, control.address) << "it is the same ring";
  ring_.grant(kSlots, 0);
  EXPECT_TRUE(ring_.granted());
  EXPECT_TRUE(compose());
}

TEST_F(RingToPeerTest, ThatWasGivenBackIsFollowedByAnotherOne) {
  const RingPlace first = ask();
  ring_.grant(kSlots, 0);
  give_back(first);
  EXPECT_FALSE(compose());
  EXPECT_FALSE(ring_.granted());
  EXPECT_EQ(packets_until_asking(), 2 * kAfter) << "others need it more";
  EXPECT_NE(ask().address, first.address);
  EXPECT_EQ(ring_.ring(), 1);
  ring_.grant(kSlots, 0);
  EXPECT_FALSE(ring_.granted()) << "a late answer";
  ring_.grant(kSlots, 1);
  EXPECT_TRUE(compose());
}

// The peer refuses that one from then on.
TEST_F(RingToPeerTest, WhoseGrantWasLostBeforeItWasGivenBackIsFollowedByAnotherOne) {
  const RingPlace first = ask();
  give_back(first);
  EXPECT_NE(ask().address, first.address);
  EXPECT_EQ(ring_.ring(), 1);
  ring_.grant(kSlots, 1);
  EXPECT_TRUE(compose());
}

TEST_F(RingToPeerTest, ALateRefusalSaysNothingOfTheNextOne) {
  ask();
  ring_.refuse(0);
  packets_until_asking();
  give_back(ask());
  ask();
  EXPECT_EQ(packets_until_asking(), 4 * kAfter);
  ask();
  ring_.refuse(0);
  packets_until_asking();
  ask();
  EXPECT_EQ(packets_until_asking(), 4 * kAfter);
}

TEST_F(RingToPeerTest, OfAConnectionAreSoManyAndNoMore) {
  for (std::size_t ring = 0; ring != kRingsOfConnection; ++ring) {
    const RingPlace control = ask();
    ASSERT_NE(control.address, 0u);
    ring_.grant(kSlots, static_cast<std::uint8_t>(ring));
    ASSERT_TRUE(ring_.granted());
    give_back(control);
    EXPECT_FALSE(compose());
  }
  EXPECT_FALSE(ring_.count_packet());
  EXPECT_EQ(packets_until_asking(), 1'000'000u);
}

TEST_F(RingToPeerTest, TheLastOneMayBeLostAsWell) {
  for (std::size_t ring = 0; ring != kRingsOfConnection; ++ring) give_back(ask());
  EXPECT_EQ(ask().address, 0u);
  EXPECT_EQ(packets_until_asking(), 1'000'000u);
}

}  // namespace
}  // namespace openlapi::verbs
