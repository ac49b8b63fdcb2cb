// Two ends over a link that loses, repeats, swaps, delays and damages packets, in virtual time. Whatever happens,
// every message is delivered exactly once and in order. A failing seed is run alone with CHANNEL_SOAK_SEED=<seed>.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "tests/support/sanitizers.h"
#include "tests/unit/reliability/channel_end.h"

namespace openlapi {
namespace {

struct LinkFaults {
  unsigned lose = 0;  // per cent of the packets
  unsigned repeat = 0;
  unsigned damage = 0;
  Nanoseconds delay = 0;   // at least
  Nanoseconds jitter = 0;  // at most this much more: packets overtake each other
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random_(seed) {
    faults_ = {.lose = below(30),
               .repeat = below(30),
               .damage = below(10),
               .delay = 1 + below(100'000),
               .jitter = 1 + below(below(2) != 0 ? 1'000'000 : 1'000)};
    if (const unsigned choice = below(3); choice != 0)
      first_sequence_ = choice == 1 ? below(100) : UINT32_MAX - below(300);
    tagged_ = below(2) != 0;
    for (unsigned end = 0; end < 2; ++end) start(end);
  }

  std::uint32_t below(std::uint64_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

  // A new incarnation; the former one is forgotten with all that it had.
  void start(unsigned end) {
    EndConfig config{.self = end, .epoch = ++epochs_[end], .max_packet = 256 + 8 * below(200), .checksum = true};
    config.ack_threshold = 1 + below(31);
    config.first_sequence = first_sequence_;
    config.tagged = tagged_;
    config.buffers = 64 + below(1000);
    if (end == 1) config.max_packet = ends_[0]->context().max_packet;
    if (end == 0 && ends_[1]) config.max_packet = ends_[1]->context().max_packet;
    ends_[end] = std::make_unique<ChannelEnd>(config);
    first_number_[end] = queued_[end];
    ends_[end]->refuse = [this](std::uint64_t) { return below(100) < refuse_; };
  }

  void queue_some(unsigned end, std::uint64_t until) {
    ChannelEnd& from = *ends_[end];
    for (unsigned count = below(20); count > 0 && queued_[end] < until; --count) {
      const std::uint32_t extra = below(from.channel().max_payload() - 8 + 1);
      if (!from.send(queued_[end], extra, below(2) != 0)) return;
      ++queued_[end];
    }
  }

  void put_on_link(unsigned from, PacketBytes packet) {
    if (below(100) < faults_.lose) return;
    const unsigned copies = below(100) < faults_.repeat ? 2 : 1;
    for (unsigned copy = 0; copy < copies; ++copy) {
      PacketBytes bytes = packet;
      if (below(100) < faults_.damage) bytes[below(bytes.size())] ^= std::byte{1} << below(8);
      link_.emplace(now_ + faults_.delay + below(faults_.jitter), std::pair(1 - from, std::move(bytes)));
    }
  }

  // The next thing that happens. False: nothing ever will.
  bool step() {
    Nanoseconds next = link_.empty() ? UINT64_MAX : link_.begin()->first;
    for (const auto& end : ends_) next = std::min(next, end->channel().next_deadline());
    const bool work = ends_[0]->channel().has_transmissions() || ends_[1]->channel().has_transmissions();
    if (next == UINT64_MAX && !work) return false;
    if (work) next = std::min(next, now_ + 1000);
    now_ = std::max(now_, next);
    while (!link_.empty() && link_.begin()->first <= now_) {
      auto arrival = std::move(link_.extract(link_.begin()).mapped());
      ends_[arrival.first]->receive(std::move(arrival.second), now_);
    }
    for (unsigned end = 0; end < 2; ++end) {
      ends_[end]->channel().run_timers(now_);
      for (PacketBytes& packet : ends_[end]->transmit(now_, below(64))) put_on_link(end, std::move(packet));
      ends_[end]->note_completed();
    }
    return true;
  }

  void heal() {
    faults_.lose = faults_.repeat = faults_.damage = 0;
    refuse_ = 0;
  }

  void keep_order() { faults_.jitter = 1; }
  void set_faults(const LinkFaults& faults) {
    heal();
    faults_ = faults;
  }

  ChannelEnd& end(unsigned which) { return *ends_[which]; }
  std::uint64_t queued(unsigned end) const { return queued_[end]; }
  std::uint64_t first_number(unsigned end) const { return first_number_[end]; }
  Nanoseconds now() const { return now_; }
  bool settled() { return ends_[0]->channel().all_acknowledged() && ends_[1]->channel().all_acknowledged(); }

 private:
  std::mt19937_64 random_;
  LinkFaults faults_;
  unsigned refuse_ = 3;  // per cent of the offers
  std::unique_ptr<ChannelEnd> ends_[2];
  Epoch epochs_[2] = {};
  std::optional<Sequence> first_sequence_;
  bool tagged_ = false;
  std::uint64_t queued_[2] = {};        // messages over all incarnations: numbers are never used twice
  std::uint64_t first_number_[2] = {};  // of the present incarnation
  std::multimap<Nanoseconds, std::pair<unsigned, PacketBytes>> link_;
  Nanoseconds now_ = kSecond;
};

std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* one = std::getenv("CHANNEL_SOAK_SEED"); one != nullptr) return {std::strtoull(one, nullptr, 10)};
  return numbers(1, count);
}

TEST(ChannelSoak, EverythingArrivesOnceAndInOrder) {
  constexpr std::uint64_t kMessages = 400;
  ReliabilityCounters sum;
  for (const std::uint64_t seed : seeds(repetitions(300u))) {
    SCOPED_TRACE("CHANNEL_SOAK_SEED=" + std::to_string(seed));
    Simulation simulation(seed);
    while (simulation.queued(0) < kMessages || simulation.queued(1) < kMessages || !simulation.settled()) {
      simulation.queue_some(0, kMessages);
      simulation.queue_some(1, kMessages);
      simulation.step();
      ASSERT_LT(simulation.now(), 1000 * kSecond) << "no progress";
    }
    while (simulation.step()) {
    }
    for (unsigned end = 0; end < 2; ++end) {
      ASSERT_EQ(simulation.end(end).delivered, numbers(0, kMessages));
      ASSERT_EQ(simulation.end(end).acknowledged, numbers(0, kMessages));
      ASSERT_EQ(simulation.end(end).channel().next_deadline(), UINT64_MAX);
      const ReliabilityCounters& counters = simulation.end(end).counters();
      sum.duplicates += counters.duplicates;
      sum.retransmits += counters.retransmits;
      sum.early += counters.early;
      sum.damaged += counters.damaged;
      sum.refused += counters.refused;
      sum.timeouts += counters.timeouts;
    }
  }
  EXPECT_GT(sum.duplicates, 0u);
  EXPECT_GT(sum.retransmits, 0u);
  EXPECT_GT(sum.early, 0u);
  EXPECT_GT(sum.damaged, 0u);
  EXPECT_GT(sum.refused, 0u);
  EXPECT_GT(sum.timeouts, 0u);
}

// What the incarnations of one task have been given by the other.
class RestartChecker {
 public:
  void note(const ChannelEnd& receiver) {
    std::uint64_t previous = 0;
    bool first = true;
    for (const std::uint64_t number : receiver.delivered) {
      EXPECT_TRUE(first || number > previous) << "message " << number << " after " << previous;
      EXPECT_TRUE(all_.insert(number).second) << "message " << number << " was delivered to two incarnations";
      previous = number;
      first = false;
    }
  }
  bool has(std::uint64_t number) const { return all_.contains(number); }

 private:
  std::set<std::uint64_t> all_;
};

TEST(ChannelSoak, RestartsNeitherRepeatNorInvent) {
  for (const std::uint64_t seed : seeds(repetitions(300u))) {
    SCOPED_TRACE("CHANNEL_SOAK_SEED=" + std::to_string(seed));
    Simulation simulation(seed);
    RestartChecker checkers[2];
    for (unsigned restart = 0; restart < 6; ++restart) {
      for (unsigned steps = simulation.below(400); steps > 0; --steps) {
        simulation.queue_some(0, UINT64_MAX);
        simulation.queue_some(1, UINT64_MAX);
        simulation.step();
      }
      const unsigned which = simulation.below(2);
      checkers[which].note(simulation.end(which));
      simulation.start(which);
    }
    simulation.heal();
    simulation.queue_some(0, UINT64_MAX);
    simulation.queue_some(1, UINT64_MAX);
    while (simulation.step()) ASSERT_LT(simulation.now(), 1000 * kSecond) << "no progress";
    ASSERT_TRUE(simulation.settled());
    for (unsigned end = 0; end < 2; ++end) checkers[end].note(simulation.end(end));
    for (unsigned end = 0; end < 2; ++end) {
      const ChannelEnd& sender = simulation.end(end);
      for (const std::uint64_t number : sender.acknowledged) ASSERT_TRUE(checkers[1 - end].has(number)) << number;
      ASSERT_EQ(sender.acknowledged.size() + sender.abandoned.size(),
                simulation.queued(end) - simulation.first_number(end))
          << "every message is either acknowledged or reported as lost";
      ASSERT_TRUE(sender.restarts_seen != 0 || sender.abandoned.empty());
    }
  }
}

// Acknowledgements are lost as well as data: neither may make the estimates, and with them every repair, slow.
TEST(ChannelSoak, HeavyLossStillMoves) {
  for (const std::uint64_t seed : seeds(repetitions(20u))) {
    SCOPED_TRACE("CHANNEL_SOAK_SEED=" + std::to_string(seed));
    Simulation simulation(seed);
    simulation.set_faults({.lose = 20, .repeat = 20, .delay = 100'000, .jitter = 1000});
    const Nanoseconds start = simulation.now();
    while (simulation.queued(0) < 2000 || !simulation.settled()) {
      simulation.queue_some(0, 2000);
      simulation.step();
    }
    EXPECT_LT(simulation.now() - start, 5 * kSecond);
    EXPECT_LT(simulation.end(0).channel().round_trip().smoothed(), 5 * kMillisecond);
  }
}

TEST(ChannelSoak, QuietLinkRetransmitsNothing) {
  for (const std::uint64_t seed : seeds(repetitions(20u))) {
    SCOPED_TRACE("CHANNEL_SOAK_SEED=" + std::to_string(seed));
    Simulation simulation(seed);
    simulation.heal();
    simulation.keep_order();
    while (simulation.queued(0) < 5000 || !simulation.settled()) {
      simulation.queue_some(0, 5000);
      ASSERT_TRUE(simulation.step() || simulation.settled()) << "all that was queued has arrived, if anything was";
    }
    ASSERT_EQ(simulation.end(1).delivered, numbers(0, 5000));
    ASSERT_EQ(simulation.end(0).counters().retransmits, 0u);
    ASSERT_EQ(simulation.end(0).counters().timeouts, 0u);
  }
}

}  // namespace
}  // namespace openlapi
