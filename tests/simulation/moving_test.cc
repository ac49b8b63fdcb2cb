// Two tasks with an adapter each, or several, in virtual time: one of them gets another address.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "dataplane/base/epoch.h"
#include "dataplane/paths/channel_set.h"
#include "dataplane/wire/packet_header.h"
#include "tests/support/quiet_listener.h"
#include "tests/support/simulated_network.h"

namespace openlapi {
namespace {

constexpr PeerIndex kTasks = 2;
constexpr Epoch kEpoch = Epoch{1} << kBeginningBits;

class Task final : public QuietListener {
 public:
  Task(PeerIndex self, SimulatedNetwork& network, Clock& clock, std::uint32_t adapters = 1)
      : self_(self),
        ports_(ports_of(self, network, adapters)),
        transports_(transports_of(ports_)),
        config_(config_of(self)),
        set_(config_, transports_, clock, *this) {}

  // The first contact.
  void meet() {
    if (channel_ != nullptr) return;
    std::string error;
    for (std::uint32_t adapter = 0; adapter != ports_.size(); ++adapter) {
      EXPECT_TRUE(ports_[adapter]->add_peer(1 - self_, SimulatedTransport::encode({1 - self_, 0, adapter}), error))
          << error;
    }
    channel_ = set_.make_channel(1 - self_, transports_, {0, kEpoch});
  }
  void send() {
    meet();
    const std::array<std::byte, 8> record{};
    const ConstBuffer piece{record.data(), record.size()};
    EXPECT_TRUE(channel_->send({&piece, 1}, record.size()));
  }
  void step(Nanoseconds now) {
    set_.receive();
    set_.transmit(now);
    set_.run_timers(now);
  }
  bool settled() const { return set_.settled(); }
  std::size_t received() const { return received_; }
  std::uint64_t packets() const { return ports_[0]->counters().packets_sent; }
  // How many of its paths serve, as far as it knows.
  std::size_t serving() const {
    const std::vector<PathStatus> paths = channel_->path_statuses();
    return static_cast<std::size_t>(std::ranges::count(paths, Nanoseconds{0}, &PathStatus::silent_since));
  }
  bool is_idle() const { return set_.deadline() == UINT64_MAX; }
  std::vector<PeerAddress> told;  // where the other one is

 private:
  using Ports = std::vector<std::unique_ptr<SimulatedTransport>>;

  static Ports ports_of(PeerIndex self, SimulatedNetwork& network, std::uint32_t adapters) {
    Ports ports;
    for (std::uint32_t adapter = 0; adapter != adapters; ++adapter) {
      PortConfig config;
      config.address = {self, 0, adapter};
      config.limits = {1472, 64, false, true};
      ports.push_back(std::make_unique<SimulatedTransport>(network, config));
    }
    return ports;
  }
  static std::vector<Transport*> transports_of(const Ports& ports) {
    std::vector<Transport*> transports;
    for (const auto& port : ports) transports.push_back(port.get());
    return transports;
  }
  static EndpointConfig config_of(PeerIndex self) {
    EndpointConfig config;
    config.self = self;
    config.tasks = kTasks;
    config.epoch = kEpoch;
    config.packet_tags = true;
    return config;
  }

  PeerChannel* channel_to(PeerIndex, bool may_be_new) override {
    if (may_be_new) meet();
    return channel_.get();
  }
  void channel_delivered(PeerIndex, std::span<std::byte>) override { ++received_; }
  void channel_own_address_changed(const Transport& transport, const ChangedAddress&) override {
    if (channel_ != nullptr) set_.tell_addresses(*channel_, transport);
  }
  bool channel_peer_moved(PeerIndex peer, const ChangedAddress& change) override {
    told.push_back(change.present);
    for (std::uint32_t adapter = 0; adapter != ports_.size(); ++adapter) {
      if (change.published != SimulatedTransport::encode({peer, 0, adapter})) continue;
      std::string error;
      return ports_[adapter]->add_peer(peer, change.present, error);
    }
    ADD_FAILURE() << "task " << peer << " has never had this address";
    return false;
  }

  const PeerIndex self_;
  const Ports ports_;
  const std::vector<Transport*> transports_;
  const EndpointConfig config_;
  ChannelSet set_;
  std::unique_ptr<PeerChannel> channel_;
  std::size_t received_ = 0;
};

class Moving : public testing::Test {
 protected:
  void run(std::array<Task*, 2> tasks, Nanoseconds longest, auto until) {
    for (const Nanoseconds end = time_.now() + longest; time_.now() < end && !until();) {
      for (Task* task : tasks) task->step(time_.now());
      time_.run_until(time_.now() + 10 * kMicrosecond);
    }
  }
  void run(Nanoseconds longest, auto until) { run({&a_, &b_}, longest, until); }
  void run(Nanoseconds time) {
    run(time, [] { return false; });
  }
  // Whether a record arrives within that time, and its sender learns it.
  static bool has_come(Task& from, Task& to, std::size_t before) { return to.received() > before && from.settled(); }
  bool brings(Task& from, Task& to, Nanoseconds longest) {
    const std::size_t before = to.received();
    from.send();
    run(longest, [&] { return has_come(from, to, before); });
    return has_come(from, to, before);
  }

  VirtualTime time_;
  SimulatedNetwork network_{time_, 1};
  Task a_{0, network_, time_.clock()}, b_{1, network_, time_.clock()};
};

TEST_F(Moving, TheOtherOneLearnsIt) {
  EXPECT_TRUE(brings(a_, b_, kMillisecond));
  for (int times = 1; times != 4; ++times) {
    network_.move(0, 0);
    run(10 * kMillisecond);
    EXPECT_EQ(b_.told.size(), static_cast<std::size_t>(times));
    EXPECT_TRUE(brings(b_, a_, kMillisecond));
    EXPECT_TRUE(brings(a_, b_, kMillisecond));
  }
}

TEST_F(Moving, WhatIsOnItsWayArrives) {
  EXPECT_TRUE(brings(a_, b_, kMillisecond));
  network_.move(0, 0);
  EXPECT_TRUE(brings(b_, a_, 100 * kMillisecond)) << "to the former address first";
  network_.move(0, 0);
  EXPECT_TRUE(brings(a_, b_, 100 * kMillisecond)) << "from an address that nobody knows yet";
}

TEST_F(Moving, WhoHasMovedMakesItselfKnownAtTheFirstContact) {
  network_.move(0, 0);
  run(10 * kMillisecond);
  EXPECT_EQ(a_.packets(), 0u) << "nobody was talked to";
  EXPECT_TRUE(brings(a_, b_, 100 * kMillisecond));
  EXPECT_TRUE(brings(b_, a_, kMillisecond));
}

TEST_F(Moving, ItIsToldAgainUntilItIsKnown) {
  EXPECT_TRUE(brings(a_, b_, kMillisecond));
  network_.set_faults({.loss = 0.9});
  network_.move(0, 0);
  run(2 * kSecond);
  network_.set_faults({});
  EXPECT_TRUE(brings(b_, a_, 2 * kSecond));
}

// Then it is told no more: the other one may have ended.
TEST_F(Moving, NobodyIsToldForEver) {
  EXPECT_TRUE(brings(a_, b_, kMillisecond));
  run(10 * kMillisecond);
  network_.cut({0, 0, SimulatedNetwork::Direction::outgoing});
  network_.move(0, 0);
  run(12 * kSecond);
  const std::uint64_t packets = a_.packets();
  EXPECT_TRUE(a_.is_idle());
  run(5 * kSecond);
  EXPECT_EQ(a_.packets(), packets);
  network_.mend_all();
  EXPECT_TRUE(brings(a_, b_, 2 * kSecond)) << "when there is something to send it goes on";
}

// Until then what leaves from the new addresses is dropped; probes are far apart by now.
TEST_F(Moving, AllPathsServeAsSoonAsTheNewAddressesAreKnown) {
  SimulatedNetwork network(time_, 2);
  Task a(0, network, time_.clock(), 3), b(1, network, time_.clock(), 3);
  const auto comes = [&](Nanoseconds longest, auto condition) {
    run({&a, &b}, longest, condition);
    return condition();
  };
  const auto all_serve = [&] { return a.serving() == 3 && b.serving() == 3; };
  a.send();
  ASSERT_TRUE(comes(kSecond, [&] { return has_come(a, b, 0); }));
  for (std::uint32_t adapter = 0; adapter != 3; ++adapter) {
    network.cut({1, adapter, SimulatedNetwork::Direction::outgoing});
    network.move(0, adapter);
  }
  a.send();
  run({&a, &b}, 5 * kSecond, [] { return false; });
  EXPECT_EQ(a.serving(), 0u);
  network.mend({1, 2, SimulatedNetwork::Direction::outgoing});
  ASSERT_TRUE(comes(3 * kSecond, [&] { return a.serving() != 0; }));
  network.mend_all();
  EXPECT_TRUE(comes(20 * kMillisecond, all_serve)) << a.serving() << " and " << b.serving();
}

// An old packet that comes again, and one of a stranger's.
TEST_F(Moving, OnlyTheLatestOfTheTasksOwnIsTaken) {
  std::vector<std::vector<std::byte>> news;
  network_.set_departure_listener([&](const PortAddress&, PeerIndex, const OutgoingPacket& packet) {
    const auto* bytes = static_cast<const std::byte*>(packet.pieces[0].data);
    wire::PacketHeader header;
    wire::decode({bytes, packet.length}, header);
    if (!header.is_short() && header.tells_addresses()) news.emplace_back(bytes, bytes + packet.length);
  });
  EXPECT_TRUE(brings(a_, b_, kMillisecond));
  network_.move(0, 0);
  run(10 * kMillisecond);
  const std::vector<std::vector<std::byte>> first = news;
  ASSERT_FALSE(first.empty());
  network_.move(0, 0);
  run(10 * kMillisecond);
  const std::size_t told = b_.told.size();
  std::vector<std::byte> changed = news.back();
  for (const std::vector<std::byte>& again : first) network_.inject({1, 0, 0}, again);
  changed.back() ^= std::byte{1};
  network_.inject({1, 0, 0}, changed);
  run(10 * kMillisecond);
  EXPECT_EQ(b_.told.size(), told);
  EXPECT_TRUE(brings(b_, a_, kMillisecond));
  network_.set_departure_listener({});
}

}  // namespace
}  // namespace openlapi
