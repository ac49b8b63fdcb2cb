// Broken collectives, seen from one of the tasks: whom it tells, of whom, and what it keeps.
#include "dataplane/sync/collective.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace openlapi {
namespace {

using Peers = std::vector<PeerIndex>;

// Whom a task alone has sent to, and whom it has told that the collective is broken, and by whom.
struct Sent : Collective::Outbox {
  Peers rounds, told, lost;
  std::uint32_t latest = 0;  // collective
  void send_round(PeerIndex peer, std::uint32_t sequence, std::uint32_t round,
                  std::span<const std::byte> bytes) override {
    latest = sequence;
    (round == Collective::kBrokenRound ? told : rounds).push_back(peer);
    if (round != Collective::kBrokenRound) return;
    PeerIndex which = 0;
    ASSERT_EQ(bytes.size(), sizeof(which));
    std::memcpy(&which, bytes.data(), sizeof(which));
    lost.push_back(which);
  }
};

// Those of the rounds that have not left, and nobody else: not whom a round has reached, not who was lost.
TEST(BrokenCollective, AFailureIsToldToTheReceiversOfTheRoundsThatHaveNotLeft) {
  const auto fails = [](std::uint32_t arrived, PeerIndex lost) {
    Collective task(0, 8);
    Sent sent;
    task.begin_barrier(sent);
    for (std::uint32_t round = 0; round < arrived; ++round) task.arrived(8 - (1u << round), 1, round, {}, sent);
    task.fail(lost, sent);
    EXPECT_EQ(sent.lost, Peers(sent.told.size(), lost));
    return sent;
  };
  EXPECT_EQ(fails(0, 7).rounds, Peers{1});
  EXPECT_EQ(fails(0, 7).told, (Peers{2, 4}));
  EXPECT_EQ(fails(0, 2).told, Peers{4});
  EXPECT_EQ(fails(0, kUnknownPeer).told, (Peers{2, 4}));
  EXPECT_EQ(fails(1, 6).rounds, (Peers{1, 2}));
  EXPECT_EQ(fails(1, 6).told, Peers{4});
  EXPECT_EQ(fails(2, 4).rounds, (Peers{1, 2, 4}));
  EXPECT_TRUE(fails(2, 4).told.empty());
}

TEST(BrokenCollective, AFailureOfAFilledExchangeIsToldToAllWhoWaitForItsConfirmation) {
  Collective task(0, 4);
  Sent sent;
  task.begin_exchange(5, sent);
  task.arrived(1, 1, 0, std::vector<std::byte>(8), sent);
  task.arrived(2, 1, 1, std::vector<std::byte>(16), sent);
  ASSERT_TRUE(task.filled());
  EXPECT_EQ(sent.rounds, (Peers{3, 2}));
  task.fail(3, sent);
  EXPECT_EQ(sent.told, (Peers{1, 2}));
  EXPECT_EQ(sent.rounds.size(), 2u);
}

// The message that says so comes from another task: what it names may be no task of the job, or this one.
TEST(BrokenCollective, WhoWasLostIsOneOfTheOthersOrUnknown) {
  const auto lost_by = [](const std::vector<std::byte>& bytes, PeerIndex sender = 3) {
    Collective task(1, 4);
    Sent sent;
    task.begin_barrier(sent);
    task.arrived(sender, 1, Collective::kBrokenRound, bytes, sent);
    EXPECT_TRUE(task.failed());
    return task.lost_peer();
  };
  const auto named = [](PeerIndex peer) {
    std::vector<std::byte> bytes(sizeof(peer));
    std::memcpy(bytes.data(), &peer, sizeof(peer));
    return bytes;
  };
  for (const PeerIndex other : {0u, 2u, 3u}) EXPECT_EQ(lost_by(named(other)), other);
  for (const PeerIndex sender : {0u, 2u, 3u}) EXPECT_EQ(lost_by(named(2), sender), 2u) << sender;
  for (const PeerIndex none : {1u, 4u, 5u, kUnknownPeer}) EXPECT_EQ(lost_by(named(none)), kUnknownPeer);
  std::vector<std::byte> longer = named(2);
  longer.push_back({});
  EXPECT_EQ(lost_by(longer), kUnknownPeer);
  EXPECT_EQ(lost_by({}), kUnknownPeer);
}

// A round of a collective that is over here is not kept, whichever it is.
TEST(BrokenCollective, NothingOfThePastIsKept) {
  Collective task(0, 4);
  Sent sent;
  task.begin_barrier(sent);
  task.fail(1, sent);
  task.begin_barrier(sent);
  for (const std::uint32_t round : {0u, 1u, 2u, 1000u}) {
    const std::size_t before = sent.told.size();
    EXPECT_TRUE(task.arrived(2, 1, round, {}, sent));
    EXPECT_EQ(task.early_rounds_of(2), 0u) << round;
    EXPECT_EQ(sent.told.size(), before + 1) << round;
    EXPECT_EQ(sent.lost.back(), kUnknownPeer) << "why that one has failed is forgotten";
  }
  EXPECT_TRUE(task.active());
}

TEST(BrokenCollective, OneThatIsBegunHasLostNobody) {
  Collective task(0, 2);
  Sent sent;
  task.begin_barrier(sent);
  task.fail(1, sent);
  EXPECT_EQ(task.lost_peer(), 1u);
  task.begin_barrier(sent);
  EXPECT_FALSE(task.failed());
  EXPECT_EQ(task.lost_peer(), kUnknownPeer);
  task.arrived(1, 2, 0, {}, sent);
  EXPECT_FALSE(task.active() || task.failed());
  EXPECT_EQ(task.lost_peer(), kUnknownPeer);
}

TEST(BrokenCollective, OneThatFailsAtOnceIsToldToAllReceivers) {
  Collective task(0, 8);
  Sent sent;
  task.begin_barrier(sent);
  for (std::uint32_t round = 0; round < 3; ++round) task.arrived(8 - (1u << round), 1, round, {}, sent);
  ASSERT_FALSE(task.active() || task.failed());
  task.begin_failed(sent);
  EXPECT_TRUE(task.failed());
  EXPECT_EQ(sent.told, (Peers{1, 2, 4}));
  EXPECT_EQ(sent.lost, Peers(3, kUnknownPeer));
  EXPECT_EQ(sent.latest, 2u);
}

// Whatever the one before was, and how far it has come.
TEST(BrokenCollective, OneThatFailsAtOnceBeginsAnew) {
  Collective task(0, 8);
  Sent sent;
  task.begin_exchange(1, sent);
  task.fail(5, sent);
  const std::size_t before = sent.told.size();
  task.begin_failed(sent);
  EXPECT_EQ(Peers(sent.told.begin() + static_cast<std::ptrdiff_t>(before), sent.told.end()), (Peers{1, 2, 4}));
  EXPECT_EQ(task.lost_peer(), kUnknownPeer);
}

TEST(BrokenCollective, WhoComesLateIsToldWhoWasLost) {
  Collective task(0, 4);
  Sent sent;
  task.begin_barrier(sent);
  task.fail(2, sent);
  EXPECT_TRUE(task.arrived(3, 1, 0, {}, sent));
  EXPECT_EQ(sent.told.back(), 3u);
  EXPECT_EQ(sent.lost.back(), 2u);
  EXPECT_EQ(sent.latest, 1u);
}

// It was told before it began: no round leaves.
TEST(BrokenCollective, OneThatIsBrokenBeforeItBeginsSendsNoRound) {
  Collective task(0, 4);
  Sent sent;
  const PeerIndex lost = 2;
  std::vector<std::byte> bytes(sizeof(lost));
  std::memcpy(bytes.data(), &lost, sizeof(lost));
  task.arrived(3, 1, Collective::kBrokenRound, bytes, sent);
  task.begin_barrier(sent);
  EXPECT_TRUE(task.failed());
  EXPECT_EQ(task.lost_peer(), lost);
  EXPECT_TRUE(sent.rounds.empty());
  EXPECT_EQ(sent.told, Peers{1}) << "not whom was lost";
}

TEST(BrokenCollective, WhatOneTaskHasSentEarlyIsCountedUntilItIsUsed) {
  Collective task(0, 4);
  Sent sent;
  for (const std::uint32_t sequence : {1u, 2u, 3u}) EXPECT_TRUE(task.arrived(3, sequence, 0, {}, sent));
  for (const std::size_t left : {2u, 1u, 0u}) {
    task.begin_barrier(sent);
    EXPECT_EQ(task.early_rounds_of(3), left);
    task.arrived(2, static_cast<std::uint32_t>(3 - left), 1, {}, sent);
    EXPECT_FALSE(task.active() || task.failed());
  }
}

}  // namespace
}  // namespace openlapi
