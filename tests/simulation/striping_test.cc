// Much data from one task to another over several networks, in virtual time: how much faster than over one of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "dataplane/base/epoch.h"
#include "dataplane/paths/channel_set.h"
#include "tests/support/quiet_listener.h"
#include "tests/support/seeded_random.h"
#include "tests/support/simulated_network.h"

namespace openlapi {
namespace {

constexpr std::uint64_t kMegabit = 1'000'000 / 8;  // bytes a second
constexpr std::uint32_t kPacket = 1472;
constexpr std::size_t kLong = 4 * 1024 * 1024;
constexpr Epoch kEpoch = Epoch{1} << kBeginningBits;

struct Link {
  std::uint64_t bytes_per_second;
  std::uint32_t packet = kPacket;
  std::uint64_t burst = 0;
};
const std::vector<Link> kFast{{400 * kMegabit}};
constexpr std::uint32_t kJumboPacket = 8968;
constexpr Nanoseconds kStep = 2 * kMicrosecond;

// A task that shares its core: it works and waits in turn, for times between half of these and one and a half.
struct Turns {
  Nanoseconds works = kSecond, waits = 0;
  bool both = true;  // or the receiver alone
};

class Task final : public QuietListener {
 public:
  Task(PeerIndex self, SimulatedNetwork& network, const std::vector<Link>& links, Clock& clock)
      : ports_(open(self, network, links)), config_(config_of(self)), set_(config_, transports_, clock, *this) {
    std::string error;
    for (std::uint32_t link = 0; link != links.size(); ++link) {
      EXPECT_TRUE(ports_[link]->add_peer(1 - self, SimulatedTransport::encode({1 - self, 0, link}), error)) << error;
    }
    channel_ = set_.make_channel(1 - self, transports_, {0, kEpoch});
  }

  // Offers records until so many bytes were taken in all.
  void send(std::size_t bytes) {
    const std::size_t length = channel_->max_record() - 8;
    while (sent_ < bytes) {
      const std::uint64_t number = sent_;
      const ConstBuffer head{&number, sizeof(number)};
      if (!channel_->send_referenced({&head, 1}, {data_.data(), length}, 1)) return;
      sent_ += length;
    }
  }
  void step(Nanoseconds now) {
    set_.receive();
    set_.transmit(now);
    set_.run_timers(now);
  }
  bool settled() const { return set_.settled(); }
  std::size_t received() const { return received_; }
  bool in_order() const { return in_order_; }
  void delay_link(std::size_t link, Nanoseconds further) { ports_[link]->set_further_delay(further); }
  std::uint64_t packets_over(std::size_t link) const { return ports_[link]->counters().packets_sent; }
  MessageStatistics statistics() const {
    MessageStatistics sums;
    set_.add_statistics(sums);
    return sums;
  }

 private:
  static EndpointConfig config_of(PeerIndex self) {
    EndpointConfig config;
    config.self = self;
    config.tasks = 2;
    config.epoch = kEpoch;
    return config;
  }
  std::vector<std::unique_ptr<SimulatedTransport>> open(PeerIndex self, SimulatedNetwork& network,
                                                        const std::vector<Link>& links) {
    std::vector<std::unique_ptr<SimulatedTransport>> ports;
    for (std::uint32_t link = 0; link != links.size(); ++link) {
      PortConfig config;
      config.address = {self, 0, link};
      config.limits = {links[link].packet, 64, false, true};
      config.queue_packets = 4096;
      config.bytes_per_second = links[link].bytes_per_second;
      config.burst_bytes = links[link].burst;
      config.longest_backlog = 4 * kMillisecond;
      ports.push_back(std::make_unique<SimulatedTransport>(network, config));
      transports_.push_back(ports.back().get());
    }
    return ports;
  }

  PeerChannel* channel_to(PeerIndex, bool) override { return channel_.get(); }
  void channel_delivered(PeerIndex, std::span<std::byte> payload) override {
    std::uint64_t number;
    std::memcpy(&number, payload.data(), sizeof(number));
    in_order_ &= number == received_;
    received_ += payload.size() - sizeof(number);
  }

  std::vector<Transport*> transports_;
  std::vector<std::unique_ptr<SimulatedTransport>> ports_;
  const EndpointConfig config_;
  ChannelSet set_;
  std::unique_ptr<PeerChannel> channel_;
  std::vector<std::byte> data_ = std::vector<std::byte>(kJumboPacket);
  std::size_t sent_ = 0, received_ = 0;
  bool in_order_ = true;
};

// Two tasks that take a step every two microseconds, while they have a core.
class Striping {
 public:
  explicit Striping(const std::vector<Link>& links, NetworkFaults faults = {}, Turns turns = {})
      : network_(time_, 1), turns_(turns) {
    faults_ = faults;
    delay(0);
    for (PeerIndex task = 0; task != 2; ++task) {
      tasks_.push_back(std::make_unique<Task>(task, network_, links, time_.clock()));
    }
  }

  void delay(Nanoseconds further) {
    faults_.least_delay = 10 * kMicrosecond + further;
    faults_.most_delay = 12 * kMicrosecond + further;
    network_.set_faults(faults_);
  }
  void delay_link(std::size_t link, Nanoseconds further) {
    for (auto& task : tasks_) task->delay_link(link, further);
  }
  // How long it takes to bring so many bytes more.
  Nanoseconds carry(std::size_t bytes) {
    const Nanoseconds begin = time_.now();
    all_ += bytes;
    while (tasks_[1]->received() < all_ && time_.now() < begin + 60 * kSecond) {
      if (has_core(0)) tasks_[0]->send(all_);
      for (PeerIndex task = 0; task != 2; ++task) {
        if (has_core(task)) tasks_[task]->step(time_.now());
      }
      time_.run_until(time_.now() + kStep);
    }
    EXPECT_GE(tasks_[1]->received(), all_);
    EXPECT_TRUE(tasks_[1]->in_order());
    return time_.now() - begin;
  }
  // The same in both directions at once.
  void exchange(std::size_t bytes) {
    const Nanoseconds begin = time_.now();
    while (std::min(tasks_[0]->received(), tasks_[1]->received()) < bytes && time_.now() < begin + 60 * kSecond) {
      for (auto& task : tasks_) {
        task->send(bytes);
        task->step(time_.now());
      }
      time_.run_until(time_.now() + kStep);
    }
    for (auto& task : tasks_) EXPECT_TRUE(task->in_order() && task->received() >= bytes);
  }
  // What was learnt from a long message serves the next.
  double bandwidth(std::size_t bytes) {
    carry(2 * kLong);
    return static_cast<double>(bytes) / static_cast<double>(carry(bytes)) * 1e9;
  }
  Task& sender() { return *tasks_[0]; }
  Task& receiver() { return *tasks_[1]; }

 private:
  bool has_core(PeerIndex task) {
    Shift& shift = shifts_[task];
    if (turns_.waits == 0 || (task == 0 && !turns_.both)) return true;
    if (time_.now() < shift.until) return shift.works;
    shift.works = !shift.works;
    const Nanoseconds usual = shift.works ? turns_.works : turns_.waits;
    shift.until = time_.now() + usual / 2 + random_.below(usual);
    return shift.works;
  }

  struct Shift {
    bool works = true;
    Nanoseconds until = 0;
  };
  VirtualTime time_;
  SimulatedNetwork network_;
  NetworkFaults faults_;
  const Turns turns_;
  std::array<Shift, 2> shifts_;
  SeededRandom random_{1};
  std::vector<std::unique_ptr<Task>> tasks_;
  std::size_t all_ = 0;
};

double bandwidth_of(const std::vector<Link>& links) { return Striping(links).bandwidth(kLong); }

TEST(StripingTest, EqualLinksAddUp) {
  const double one = bandwidth_of({{400 * kMegabit}});
  for (const auto& [links, least] : {std::pair{2u, 1.97}, {4u, 3.9}, {8u, 7.8}}) {
    Striping striping(std::vector<Link>(links, Link{400 * kMegabit}));
    EXPECT_GT(striping.bandwidth(kLong) / one, least) << links << " links";
    EXPECT_EQ(striping.sender().statistics().retransmitted_packets, 0u);
  }
}

// All that is in flight is acknowledged together: the network is never what limits.
TEST(StripingTest, LinksThatNeverFillUpCostNothing) {
  constexpr Link kVeryFast{100'000'000'000, kJumboPacket};
  const auto bandwidth = [&](unsigned links) {
    return Striping(std::vector<Link>(links, kVeryFast), {}, {kStep, 20 * kMicrosecond}).bandwidth(kLong);
  };
  const double alone = bandwidth(1);
  for (const unsigned links : {2u, 8u}) EXPECT_GT(bandwidth(links) / alone, 0.95) << links << " links";
}

TEST(StripingTest, AlsoWhereTasksWaitForACore) {
  const Link link{400 * kMegabit, kJumboPacket};
  for (const Nanoseconds waits : {1 * kMillisecond, 3 * kMillisecond}) {
    const auto bandwidth = [&](unsigned links) {
      return Striping(std::vector<Link>(links, link), {}, {3 * kMillisecond, waits}).bandwidth(8 * kLong);
    };
    const double alone = bandwidth(1);
    for (const auto& [links, least] : {std::pair{2u, 1.9}, {4u, 3.6}, {8u, 6.8}}) {
      EXPECT_GT(bandwidth(links) / alone, least) << links << " links, waits " << waits;
    }
  }
}

TEST(StripingTest, AlsoWhereTasksComputeForLong) {
  const Link link{400 * kMegabit, kJumboPacket};
  for (const bool both : {true, false}) {
    const auto bandwidth = [&](unsigned links) {
      return Striping(std::vector<Link>(links, link), {}, {kMillisecond, 50 * kMillisecond, both}).bandwidth(8 * kLong);
    };
    const double alone = bandwidth(1);
    for (const auto& [links, least] : {std::pair{2u, 1.8}, {8u, 6.0}}) {
      EXPECT_GT(bandwidth(links) / alone, least) << links << " links, " << (both ? "both tasks" : "the target");
    }
  }
}

// As after a failure on the way: from then on all takes 50 ms longer. Then one link carries a fifth of what it could,
// 1 MiB in a round trip, and several bring less than their number (LIMITS.md); but none of them makes it slower.
TEST(StripingTest, AlsoWhereTheWayBecomesLonger) {
  const Link link{400 * kMegabit, kJumboPacket};
  const auto bandwidth = [&](unsigned links) {
    Striping striping(std::vector<Link>(links, link));
    striping.carry(8 * kLong);
    striping.delay(50 * kMillisecond);
    striping.carry(8 * kLong);
    return striping.bandwidth(2 * kLong);
  };
  const double alone = bandwidth(1);
  EXPECT_GT(alone / (400 * kMegabit), 0.15);  // not each packet several times
  for (const auto& [links, least] : {std::pair{2u, 1.0}, {8u, 1.6}}) {
    EXPECT_GT(bandwidth(links) / alone, least) << links << " links";
  }
}

// Messages are sent one after the other, and links have tokens for the beginning of each.
TEST(StripingTest, AlsoWhereLinksBeginFaster) {
  const Link link{400 * kMegabit, kJumboPacket, 128 * 1024};
  for (const Nanoseconds waits : {Nanoseconds{0}, 500 * kMicrosecond}) {
    const auto time = [&](unsigned links) {
      Striping striping(std::vector<Link>(links, link), {}, {2 * kMillisecond, waits});
      striping.carry(8 * kLong);
      Nanoseconds sum = 0;
      for (int message = 0; message != 32; ++message) sum += striping.carry(kLong);
      return static_cast<double>(sum);
    };
    const double alone = time(1);
    for (const auto& [links, least] : {std::pair{2u, 1.9}, {4u, 3.7}, {8u, 7.2}}) {
      EXPECT_GT(alone / time(links), least) << links << " links, waits " << waits;
    }
  }
}

TEST(StripingTest, UnequalLinksAddUp) {
  const double fast = bandwidth_of({{400 * kMegabit}});
  const double slow = bandwidth_of({{40 * kMegabit}});
  EXPECT_GT(bandwidth_of({{400 * kMegabit}, {40 * kMegabit}}) / (fast + slow), 0.95);
  EXPECT_GT(bandwidth_of({{40 * kMegabit}, {400 * kMegabit}}) / (fast + slow), 0.95);
}

// A packet takes 3 ms over the slow one, and a message of 256 KiB 5 ms over the other.
TEST(StripingTest, AVerySlowLinkCostsLittle) {
  for (const std::size_t bytes : {16 * 1024, 64 * 1024, 256 * 1024, 1024 * 1024}) {
    const double alone = Striping(kFast).bandwidth(bytes);
    EXPECT_GT(Striping(std::vector<Link>{{400 * kMegabit}, {4 * kMegabit}}).bandwidth(bytes) / alone, 0.9) << bytes;
  }
}

TEST(StripingTest, AlsoWhenPacketsAreLost) {
  NetworkFaults faults;
  faults.loss = 0.001;
  const double alone = Striping(kFast, faults).bandwidth(4 * kLong);
  EXPECT_GT(Striping(std::vector<Link>(4, kFast[0]), faults).bandwidth(4 * kLong) / alone, 3);
}

TEST(StripingTest, DataInBothDirectionsIsNoReasonToDoubtALink) {
  for (const std::uint64_t second : {400, 40}) {
    Striping striping(std::vector<Link>{{400 * kMegabit}, {second * kMegabit}});
    striping.exchange(2 * kLong);
    EXPECT_EQ(striping.sender().statistics().retransmitted_packets, 0u);
    EXPECT_EQ(striping.receiver().statistics().retransmitted_packets, 0u);
  }
}

// As after another route was chosen for it.
TEST(StripingTest, ShortMessagesTakeTheLinkThatIsQuickestNow) {
  Striping striping(std::vector<Link>(3, kFast[0]));
  const auto packets_over_each = [&](unsigned messages) {
    std::array<std::uint64_t, 3> sent{};
    for (std::size_t link = 0; link != 3; ++link) sent[link] = striping.sender().packets_over(link);
    for (unsigned i = 0; i < messages; ++i) striping.carry(1000);
    for (std::size_t link = 0; link != 3; ++link) sent[link] = striping.sender().packets_over(link) - sent[link];
    return sent;
  };
  for (const auto& [slow, quick] : {std::array{std::size_t{1}, std::size_t{0}}, {0, 2}, {2, 1}}) {
    for (std::size_t link = 0; link != 3; ++link) {
      striping.delay_link(link, link == slow ? kMillisecond : link == quick ? 0 : 100 * kMicrosecond);
    }
    packets_over_each(20'000);
    const auto sent = packets_over_each(1000);
    EXPECT_GT(sent[quick], 50 * (sent[slow] + sent[3 - slow - quick])) << slow << " is slow";
  }
}

TEST(StripingTest, ShortMessagesStayOnOneLink) {
  Striping striping(std::vector<Link>(2, kFast[0]));
  for (int i = 0; i < 100; ++i) striping.carry(8000);
  EXPECT_EQ(striping.sender().packets_over(1), 0u);
}

}  // namespace
}  // namespace openlapi
