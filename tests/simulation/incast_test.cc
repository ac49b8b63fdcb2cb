// Many tasks send to one, which has so many slots for packets that arrive: what finds none is lost, and nobody is told.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/epoch.h"
#include "dataplane/paths/channel_set.h"
#include "nic/verbs/job_size.h"
#include "tests/support/quiet_listener.h"
#include "tests/support/seeded_random.h"
#include "tests/support/simulated_network.h"

namespace openlapi {
namespace {

constexpr Epoch kEpoch = Epoch{1} << kBeginningBits;
constexpr Nanoseconds kStep = 2 * kMicrosecond, kDelay = 3 * kMicrosecond;
constexpr PeerIndex kReceiver = 0;

struct Slots {
  std::uint32_t all;
  std::uint32_t of_sender;
};

// Has channels to all tasks that it talks to.
class Task final : public QuietListener {
 public:
  Task(PeerIndex self, std::uint32_t tasks, SimulatedNetwork& network, std::uint32_t packet, Slots slots, Clock& clock)
      : port_(network, {.address = {self, 0, 0},
                        .limits = {packet, 64, false, true},
                        .queue_packets = slots.all,
                        .packets_of_sender = slots.of_sender,
                        .bytes_per_second = 25'000'000'000}),
        config_(config_of(self, tasks)),
        set_(config_, std::span(&transport_, 1), clock, *this),
        channels_(tasks) {}

  // Offers records of these bytes until so many were taken, of which the channel packs as many as fit into a packet; or
  // longer ones, whose data is not copied.
  void send(PeerIndex to, std::size_t length, std::uint64_t records, std::uint64_t& sent) {
    PeerChannel& channel = *channel_to(to, true);
    while (sent != records) {
      const ConstBuffer head{&sent, sizeof(sent)};
      const std::size_t rest = length - sizeof(sent);
      const bool copied = length <= 256;
      const ConstBuffer pieces[] = {head, {data_.data(), rest}};
      if (copied ? !channel.send(pieces, static_cast<std::uint32_t>(length))
                 : !channel.send_referenced({&head, 1}, {data_.data(), rest}, 1)) {
        return;
      }
      ++sent;
    }
  }
  void step(Nanoseconds now) {
    set_.receive();
    set_.transmit(now);
    set_.run_timers(now);
  }
  std::uint64_t received() const { return received_; }  // bytes

 private:
  static EndpointConfig config_of(PeerIndex self, std::uint32_t tasks) {
    EndpointConfig config;
    config.self = self;
    config.tasks = tasks;
    config.epoch = kEpoch;
    return config;
  }
  PeerChannel* channel_to(PeerIndex peer, bool) override {
    if (!channels_[peer]) channels_[peer] = set_.make_channel(peer, std::span(&transport_, 1), {0, kEpoch});
    return channels_[peer].get();
  }
  void channel_delivered(PeerIndex, std::span<std::byte> payload) override { received_ += payload.size(); }

  SimulatedTransport port_;
  Transport* transport_ = &port_;
  const EndpointConfig config_;
  ChannelSet set_;
  std::vector<std::unique_ptr<PeerChannel>> channels_;
  std::vector<std::byte> data_ = std::vector<std::byte>(8192);
  std::uint64_t received_ = 0;
};

struct Load {
  std::uint32_t senders = 64;
  std::uint32_t packet = 4096;      // bytes
  std::size_t record = 4000;        // bytes
  std::uint64_t records = 150;      // of each sender
  bool answers = false;             // the receiver sends as much to each of them
  Nanoseconds longest_absence = 0;  // of the receiver, now and then
};

// Returns how many packets were dropped.
std::uint64_t run(const Load& load, Slots slots) {
  VirtualTime time;
  SimulatedNetwork network(time, 1);
  network.set_faults({.least_delay = kDelay, .most_delay = kDelay});  // what overtakes seems lost, and is sent again
  SeededRandom random(1);
  const std::uint32_t count = load.senders + 1;
  std::vector<std::unique_ptr<Task>> tasks;
  for (PeerIndex task = 0; task != count; ++task) {
    tasks.push_back(std::make_unique<Task>(task, count, network, load.packet, slots, time.clock()));
  }
  std::vector<std::uint64_t> sent(count), answered(count);
  const std::uint64_t bytes = load.records * load.record;
  const auto is_over = [&] {
    if (tasks[kReceiver]->received() < load.senders * bytes) return false;
    for (PeerIndex task = 1; load.answers && task != count; ++task) {
      if (tasks[task]->received() < bytes) return false;
    }
    return true;
  };
  Nanoseconds away_from = kSecond, away_until = 0;
  for (time.run_until(kSecond); !is_over() && time.now() < 3 * kSecond; time.run_until(time.now() + kStep)) {
    for (PeerIndex task = 1; task != count; ++task) {
      tasks[task]->send(kReceiver, load.record, load.records, sent[task]);
      if (load.answers) tasks[kReceiver]->send(task, load.record, load.records, answered[task]);
      tasks[task]->step(time.now());
    }
    if (load.longest_absence != 0 && time.now() >= away_from) {
      away_until = time.now() + random.below(load.longest_absence);
      away_from = away_until + 2 * load.longest_absence + random.below(load.longest_absence);
    }
    if (time.now() >= away_until) tasks[kReceiver]->step(time.now());
  }
  EXPECT_TRUE(is_over());
  return network.counters().overflowed;
}

// As the verbs transport of a job of so many tasks on as many nodes, or on fewer.
Slots slots_of(const Load& load, std::uint32_t local_tasks = 1) {
  const std::uint32_t all = verbs::receive_slots_for({.tasks = load.senders + local_tasks, .local_tasks = local_tasks});
  return {all, verbs::packets_of_sender(all, load.senders)};
}

// The test of these tests.
TEST(Incast, LosesPacketsWhereNobodyKnowsHowManyFit) {
  const Load load{.records = 500};
  EXPECT_GT(run(load, {slots_of(load).all, UINT32_MAX}), 1000u);
}

class IncastOf : public testing::TestWithParam<Load> {};

TEST_P(IncastOf, LosesNoPacket) {
  for (const std::uint32_t local_tasks : {1u, 64u, 128u}) {
    EXPECT_EQ(run(GetParam(), slots_of(GetParam(), local_tasks)), 0u) << local_tasks << " tasks share the node";
  }
}

constexpr Nanoseconds kBriefly = 4 * kMillisecond;  // less than the shortest time-out
INSTANTIATE_TEST_SUITE_P(
    Loads, IncastOf,
    testing::Values(Load{}, Load{.packet = 1024, .record = 960}, Load{.record = 2100}, Load{.record = 8 + 64},
                    Load{.answers = true}, Load{.record = 64, .answers = true}, Load{.longest_absence = kBriefly},
                    Load{.packet = 1024, .record = 960, .answers = true, .longest_absence = kBriefly},
                    Load{.senders = 16}, Load{.senders = 1, .records = 5000}));

}  // namespace
}  // namespace openlapi
