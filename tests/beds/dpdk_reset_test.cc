// Ports whose drivers ask for a reset, or tell that the adapter is gone. No virtual driver does either: events are
// raised here, in EAL's interrupt thread, and the reset is a function of this program in the place of DPDK's. Runs in
// dpdk-ports, whose folder has the sockets of memif ports; both ends are in this process.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/monotonic_clock.h"
#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/dpdk_transport.h"
#include "tests/beds/driver_timer.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"
#include "tests/support/fixed_route.h"
#include "tests/support/transport_tasks.h"

struct rte_eth_dev;

extern "C" {
// Of DPDK's interface to drivers, whose header is not installed.
rte_eth_dev* rte_eth_dev_allocated(const char* name);
int rte_eth_dev_callback_process(rte_eth_dev* device, rte_eth_event_type event, void* about);
}

namespace {

std::atomic<unsigned> resets = 0, resets_to_fail = 0;
std::atomic<bool> resets_wait = false, has_reset = true;
std::atomic<std::uint16_t> port_with_other_mac = RTE_MAX_ETHPORTS;
constexpr openlapi::dpdk::MacAddress kOtherMac{2, 13, 0, 0, 9, 9};

}  // namespace

// In the place of DPDK's.
extern "C" int rte_eth_dev_reset(std::uint16_t port) {
  if (!has_reset) return -ENOTSUP;
  ++resets;
  while (resets_wait) sched_yield();
  if (resets_to_fail != 0) {
    --resets_to_fail;
    return -EIO;
  }
  return rte_eth_dev_stop(port);
}

extern "C" int rte_eth_macaddr_get(std::uint16_t port, rte_ether_addr* address) {
  const auto own = reinterpret_cast<decltype(&rte_eth_macaddr_get)>(dlsym(RTLD_NEXT, "rte_eth_macaddr_get"));
  if (port != port_with_other_mac) return own(port, address);
  std::ranges::copy(kOtherMac, address->addr_bytes);
  return 0;
}

namespace openlapi {
namespace {

using Moment = std::chrono::steady_clock;
constexpr PeerIndex kServer = 0, kClient = 1;
constexpr std::size_t kMostPutAside = 4;  // buffers that a port keeps for the next packets

bool wait_for(const std::function<bool()>& condition, int seconds = 60) {
  const auto end = Moment::now() + std::chrono::seconds(seconds);
  while (!condition()) {
    if (Moment::now() >= end) return false;
    sched_yield();
  }
  return true;
}

void tell(const dpdk::EthernetPort& port, rte_eth_event_type event) {
  rte_eth_dev* const device = rte_eth_dev_allocated(port.name().c_str());
  ASSERT_NE(device, nullptr);
  dpdk::call_in_interrupt_thread([&] { rte_eth_dev_callback_process(device, event, nullptr); });
}

std::unique_ptr<DpdkTransport> open(PeerIndex self, const std::string& name, std::string& error_text,
                                    std::uint32_t patience = 60'000) {
  DpdkConfig config;
  config.eal_arguments = "--no-huge --no-pci -m 256";
  config.address = 0x0a4e0001 + self;
  config.link_patience = 0;
  config.link_status = true;
  config.tell = true;
  config.renewal_patience = patience;
  // Two ends in one process must name their socket differently, or the driver takes it for the same end.
  config.devices = {"net_memif_" + name + std::to_string(self) + ",role=" + (self == kServer ? "server" : "client") +
                    ",id=0,socket-abstract=no,socket=" + std::getenv("RUNTIME_DIRECTORY") +
                    (self == kServer ? "/" : "/./") + name};
  DpdkSetupError error;
  auto transport = open_dpdk_transport(config, error);
  error_text = error.text;
  return transport;
}

std::size_t receive(DpdkTransport& transport) {
  std::array<IncomingPacket, 32> packets;
  const std::size_t count = transport.receive_burst(packets);
  transport.release(count);
  return count;
}

std::size_t send(DpdkTransport& from, PeerIndex to) {
  const ConstBuffer piece{"12345678", 8};
  const OutgoingPacket packet{{&piece, 1}, 8};
  return from.send_burst(to, {&packet, 1});
}

// The ends of a cable.
struct Pair {
  explicit Pair(const std::string& name, std::uint32_t patience = 60'000) {
    std::string text;
    for (PeerIndex self : {kServer, kClient}) {
      ends[self] = open(self, name, text, patience);
      EXPECT_NE(ends[self], nullptr) << text;
    }
    if (!ends[kServer] || !ends[kClient]) return;
    for (PeerIndex self : {kServer, kClient}) {
      EXPECT_TRUE(ends[self]->add_peer(1 - self, ends[1 - self]->local_address(), text)) << text;
    }
    EXPECT_TRUE(comes_up());
  }
  bool comes_up() {
    return wait_for([&] { return step(), ends[kServer]->port(0).up() && ends[kClient]->port(0).up(); });
  }
  void step() {
    for (const auto& end : ends) receive(*end);
  }
  // Whether a packet from one arrives at the other.
  bool gets_through(PeerIndex from) {
    return wait_for([&] {
      receive(*ends[from]);
      send(*ends[from], 1 - from);
      return receive(*ends[1 - from]) != 0;
    });
  }
  LinkStatus& link(PeerIndex self) { return *ends[self]->capabilities().link_status; }

  std::array<std::unique_ptr<DpdkTransport>, 2> ends;
};

std::size_t taken_buffers(const DpdkTransport& transport, const std::string& which) {
  const rte_mempool* pool =
      rte_mempool_lookup(("openlapi_" + which + "_" + std::to_string(transport.port(0).id()) + "_0").c_str());
  EXPECT_NE(pool, nullptr);
  return pool == nullptr ? 0 : rte_mempool_in_use_count(pool);
}

class DpdkResets : public testing::Test {
 protected:
  void TearDown() override {
    resets = resets_to_fail = 0;
    resets_wait = false;
    has_reset = true;
    port_with_other_mac = RTE_MAX_ETHPORTS;
  }
};

// The engines of the two tasks.
class Engines {
 public:
  explicit Engines(Pair& pair) {
    EndpointConfig config;
    config.tasks = 2;
    config.job_key = {test::fresh_cookie(), 0};
    config.timeout = 100 * kSecond;
    for (PeerIndex self : {kServer, kClient}) {
      config.self = self;
      Transport* transport = routes_[self].transport = pair.ends[self].get();
      endpoints_[self] =
          std::make_unique<Endpoint>(config, std::span(&transport, 1), clock_, routes_[self], hosts_[self]);
    }
  }

  // Messages of many lengths from the one to the other, each of which adds to a counter there. `disturb(number)` is
  // called before each.
  void exchange(std::uint32_t count, const std::function<void(std::uint32_t)>& disturb) {
    std::vector<std::vector<unsigned char>> sources(count), sinks(count);
    int put = 0, arrived = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      disturb(i);
      sources[i].assign((i * 977) % 9000 + 1, static_cast<unsigned char>(i + 1));
      sinks[i].resize(sources[i].size());
      const PutRequest request{
          kClient, address(sinks[i].data()), sources[i].data(), sources[i].size(), address(&arrived), 0, address(&put)};
      ASSERT_TRUE(wait_for([&] { return step(), endpoints_[kServer]->put(request) == Submit::accepted; }));
    }
    ASSERT_TRUE(wait_for([&] { return step(), put == static_cast<int>(count); }, 90)) << put << " of " << count;
    EXPECT_EQ(arrived, static_cast<int>(count));
    EXPECT_TRUE(sinks == sources);
    for (const ScriptedHost& host : hosts_) EXPECT_TRUE(host.faults.empty());
  }

  std::size_t step() { return endpoints_[kServer]->progress() + endpoints_[kClient]->progress(); }

 private:
  MonotonicClock clock_;
  std::array<FixedRoute, 2> routes_;
  std::array<ScriptedHost, 2> hosts_;
  std::array<std::unique_ptr<Endpoint>, 2> endpoints_;
};

void reset_under_traffic(Pair& pair) {
  {
    Engines engines(pair);
    std::array<std::uint64_t, 2> asked{};
    engines.exchange(400, [&](std::uint32_t number) {
      if (number % 100 != 50) return;
      const PeerIndex which = number / 100 % 2;
      ++asked[which];
      tell(pair.ends[which]->port(0), RTE_ETH_EVENT_INTR_RESET);
      ASSERT_TRUE(wait_for([&] { return engines.step(), pair.ends[which]->dpdk_counters().renewals == asked[which]; }));
    });
    EXPECT_TRUE(wait_for([&] { return engines.step() == 0; }));
  }
  ASSERT_TRUE(pair.comes_up());
  for (const auto& end : pair.ends) {
    while (receive(*end) != 0) {
    }
    EXPECT_EQ(end->dpdk_counters().renewals, 2u);
    EXPECT_EQ(taken_buffers(*end, "in"), 0u);
    EXPECT_LE(taken_buffers(*end, "out"), kMostPutAside);
  }
}

TEST_F(DpdkResets, UnderTrafficNothingIsLostOrDoubledAndNoBufferLeaks) {
  Pair pair("traffic");
  reset_under_traffic(pair);
  EXPECT_EQ(resets, 4u);
}

TEST_F(DpdkResets, ADriverWithoutAResetIsStoppedConfiguredAndStarted) {
  has_reset = false;
  Pair pair("plain");
  reset_under_traffic(pair);
  EXPECT_EQ(resets, 0u);
}

TEST_F(DpdkResets, MeanwhileTheLinkIsDownAndAnotherAdapterServes) {
  Pair pair("first"), other("second");
  ASSERT_TRUE(pair.gets_through(kServer));
  resets_wait = true;
  const std::uint32_t changes = pair.link(kServer).changes();
  const std::uint64_t lost = pair.ends[kServer]->dpdk_counters().lost_packets;
  tell(pair.ends[kServer]->port(0), RTE_ETH_EVENT_INTR_RESET);
  ASSERT_TRUE(wait_for([&] { return receive(*pair.ends[kServer]), resets == 1; }));
  EXPECT_TRUE(pair.ends[kServer]->port(0).away());
  EXPECT_FALSE(pair.link(kServer).reaches(kClient));
  EXPECT_NE(pair.link(kServer).changes(), changes);
  EXPECT_FALSE(pair.ends[kServer]->has_link());
  EXPECT_EQ(send(*pair.ends[kServer], kClient), 1u);
  EXPECT_EQ(pair.ends[kServer]->dpdk_counters().lost_packets, lost + 1);
  EXPECT_TRUE(other.gets_through(kServer));
  EXPECT_TRUE(other.gets_through(kClient));
  resets_wait = false;
  ASSERT_TRUE(wait_for([&] { return pair.step(), pair.ends[kServer]->dpdk_counters().renewals == 1; }));
  ASSERT_TRUE(pair.comes_up());
  EXPECT_TRUE(pair.link(kServer).reaches(kClient));
  EXPECT_TRUE(pair.gets_through(kServer));
  EXPECT_TRUE(pair.gets_through(kClient));
}

TEST_F(DpdkResets, AResetThatFailsIsTriedAgain) {
  Pair pair("again");
  resets_to_fail = 3;
  tell(pair.ends[kServer]->port(0), RTE_ETH_EVENT_INTR_RESET);
  ASSERT_TRUE(wait_for([&] { return pair.step(), pair.ends[kServer]->dpdk_counters().renewals == 1; }));
  EXPECT_EQ(resets, 4u);
  ASSERT_TRUE(pair.comes_up());
  EXPECT_TRUE(pair.gets_through(kServer));
  EXPECT_TRUE(pair.gets_through(kClient));
}

TEST_F(DpdkResets, APortThatCannotBeResetIsGivenUpAndSaysSo) {
  Pair pair("hopeless", 3'000);
  resets_to_fail = std::numeric_limits<unsigned>::max();
  testing::internal::CaptureStderr();
  tell(pair.ends[kServer]->port(0), RTE_ETH_EVENT_INTR_RESET);
  ASSERT_TRUE(wait_for([&] { return receive(*pair.ends[kServer]), pair.ends[kServer]->port(0).gone(); }));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("openlapi: DPDK port net_memif_hopeless0 wanted to be reset, says its driver, and could not be"),
            std::string::npos)
      << said;
  EXPECT_GE(resets, 2u);
  EXPECT_FALSE(pair.link(kServer).reaches(kClient));
  const unsigned before = resets;
  tell(pair.ends[kServer]->port(0), RTE_ETH_EVENT_INTR_RESET);
  test::DriverTimer timer;  // that runs show that the transport has looked after its port in between
  ASSERT_TRUE(wait_for([&] { return receive(*pair.ends[kServer]), timer.runs >= 3; }));
  EXPECT_EQ(resets, before) << "it is never touched again";
}

TEST_F(DpdkResets, ARemovedPortIsGivenUpAndNeverTouchedAgain) {
  auto pair = std::make_unique<Pair>("removed");
  Pair other("stays");
  DpdkTransport& server = *pair->ends[kServer];
  testing::internal::CaptureStderr();
  tell(server.port(0), RTE_ETH_EVENT_INTR_RMV);
  ASSERT_TRUE(wait_for([&] { return receive(server), server.port(0).gone(); }));
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "openlapi: DPDK port net_memif_removed0 was removed, says its driver; this task does not use it any more\n");
  EXPECT_FALSE(pair->link(kServer).reaches(kClient));
  EXPECT_STREQ(pair->link(kServer).told_by(kClient), "its driver: the adapter has failed");
  const std::uint64_t lost = server.dpdk_counters().lost_packets;
  EXPECT_EQ(send(server, kClient), 1u);
  EXPECT_EQ(server.dpdk_counters().lost_packets, lost + 1);
  EXPECT_EQ(receive(server), 0u);
  EXPECT_TRUE(other.gets_through(kServer));
  const std::uint16_t port = server.port(0).id();
  pair.reset();
  EXPECT_TRUE(rte_eth_dev_is_valid_port(port)) << "it was not closed";
  std::string text;
  EXPECT_EQ(open(kServer, "removed", text), nullptr);
  EXPECT_EQ(text,
            "DPDK port net_memif_removed0 was removed or failed while this process ran, and serves only another "
            "process");
  EXPECT_EQ(resets, 0u);
}

TEST_F(DpdkResets, ARemovedPortIsNotClosedEitherWhereTheTaskHasNotLookedSince) {
  auto pair = std::make_unique<Pair>("unseen");
  const std::uint16_t port = pair->ends[kServer]->port(0).id();
  tell(pair->ends[kServer]->port(0), RTE_ETH_EVENT_INTR_RMV);
  ASSERT_FALSE(pair->ends[kServer]->port(0).gone());
  pair.reset();
  EXPECT_TRUE(rte_eth_dev_is_valid_port(port));
}

// As a virtual function does whose host gives it another address.
TEST_F(DpdkResets, AnotherHardwareAddressAfterItIsTakenOn) {
  Pair pair("address");
  DpdkTransport& server = *pair.ends[kServer];
  ASSERT_NE(server.address().end.mac, kOtherMac);
  port_with_other_mac = server.port(0).id();
  tell(server.port(0), RTE_ETH_EVENT_INTR_RESET);
  ASSERT_TRUE(wait_for([&] { return pair.step(), server.dpdk_counters().renewals == 1; }));
  EXPECT_EQ(server.address().end.mac, kOtherMac);
  std::string error;
  ASSERT_TRUE(pair.ends[kClient]->add_peer(kServer, server.local_address(), error)) << error;
  ASSERT_TRUE(pair.comes_up());
  EXPECT_TRUE(pair.gets_through(kServer));
  EXPECT_TRUE(pair.gets_through(kClient));
}

}  // namespace
}  // namespace openlapi
