// Two tasks over UDP whose users have given them different keys: each is told, and refuses after a minute. Nobody who
// sends such packets beside a task that has been heard, or is heard in time, can bring that about. Time is virtual.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "dataplane/tuning.h"
#include "nic/udp/udp_transport.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

using Faults = std::vector<std::pair<Fault, PeerIndex>>;

constexpr Nanoseconds kStep = 20'000'000;
constexpr in_addr_t kAddresses[2] = {0x7f000111, 0x7f000112};  // 127.0.1.17 and 127.0.1.18
constexpr in_addr_t kElsewhere = 0x7f000113;
constexpr SipKey kKey{1, 2};
constexpr SipKey kOtherKey{3, 4};

std::unique_ptr<UdpTransport> open_at(in_addr_t address) {
  UdpConfig config;
  config.address.s_addr = htonl(address);
  UdpSetupError error;
  std::unique_ptr<UdpTransport> transport = open_udp_transport(config, error);
  EXPECT_TRUE(transport) << error.text;
  return transport;
}

class SocketTask final : public RouteResolver {
 public:
  SocketTask(in_addr_t address, TurnedClock& clock) : transport(open_at(address)), clock_(clock) {}

  void start(PeerIndex self, const SipKey& key, const UdpTransport& peer, bool key_may_differ = true) {
    peer_ = &peer;
    EndpointConfig config;
    config.self = self;
    config.tasks = 2;
    config.job_key = key;
    config.key_may_differ = key_may_differ;
    config.epoch = 0x700000001 + self;
    config.idle_loops_between_timers = 1;
    Transport* const path = transport.get();
    endpoint = std::make_unique<Endpoint>(config, std::span(&path, 1), clock_, *this, host);
  }

  Route resolve(PeerIndex peer) override {
    Route route;
    std::string error;
    EXPECT_TRUE(transport->add_peer(peer, peer_->local_address(), error)) << error;
    route.paths[0] = transport.get();
    route.count = 1;
    return route;
  }

  void put_to(PeerIndex target) {
    const auto sink = reinterpret_cast<std::uintptr_t>(&sink_);
    ASSERT_EQ(endpoint->put({target, sink, &value_, sizeof(value_), 0, 0, 0}), Submit::accepted);
  }

  std::unique_ptr<UdpTransport> transport;
  ScriptedHost host;
  std::unique_ptr<Endpoint> endpoint;

 private:
  TurnedClock& clock_;
  const UdpTransport* peer_ = nullptr;
  std::uint64_t sink_ = 0, value_ = 1;
};

class OtherSecret : public testing::Test {
 protected:
  // All who have begun.
  void pass(Nanoseconds time) {
    for (Nanoseconds end = clock_.now() + time; clock_.now() < end; clock_.advance(kStep)) {
      for (SocketTask* task : {&first_, &second_, stranger_.get()}) {
        if (task != nullptr && task->endpoint != nullptr) task->endpoint->progress();
      }
    }
  }

  // Somebody with another key who says that he is task 1.
  void begin_stranger(in_addr_t address) {
    stranger_ = std::make_unique<SocketTask>(address, clock_);
    stranger_->start(1, kOtherKey, *first_.transport);
    stranger_->put_to(0);
  }

  TurnedClock clock_;
  SocketTask first_{kAddresses[0], clock_}, second_{kAddresses[1], clock_};
  std::unique_ptr<SocketTask> stranger_;
};

TEST_F(OtherSecret, BothAreToldOnceAndRefuse) {
  first_.start(0, kKey, *second_.transport);
  second_.start(1, kOtherKey, *first_.transport);
  first_.put_to(1);  // the other one sends nothing, and waits
  pass(2 * kSecond);
  EXPECT_TRUE(first_.host.warnings.empty() && second_.host.warnings.empty()) << "a late packet of a former job";
  pass(10 * kSecond);
  EXPECT_EQ(first_.host.warnings, std::vector<PeerIndex>{1});
  EXPECT_EQ(second_.host.warnings, std::vector<PeerIndex>{0});
  pass(45 * kSecond);
  EXPECT_TRUE(first_.host.faults.empty() && second_.host.faults.empty());
  pass(10 * kSecond);
  EXPECT_EQ(first_.host.faults, (Faults{{Fault::other_secret, 1}}));
  EXPECT_EQ(second_.host.faults, (Faults{{Fault::other_secret, 0}}));
  EXPECT_EQ(first_.host.warnings.size() + second_.host.warnings.size(), 2u);
}

TEST_F(OtherSecret, WhoWasHeardIsNotDoubted) {
  first_.start(0, kKey, *second_.transport);
  second_.start(1, kKey, *first_.transport);
  first_.put_to(1);
  pass(kSecond);
  begin_stranger(kAddresses[1]);
  pass(200 * kSecond);
  EXPECT_GT(first_.endpoint->statistics(StatisticsPath::network).ghost_packets, 100u);
  EXPECT_TRUE(first_.host.warnings.empty() && first_.host.faults.empty());
}

TEST_F(OtherSecret, WhoHasNotTalkedYetIsAskedAndHeard) {
  first_.start(0, kKey, *second_.transport);
  second_.start(1, kKey, *first_.transport);
  begin_stranger(kAddresses[1]);
  pass(200 * kSecond);
  EXPECT_TRUE(first_.host.warnings.empty() && first_.host.faults.empty());
  EXPECT_TRUE(second_.host.warnings.empty() && second_.host.faults.empty());
}

TEST_F(OtherSecret, WhoComesWithinAMinuteIsHeardBesideAStranger) {
  first_.start(0, kKey, *second_.transport);
  begin_stranger(kAddresses[1]);
  pass(50 * kSecond);
  EXPECT_EQ(first_.host.warnings, std::vector<PeerIndex>{1});
  second_.start(1, kKey, *first_.transport);
  second_.put_to(0);
  pass(200 * kSecond);
  EXPECT_TRUE(first_.host.faults.empty());
  EXPECT_TRUE(second_.host.faults.empty() && second_.host.warnings.empty());
}

TEST_F(OtherSecret, NobodyElsewhereBringsItAbout) {
  first_.start(0, kKey, *second_.transport);
  begin_stranger(kElsewhere);
  pass(200 * kSecond);
  EXPECT_TRUE(first_.host.warnings.empty() && first_.host.faults.empty());
}

TEST_F(OtherSecret, WhereALauncherGivesTheKeyThereAreOnlyStrangers) {
  first_.start(0, kKey, *second_.transport, false);
  begin_stranger(kAddresses[1]);
  pass(200 * kSecond);
  EXPECT_TRUE(first_.host.warnings.empty() && first_.host.faults.empty());
}

}  // namespace
}  // namespace openlapi
