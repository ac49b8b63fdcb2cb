// What the driver of a port tells by itself, kept until the port's owner asks: that it wants to be reset (virtual
// functions whose host was, ENA's watchdog), or that the adapter has been taken away. And what EAL tells: that the
// kernel wants an adapter on vfio-pci back, which somebody unbinds or unplugs, and waits for. They call from EAL's
// interrupt thread, or from whoever runs drivers' timers, in the middle of their own work: nothing is done there.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace openlapi::dpdk {

class PortEvents {
 public:
  PortEvents() = default;
  ~PortEvents() { forget(); }
  PortEvents(const PortEvents&) = delete;
  PortEvents& operator=(const PortEvents&) = delete;

  // Of the DPDK port with this number and of its device, until forget(). False: DPDK has no memory for it.
  bool listen(std::uint16_t port, const char* device);
  // Nothing is told any more when it returns. Before the port is closed.
  void forget();

  bool any() const {
    return reset_.load(std::memory_order_relaxed) || removed_.load(std::memory_order_relaxed) ||
           asked_back_.load(std::memory_order_relaxed);
  }
  bool removed() const { return removed_.load(std::memory_order_acquire); }
  bool asked_back() const { return asked_back_.load(std::memory_order_acquire); }
  // Whether a reset was wanted since the last call.
  bool take_reset() { return reset_.exchange(false, std::memory_order_acq_rel); }

 private:
  std::atomic<bool> reset_ = false;
  std::atomic<bool> removed_ = false;
  std::atomic<bool> asked_back_ = false;
  bool listens_ = false;
  std::uint16_t port_ = 0;
  std::string device_;
};

}  // namespace openlapi::dpdk
