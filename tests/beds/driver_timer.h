// A timer as a driver has one, every 10 ms: it runs when a transport looks after its ports.
#pragma once

#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_timer.h>

#include <atomic>

namespace openlapi::test {

struct DriverTimer {
  DriverTimer() {
    rte_timer_subsystem_init();  // it may have been before
    rte_timer_init(&timer);
    const auto count = [](rte_timer*, void* argument) { ++*static_cast<std::atomic<unsigned>*>(argument); };
    EXPECT_EQ(rte_timer_reset(&timer, rte_get_timer_hz() / 100, PERIODICAL, rte_lcore_id(), count, &runs), 0);
  }
  ~DriverTimer() { rte_timer_stop_sync(&timer); }

  std::atomic<unsigned> runs = 0;
  rte_timer timer{};
};

}  // namespace openlapi::test
