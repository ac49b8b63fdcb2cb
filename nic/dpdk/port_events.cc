#include "nic/dpdk/port_events.h"

#include <rte_ethdev.h>
#include <sched.h>

#include <cerrno>

namespace openlapi::dpdk {
namespace {

int set_flag(std::uint16_t, rte_eth_event_type, void* flag, void*) {
  static_cast<std::atomic<bool>*>(flag)->store(true, std::memory_order_release);
  return 0;
}

// It waits for a call that another thread is in.
void unregister(std::uint16_t port, rte_eth_event_type event, std::atomic<bool>& flag) {
  while (rte_eth_dev_callback_unregister(port, event, set_flag, &flag) == -EAGAIN) sched_yield();
}

}  // namespace

bool PortEvents::listen(std::uint16_t port) {
  port_ = port;
  if (rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_RESET, set_flag, &reset_) != 0) return false;
  if (rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_RMV, set_flag, &removed_) != 0) {
    unregister(port, RTE_ETH_EVENT_INTR_RESET, reset_);
    return false;
  }
  listens_ = true;
  return true;
}

void PortEvents::forget() {
  if (!listens_) return;
  listens_ = false;
  unregister(port_, RTE_ETH_EVENT_INTR_RESET, reset_);
  unregister(port_, RTE_ETH_EVENT_INTR_RMV, removed_);
}

}  // namespace openlapi::dpdk
