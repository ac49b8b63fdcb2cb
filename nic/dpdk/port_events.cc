#include "nic/dpdk/port_events.h"

// DPDK 22.11 has no other way to be told of what EAL knows.
#define ALLOW_EXPERIMENTAL_API
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <sched.h>

#include <cerrno>

namespace openlapi::dpdk {
namespace {

int set_flag(std::uint16_t, rte_eth_event_type, void* flag, void*) {
  static_cast<std::atomic<bool>*>(flag)->store(true, std::memory_order_release);
  return 0;
}

void note_removal(const char*, rte_dev_event_type event, void* flag) {
  if (event == RTE_DEV_EVENT_REMOVE) static_cast<std::atomic<bool>*>(flag)->store(true, std::memory_order_release);
}

// They wait for a call that another thread is in.
void unregister(std::uint16_t port, rte_eth_event_type event, std::atomic<bool>& flag) {
  while (rte_eth_dev_callback_unregister(port, event, set_flag, &flag) == -EAGAIN) sched_yield();
}

void unregister(const char* device, std::atomic<bool>& flag) {
  while (rte_dev_event_callback_unregister(device, note_removal, &flag) == -EAGAIN) sched_yield();
}

}  // namespace

bool PortEvents::listen(std::uint16_t port, const char* device) {
  port_ = port;
  device_ = device;
  if (rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_RESET, set_flag, &reset_) != 0) return false;
  if (rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_RMV, set_flag, &removed_) != 0) {
    unregister(port, RTE_ETH_EVENT_INTR_RESET, reset_);
    return false;
  }
  if (rte_dev_event_callback_register(device, note_removal, &asked_back_) != 0) {
    unregister(port, RTE_ETH_EVENT_INTR_RESET, reset_);
    unregister(port, RTE_ETH_EVENT_INTR_RMV, removed_);
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
  unregister(device_.c_str(), asked_back_);
}

}  // namespace openlapi::dpdk
