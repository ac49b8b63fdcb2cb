// What the driver of a port tells by itself, kept until the port's owner asks: that it wants to be reset (virtual
// functions whose host was, ENA's watchdog), or that the adapter has been taken away. Drivers call from EAL's interrupt
// thread, or from whoever runs their timers, in the middle of their own work: nothing is done there.
#pragma once

#include <atomic>
#include <cstdint>

namespace openlapi::dpdk {

class PortEvents {
 public:
  PortEvents() = default;
  ~PortEvents() { forget(); }
  PortEvents(const PortEvents&) = delete;
  PortEvents& operator=(const PortEvents&) = delete;

  // Of the DPDK port with this number, until forget(). False: DPDK has no memory for it.
  bool listen(std::uint16_t port);
  // Nothing is told any more when it returns. Before the port is closed.
  void forget();

  bool any() const { return reset_.load(std::memory_order_relaxed) || removed_.load(std::memory_order_relaxed); }
  bool removed() const { return removed_.load(std::memory_order_acquire); }
  // Whether a reset was wanted since the last call.
  bool take_reset() { return reset_.exchange(false, std::memory_order_acq_rel); }

 private:
  std::atomic<bool> reset_ = false;
  std::atomic<bool> removed_ = false;
  bool listens_ = false;
  std::uint16_t port_ = 0;
};

}  // namespace openlapi::dpdk
