#include "api/rpi/lapi/joined_worlds.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/rpi/lapi/envelope.h"
#include "api/rpi/lapi/meeting_bootstrap.h"
#include "dataplane/base/monotonic_clock.h"
#include "tests/unit/rpi/posted_messages.h"

namespace openlapi::rpi {
namespace {

// A sleep is not over by itself before a busy machine has done what ends it.
constexpr Nanoseconds kLongSleep = 60 * kSecond, kSoon = 20 * kSecond;

// Wakes whoever sleeps when it is rung; then there is something to do.
class RungSource final : public WakeSource {
 public:
  int descriptor() const override { return bell.descriptor(); }
  bool immediate() const override { return true; }
  bool arm() override {
    armed = true;
    return !rung;
  }
  void disarm() override { armed = false; }

  Bell bell;
  std::atomic<bool> rung{false}, armed{false};
};

// Peer 0 is this process.
class PartWorld final : public PolledWorld {
 public:
  PartWorld(Peer peers, WorldListener& listener, Nanoseconds longest_sleep) : listener(listener), peers_(peers) {
    waking_.sources.push_back(&source);
    waking_.pace.longest_sleep = longest_sleep;
  }
  Peer self() const override { return 0; }
  Peer peers() const override { return peers_; }
  void send_message(Peer peer, std::span<const std::byte>, std::span<const std::byte>, WhenDone) override {
    sent_to.push_back(peer);
  }
  void get(Peer, std::uint64_t, std::span<std::byte>, WhenDone) override {}
  void has_left(Peer peer) override { left.push_back(peer); }
  void expect_no_more(Peer peer) override { unexpected.push_back(peer); }
  void give_up(Peer peer, const char*) override { given_up.push_back(peer); }
  bool drained() override { return to_drain == 0; }
  bool step(Step) override {
    const bool brings = to_bring > 0;
    if (brings && --to_bring == 0) when_brought();
    if (to_drain > 0 && source.rung) --to_drain;
    return source.rung.exchange(false) || brings;
  }
  void look() override {}
  bool is_bringing(Peer peer) const override { return peer == 1 && to_bring > 0; }
  const Waking& waking() const override { return waking_; }
  ArrivalWord arrival_word() override { return {}; }
  void flush() override {}
  bool has_work() override { return false; }
  Nanoseconds deadline() override { return UINT64_MAX; }

  void ring() {
    source.rung = true;
    source.bell.ring();
  }

  WorldListener& listener;
  RungSource source;
  std::vector<Peer> sent_to{}, left{}, unexpected{}, given_up{};
  int to_drain = 0, to_bring = 0;  // in so many steps
  std::function<void()> when_brought{};

 private:
  const Peer peers_;
  Waking waking_{};
};

struct Heard final : WorldListener {
  Landing arriving(const IncomingMessage& message) override {
    from.push_back(message.from);
    return {};
  }
  void lost(Peer peer, const char*) override { lost_peers.push_back(peer); }
  std::vector<Peer> from{}, lost_peers{};
};

class JoinedWorldsTest : public testing::Test {
 protected:
  // A group with this process, which is new in the first one, others that are known, and `others` that are new.
  PartWorld& add(Peer others, Peer known = 0) {
    std::vector<JoinedWorlds::Member> members{{.process = {0, 0}, .is_new = parts_.empty()}};
    for (Peer n = 1; n <= known + others; ++n) members.push_back({.process = {n, 0}, .is_new = n > known});
    std::string reason;
    auto bootstrap = open_meeting_bootstrap(std::make_unique<PostedMessages>(post_, 0, known + others + 1));
    EXPECT_TRUE(worlds_.add(bootstrap, members, reason)) << reason;
    return *parts_.back();
  }
  static void wait_until_asleep(PartWorld& part) {
    while (!part.source.armed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  Landing leaves(PartWorld& part, Peer from) {
    std::array<std::byte, kMostEnvelope> room;
    return part.listener.arriving({from, encode({.kind = EnvelopeKind::leaves}, room), 0});
  }

  Post post_;
  Nanoseconds longest_sleep_ = kLongSleep;
  std::vector<PartWorld*> parts_{};
  Heard heard_{};
  JoinedWorlds worlds_{
      heard_, [this](JoinedJob&, std::span<const WorldProcess> processes, WorldListener& listener, std::string&) {
        auto part = std::make_unique<PartWorld>(static_cast<Peer>(processes.size()), listener, longest_sleep_);
        parts_.push_back(part.get());
        return part;
      }};
};

TEST_F(JoinedWorldsTest, NumbersPeersInTheOrderInWhichTheyCome) {
  PartWorld& first = add(2);
  PartWorld& second = add(1);
  EXPECT_EQ(worlds_.self(), 0U);
  EXPECT_EQ(worlds_.peers(), 4U);
  worlds_.send_message(2, {}, {}, {});
  worlds_.send_message(3, {}, {}, {});
  EXPECT_EQ(first.sent_to, std::vector<Peer>{2});
  EXPECT_EQ(second.sent_to, std::vector<Peer>{1});
  second.listener.arriving({1, {}, 0});
  second.listener.arriving({0, {}, 0});  // it is reached in the first part
  second.listener.lost(1, "");
  EXPECT_EQ(heard_.from, std::vector<Peer>{3});
  EXPECT_EQ(heard_.lost_peers, std::vector<Peer>{3});
  worlds_.has_left(3);
  EXPECT_EQ(second.left, std::vector<Peer>{1});
  worlds_.expect_no_more(3);
  EXPECT_EQ(second.unexpected.back(), 1U);
  worlds_.give_up(2, "");
  EXPECT_EQ(first.given_up, std::vector<Peer>{2});
}

// It leaves in the other part.
TEST_F(JoinedWorldsTest, WhoIsReachedInAnotherPartIsNotExpectedInThisOne) {
  PartWorld& first = add(2);
  PartWorld& second = add(1, 2);
  EXPECT_TRUE(first.unexpected.empty());
  EXPECT_EQ(second.unexpected, (std::vector<Peer>{0, 1, 2}));
}

TEST_F(JoinedWorldsTest, WhoIsRemovedMayStillSayThatItLeaves) {
  PartWorld& first = add(2);
  worlds_.remove(1);
  leaves(first, 1);
  EXPECT_EQ(first.left, std::vector<Peer>{1});
  EXPECT_TRUE(heard_.from.empty());
  Outcome outcome = Outcome::done;
  worlds_.send_message(1, {}, {}, {[](void* told, Outcome how) { *static_cast<Outcome*>(told) = how; }, &outcome});
  EXPECT_EQ(outcome, Outcome::peer_lost);
}

// A sleep ends after a second, also when the other thread was not scheduled meanwhile: then in another one.
TEST_F(JoinedWorldsTest, WhatAnyPartBringsEndsASleep) {
  add(1);
  PartWorld& second = add(1);
  bool ended_that_sleep = false;
  for (int tries = 0; tries < 20 && !ended_that_sleep; ++tries) {
    std::atomic<int> sleeps{0}, rung_in{-1};
    std::thread bringing([&] {
      wait_until_asleep(second);
      rung_in = sleeps.load();
      second.ring();
    });
    while (!worlds_.progress(true)) ++sleeps;
    bringing.join();
    ended_that_sleep = rung_in == sleeps;
  }
  EXPECT_TRUE(ended_that_sleep);
}

TEST_F(JoinedWorldsTest, AnInterruptionEndsASleepOrTheNext) {
  add(1);
  PartWorld& second = add(1);
  bool ended_that_sleep = false;
  for (int tries = 0; tries < 20 && !ended_that_sleep; ++tries) {
    const MonotonicClock clock;
    std::atomic<bool> interrupted{false};
    std::thread interrupting([&] {
      wait_until_asleep(second);
      interrupted = true;
      worlds_.interrupt();
    });
    Nanoseconds slept = 0;
    while (!interrupted) {
      const Nanoseconds begin = clock.now();
      EXPECT_FALSE(worlds_.progress(true));
      slept = clock.now() - begin;
    }
    interrupting.join();
    ended_that_sleep = slept < kSecond;
  }
  EXPECT_TRUE(ended_that_sleep);
  const MonotonicClock clock;
  const Nanoseconds begin = clock.now();
  worlds_.interrupt();
  EXPECT_FALSE(worlds_.progress(true));
  EXPECT_LT(clock.now() - begin, kSoon);
}

TEST_F(JoinedWorldsTest, WhoWaitsInVainLooksRoundAfterASecond) {
  longest_sleep_ = 100 * kMillisecond;
  add(1);
  const MonotonicClock clock;
  const Nanoseconds begin = clock.now();
  EXPECT_FALSE(worlds_.progress(true));
  EXPECT_GE(clock.now() - begin, kSecond);
  EXPECT_LT(clock.now() - begin, kSoon);
}

TEST_F(JoinedWorldsTest, ThePathsOfAGroupEndWhenItsLastPeerIsRemovedAndAllIsTaken) {
  PartWorld& first = add(1);
  PartWorld& second = add(2);
  worlds_.remove(3);
  second.to_drain = 1;
  std::thread taking([&] {
    std::this_thread::sleep_for(std::chrono::seconds(6));  // longer than the limit that there was
    second.ring();
  });
  const MonotonicClock clock;
  const Nanoseconds begin = clock.now();
  worlds_.remove(2);
  EXPECT_GT(clock.now() - begin, 5'900 * kMillisecond);
  taking.join();
  first.ring();
  EXPECT_TRUE(worlds_.progress(false)) << "the other group goes on";
}

TEST_F(JoinedWorldsTest, WhoIsRemovedHasSentAllThatItHadBegunAndIsToldSo) {
  add(1);
  PartWorld& second = add(1);
  std::vector<Peer> told;
  second.to_bring = 3;
  second.when_brought = [&] {
    worlds_.send_message(2, {}, {}, {});
    told = second.sent_to;
  };
  worlds_.remove(2);
  EXPECT_EQ(told, std::vector<Peer>{1});
}

}  // namespace
}  // namespace openlapi::rpi
