// What drivers tell at awkward moments: while a port is set up anew, while the task sleeps on its interrupts, or in the
// middle of a reset that does not end. No virtual driver has receive interrupts, asks for a reset or fails: a net_null
// port is found here under the name of a driver that may have interrupts, and functions of this program are in the
// place of DPDK's. Runs in dpdk-ports, whose folder has the socket of a memif port.
#define ALLOW_EXPERIMENTAL_API  // what EAL tells of devices, in DPDK 22.11
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/dpdk_transport.h"
#include "nic/dpdk/driver_timers.h"
#include "tests/beds/driver_timer.h"

struct rte_eth_dev;

extern "C" {
// Of DPDK's interface to drivers, whose header is not installed.
rte_eth_dev* rte_eth_dev_allocated(const char* name);
int rte_eth_dev_callback_process(rte_eth_dev* device, rte_eth_event_type event, void* about);
}

namespace {

const std::string kNullPort = "net_null_events", kFoundAs = "net_virtio_user77";

std::atomic<unsigned> resets = 0, starts = 0, interrupt_calls = 0;
std::atomic<bool> resets_wait = false, listens = false;
std::atomic<bool> asks_again = false, lacks_memory = false;  // once, while a port is configured

void raise_event(const std::string& port, rte_eth_event_type event) {
  rte_eth_dev_callback_process(rte_eth_dev_allocated(port.c_str()), event, nullptr);
}

template <typename Function>
Function* dpdks(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// In the place of DPDK's.
extern "C" int rte_eth_dev_get_port_by_name(const char* name, std::uint16_t* port) {
  return dpdks(&rte_eth_dev_get_port_by_name, "rte_eth_dev_get_port_by_name")(
      name == kFoundAs ? kNullPort.c_str() : name, port);
}

extern "C" int rte_eth_dev_reset(std::uint16_t port) {
  ++resets;
  while (resets_wait) sched_yield();
  return rte_eth_dev_stop(port);
}

extern "C" int rte_eth_dev_start(std::uint16_t port) {
  ++starts;
  return dpdks(&rte_eth_dev_start, "rte_eth_dev_start")(port);
}

extern "C" int rte_eth_macaddr_get(std::uint16_t port, rte_ether_addr* address) {
  if (lacks_memory.exchange(false)) throw std::bad_alloc();
  if (asks_again.exchange(false)) {
    resets_wait = true;
    raise_event(kNullPort, RTE_ETH_EVENT_INTR_RESET);
  }
  return dpdks(&rte_eth_macaddr_get, "rte_eth_macaddr_get")(port, address);
}

extern "C" int rte_eth_dev_rx_intr_ctl_q(std::uint16_t, std::uint16_t, int, int operation, void*) {
  listens = operation == RTE_INTR_EVENT_ADD;
  return 0;
}

extern "C" int rte_eth_dev_rx_intr_enable(std::uint16_t, std::uint16_t) {
  ++interrupt_calls;
  return 0;
}

extern "C" int rte_eth_dev_rx_intr_disable(std::uint16_t, std::uint16_t) {
  ++interrupt_calls;
  return 0;
}

namespace openlapi {
namespace {

using Moment = std::chrono::steady_clock;
const std::string kArguments = "--no-huge --no-pci -m 256";

bool wait_for(const std::function<bool()>& condition) {
  const auto end = Moment::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (Moment::now() >= end) return false;
    sched_yield();
  }
  return true;
}

void step(DpdkTransport& transport) { transport.capabilities().link_status->look(); }

class DpdkEvents : public testing::Test {
 protected:
  void SetUp() override { resets = starts = interrupt_calls = 0; }
  void TearDown() override { resets_wait = asks_again = lacks_memory = false; }

  static std::unique_ptr<DpdkTransport> open(const std::string& device, std::uint32_t patience = 60'000) {
    DpdkConfig config;
    config.devices = {device};
    config.eal_arguments = kArguments;
    config.link_patience = 0;
    config.link_status = config.tell = true;
    config.renewal_patience = patience;
    DpdkSetupError error;
    auto transport = open_dpdk_transport(config, error);
    EXPECT_NE(transport, nullptr) << error.text;
    return transport;
  }
  static std::unique_ptr<DpdkTransport> open_with_interrupts(std::uint32_t patience = 60'000) {
    std::string reason;
    EXPECT_TRUE(dpdk::start_environment(kArguments, 0, false, reason)) << reason;
    EXPECT_EQ(rte_dev_probe((kNullPort + ",no-rx=1").c_str()), 0);
    return open(kFoundAs, patience);
  }
};

bool uses_interrupts(DpdkTransport& transport) {
  WakeSource& wake = *transport.capabilities().wake_source;
  const unsigned before = interrupt_calls;
  EXPECT_TRUE(wake.arm());
  wake.disarm();
  return interrupt_calls == before + 2;
}

bool leaves_interrupts_alone(DpdkTransport& transport) {
  WakeSource& wake = *transport.capabilities().wake_source;
  const unsigned before = interrupt_calls;
  wake.disarm();  // of a sleep before
  wake.arm();
  wake.disarm();
  return interrupt_calls == before;
}

TEST_F(DpdkEvents, APortThatIsToBeResetAgainWhileItIsSetUpIsNotSleptOn) {
  const auto transport = open_with_interrupts();
  ASSERT_NE(transport, nullptr);
  EXPECT_TRUE(listens);
  EXPECT_TRUE(uses_interrupts(*transport));
  asks_again = true;
  raise_event(kNullPort, RTE_ETH_EVENT_INTR_RESET);
  ASSERT_TRUE(wait_for([&] { return step(*transport), resets == 2; }));
  EXPECT_TRUE(transport->port(0).away());
  EXPECT_FALSE(listens);
  EXPECT_TRUE(leaves_interrupts_alone(*transport));
  resets_wait = false;
  ASSERT_TRUE(wait_for([&] { return step(*transport), transport->dpdk_counters().renewals == 2; }));
  EXPECT_TRUE(listens);
  EXPECT_TRUE(uses_interrupts(*transport));
}

TEST_F(DpdkEvents, WhatADriverTellsDuringASleepIsHeededBeforeTheTaskHasLooked) {
  const auto transport = open_with_interrupts();
  ASSERT_NE(transport, nullptr);
  ASSERT_TRUE(transport->capabilities().wake_source->arm());
  raise_event(kNullPort, RTE_ETH_EVENT_INTR_RESET);
  EXPECT_TRUE(leaves_interrupts_alone(*transport));
  ASSERT_TRUE(wait_for([&] { return step(*transport), transport->dpdk_counters().renewals == 1; }));
  EXPECT_TRUE(uses_interrupts(*transport));
}

// As an adapter's, and in DPDK's interrupt thread.
TEST_F(DpdkEvents, AResetWithoutMemoryIsTriedAgain) {
  const std::string memif = "net_memif_events";
  const std::string folder = std::getenv("RUNTIME_DIRECTORY");
  for (const std::string& name : {kNullPort, memif}) {
    resets = 0;
    const auto transport = name == kNullPort
                               ? open_with_interrupts()
                               : open(memif + ",role=server,id=0,socket-abstract=no,socket=" + folder + "/events");
    ASSERT_NE(transport, nullptr);
    lacks_memory = true;
    raise_event(name, RTE_ETH_EVENT_INTR_RESET);
    ASSERT_TRUE(wait_for([&] { return step(*transport), transport->dpdk_counters().renewals == 1; }));
    EXPECT_EQ(resets, 2u);
  }
}

TEST_F(DpdkEvents, AForkedProcessIsToldThatItHasNoDpdkWhoeverIsBusyWithIt) {
  std::string reason;
  ASSERT_TRUE(dpdk::start_environment(kArguments, 0, false, reason)) << reason;
  const dpdk::ControlLock lock;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);
    const bool starts_it = dpdk::would_choose_pages("") || dpdk::start_environment("", 0, false, reason);
    const bool says_why = reason.find("the process that this one was forked from") != std::string::npos;
    _exit(!starts_it && says_why ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(DpdkEvents, TimersOfDriversRunWhileATransportIsAskedForPackets) {
  const auto transport = open_with_interrupts();
  ASSERT_NE(transport, nullptr);
  IncomingPacket packet;
  const auto ask = [&] { EXPECT_EQ(transport->receive_burst({&packet, 1}), 0u); };
  test::DriverTimer timer;
  EXPECT_TRUE(wait_for([&] { return ask(), timer.runs >= 3; }));
  EXPECT_EQ(rte_lcore_id(), LCORE_ID_ANY) << "the thread is none of EAL's, as before";
  std::promise<void> holds, may_go;
  std::thread other([&] {
    const dpdk::ControlLock lock;  // somebody else makes a device
    holds.set_value();
    may_go.get_future().wait();
  });
  holds.get_future().wait();
  const unsigned before = timer.runs;
  const auto end = Moment::now() + std::chrono::milliseconds(600);  // in which the timer is due more than once
  while (Moment::now() < end) {
    ask();
    dpdk::run_driver_timers();
  }
  EXPECT_EQ(timer.runs, before);
  may_go.set_value();
  other.join();
  EXPECT_TRUE(wait_for([&] { return ask(), timer.runs > before; }));
}

// Its number is free for the next port, while its buffers may still be held.
TEST_F(DpdkEvents, APortThatTakesTheNumberOfOneThatWasGivenBackHasBuffersOfItsOwn) {
  auto first = open(kNullPort);
  ASSERT_NE(first, nullptr);
  const std::uint16_t number = first->port(0).id();
  const rte_mempool* const pool = first->port(0).send_pool();
  rte_dev_event_callback_process(kNullPort.c_str(), RTE_DEV_EVENT_REMOVE);
  testing::internal::CaptureStderr();
  ASSERT_TRUE(wait_for([&] { return step(*first), !rte_eth_dev_is_valid_port(number); }));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("is wanted back by the kernel"), std::string::npos);
  const auto second = open(kNullPort);
  ASSERT_NE(second, nullptr);
  ASSERT_EQ(second->port(0).id(), number);
  EXPECT_NE(second->port(0).send_pool(), pool);
  first.reset();
  const std::string name = second->port(0).send_pool()->name;
  EXPECT_EQ(rte_mempool_lookup(name.c_str()), second->port(0).send_pool()) << "it is not freed";
}

// Last, as nobody has the port afterwards.
TEST_F(DpdkEvents, APortWhoseResetDoesNotEndIsGivenUpAndNotStartedIfItDoes) {
  auto transport = open_with_interrupts(1'000);
  ASSERT_NE(transport, nullptr);
  const unsigned before = starts;
  resets_wait = true;
  raise_event(kNullPort, RTE_ETH_EVENT_INTR_RESET);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(wait_for([&] { return step(*transport), transport->port(0).gone(); }));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "openlapi: DPDK port " + kFoundAs +
                " wanted to be reset, says its driver, which does not end the reset; this task does not use it any "
                "more\n");
  EXPECT_TRUE(wait_for([] { return resets == 1; })) << "it is in the driver";
  EXPECT_FALSE(listens);
  const std::uint16_t port = transport->port(0).id();
  resets_wait = false;
  transport.reset();
  EXPECT_EQ(starts, before);
  EXPECT_TRUE(rte_eth_dev_is_valid_port(port)) << "it was not closed";
}

}  // namespace
}  // namespace openlapi
