// The simulated network itself: what it promises to the engines and to anybody who replays a seed.
#include "tests/support/simulated_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace openlapi {
namespace {

struct Arrival {
  std::uint64_t number;
  Nanoseconds when;
  std::uint32_t length;
  bool operator==(const Arrival&) const = default;
};

// Task 0 sends numbered packets to task 1.
class Line {
 public:
  explicit Line(std::uint64_t seed, PortConfig config = {}) : network(time, seed) {
    for (PeerIndex task : {0u, 1u, 2u}) {
      config.address = {task, 0, 0};
      ports.push_back(std::make_unique<SimulatedTransport>(network, config));
    }
    ports[1]->set_arrival_listener([this] { take_in(); });
  }

  bool send(std::uint64_t number, std::size_t bytes = 64) {
    std::vector<std::byte> data(bytes);
    std::memcpy(data.data(), &number, sizeof(number));
    const ConstBuffer piece{data.data(), data.size()};
    const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes)};
    return ports[0]->send_burst(1, {&packet, 1}) == 1;
  }

  void send_all(std::uint64_t count) {
    for (std::uint64_t number = 0; number < count; ++number) {
      while (!send(number)) time.run_until(time.now() + kMicrosecond);
      time.run_until(time.now() + kMicrosecond);
    }
    time.run_until(time.now() + 10 * kSecond);
  }

  void take_in() {
    std::array<IncomingPacket, 4> packets;
    for (std::size_t count; (count = ports[1]->receive_burst(packets)) != 0; ports[1]->release(count)) {
      for (std::size_t i = 0; i < count; ++i) {
        Arrival arrival{0, time.now(), packets[i].length};
        std::memcpy(&arrival.number, packets[i].data, std::min<std::size_t>(8, packets[i].length));
        arrivals.push_back(arrival);
      }
    }
  }

  bool in_order() const {
    return std::is_sorted(arrivals.begin(), arrivals.end(),
                          [](const Arrival& a, const Arrival& b) { return a.number < b.number; });
  }

  VirtualTime time;
  SimulatedNetwork network;
  std::vector<std::unique_ptr<SimulatedTransport>> ports;
  std::vector<Arrival> arrivals;
};

PortConfig reliable_port() {
  PortConfig config;
  config.limits.reliable = true;
  config.queue_packets = 4;
  config.readable = true;
  return config;
}

NetworkFaults rough() {
  NetworkFaults faults;
  faults.loss = faults.duplication = faults.late = 0.2;
  faults.refusal = 0.1;
  faults.latest = kMillisecond;
  return faults;
}

TEST(SimulatedNetwork, RepeatsASeedAndOnlyThat) {
  const auto run = [](std::uint64_t seed) {
    Line line(seed);
    line.network.set_faults(rough());
    line.send_all(500);
    return line.arrivals;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(SimulatedNetwork, IsPerfectWithoutFaults) {
  Line line(1);
  line.send_all(1000);
  ASSERT_EQ(line.arrivals.size(), 1000u);
  EXPECT_EQ(line.network.counters().lost, 0u);
}

TEST(SimulatedNetwork, LosesAndDoublesAsOftenAsAsked) {
  Line line(3);
  NetworkFaults faults;
  faults.loss = 0.3;
  line.network.set_faults(faults);
  line.send_all(10'000);
  EXPECT_NEAR(static_cast<double>(line.arrivals.size()), 7000, 200);
  faults.loss = 0;
  faults.duplication = 0.25;
  line.arrivals.clear();
  line.network.set_faults(faults);
  line.send_all(10'000);
  EXPECT_NEAR(static_cast<double>(line.arrivals.size()), 12'500, 200);
}

TEST(SimulatedNetwork, DelaysWithinBoundsAndLetsPacketsOvertake) {
  Line line(4);
  NetworkFaults faults;
  faults.least_delay = 10 * kMicrosecond;
  faults.most_delay = 90 * kMicrosecond;
  line.network.set_faults(faults);
  const Nanoseconds begin = line.time.now();
  for (std::uint64_t number = 0; number < 100; ++number) ASSERT_TRUE(line.send(number));
  line.time.run_until(begin + kSecond);
  ASSERT_EQ(line.arrivals.size(), 100u);
  EXPECT_FALSE(line.in_order());
  for (const Arrival& arrival : line.arrivals) {
    EXPECT_GE(arrival.when - begin, faults.least_delay);
    EXPECT_LE(arrival.when - begin, faults.most_delay + 100 * 64);  // and the time on the line
  }
}

TEST(SimulatedNetwork, DamagesOnlyWhereNobodyElseChecks) {
  NetworkFaults faults;
  faults.corruption = 1;
  PortConfig unchecked;
  unchecked.limits.checked = false;
  Line open(5, unchecked), closed(5);
  for (Line* line : {&open, &closed}) {
    line->network.set_faults(faults);
    line->send_all(50);
  }
  EXPECT_EQ(open.network.counters().damaged, 50u);
  EXPECT_EQ(closed.network.counters().damaged, 0u);
  EXPECT_EQ(closed.arrivals.size(), 50u);
}

TEST(SimulatedNetwork, IsFullWhenTheLineIs) {
  Line line(6);
  std::uint64_t sent = 0;
  while (sent < 100'000 && line.send(sent, 1400)) ++sent;
  EXPECT_LT(sent, 1000u);
  EXPECT_EQ(line.ports[0]->counters().send_refused, 1u);
  line.time.run_until(line.time.now() + kMillisecond);
  EXPECT_TRUE(line.send(sent, 1400));
}

TEST(SimulatedNetwork, DropsWhatTheReceiverHasNoRoomFor) {
  PortConfig small;
  small.queue_packets = 10;
  Line line(7, small);
  line.ports[1]->set_arrival_listener({});
  for (std::uint64_t number = 0; number < 30; ++number) ASSERT_TRUE(line.send(number));
  line.time.run_until(line.time.now() + kSecond);
  line.take_in();
  EXPECT_EQ(line.arrivals.size(), 10u);
  EXPECT_EQ(line.network.counters().overflowed, 20u);
}

TEST(SimulatedNetwork, SeparatesAndHeals) {
  Line line(8);
  line.network.partition({0, 1});
  line.send_all(10);
  EXPECT_TRUE(line.arrivals.empty());
  line.network.partition({});
  line.send_all(10);
  EXPECT_EQ(line.arrivals.size(), 10u);
}

TEST(SimulatedNetwork, BringsPacketsToWrongPlaces) {
  Line line(9);
  NetworkFaults faults;
  faults.misdelivery = 1;
  line.network.set_faults(faults);
  line.send_all(300);
  EXPECT_NEAR(static_cast<double>(line.arrivals.size()), 100, 40);  // one port of three
}

TEST(SimulatedNetwork, LosesWhatIsUnderWayToADeadPortButNotToItsSuccessor) {
  Line line(10);
  ASSERT_TRUE(line.send(1));
  line.ports[1].reset();
  line.time.run_until(line.time.now() + kSecond);
  EXPECT_EQ(line.network.counters().lost, 1u);
  ASSERT_TRUE(line.send(2));
  PortConfig again;
  again.address = {1, 0, 0};
  line.ports[1] = std::make_unique<SimulatedTransport>(line.network, again);
  line.time.run_until(line.time.now() + kSecond);
  line.take_in();
  ASSERT_EQ(line.arrivals.size(), 1u);
  EXPECT_EQ(line.arrivals[0].number, 2u);
}

TEST(SimulatedNetwork, ReliablePortsLoseNothingAndKeepOrderUnderAllFaults) {
  Line line(11, reliable_port());
  NetworkFaults faults = rough();
  faults.corruption = faults.misdelivery = 0.5;
  line.network.set_faults(faults);
  line.network.partition({0, 1});
  line.send_all(2000);
  ASSERT_EQ(line.arrivals.size(), 2000u);
  EXPECT_TRUE(line.in_order());
}

TEST(SimulatedNetwork, ReliablePortsAreFullAtTheirLimitAndKnowWhoIsGone) {
  Line line(12, reliable_port());
  line.ports[1]->set_arrival_listener({});
  std::uint64_t sent = 0;
  while (line.send(sent)) ++sent;
  EXPECT_EQ(sent, 4u);
  EXPECT_FALSE(line.ports[0]->peer_gone(1));
  line.ports[1].reset();
  EXPECT_TRUE(line.ports[0]->peer_gone(1));
  EXPECT_TRUE(line.send(sent));  // taken, and lost
  line.time.run_until(line.time.now() + kSecond);
}

TEST(SimulatedNetwork, ReadsMemoryOfLivingTasks) {
  PortConfig config = reliable_port();
  Line line(13, config);
  const std::uint64_t word = 77;
  std::uint64_t copy = 0;
  RemoteMemory* memory = line.ports[0]->capabilities().remote_memory;
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(memory->read(1, reinterpret_cast<std::uintptr_t>(&word), &copy, sizeof(copy)));
  EXPECT_EQ(copy, 77u);
  line.ports[1].reset();
  EXPECT_FALSE(memory->read(1, reinterpret_cast<std::uintptr_t>(&word), &copy, sizeof(copy)));
}

TEST(SimulatedNetwork, OverwritesWhatWasReleased) {
  Line line(14);
  line.ports[1]->set_arrival_listener({});
  ASSERT_TRUE(line.send(5));
  ASSERT_TRUE(line.send(6));
  line.time.run_until(line.time.now() + kSecond);
  std::array<IncomingPacket, 2> packets;
  std::size_t held = 0;
  while (held < 2) held += line.ports[1]->receive_burst(std::span(packets).subspan(held));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packets[0].data) % 8, 0u);
  EXPECT_EQ(packets[0].source, kUnknownPeer);
  line.ports[1]->release(2);
}

TEST(SeededRandom, IsTheSameOnEveryMachine) {
  SeededRandom random(1);
  EXPECT_EQ(random.next(), SeededRandom(1).next());
  EXPECT_NE(SeededRandom(1, 1).next(), SeededRandom(1, 2).next());
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = random.between(3, 5);
    EXPECT_TRUE(value >= 3 && value <= 5);
  }
  EXPECT_FALSE(random.chance(0));
  EXPECT_TRUE(random.chance(1));
}

}  // namespace
}  // namespace openlapi
