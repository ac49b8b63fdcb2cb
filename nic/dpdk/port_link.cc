// Whether a port has a link, and what is done where it has none.
#include <rte_ethdev.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/clock.h"
#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/ethernet_port.h"
#include "nic/dpdk/network_interface.h"
#include "nic/dpdk/thread_data.h"

namespace openlapi::dpdk {
namespace {

constexpr std::uint64_t kLongestStartWait = 200 * kMillisecond;
// A memif server that meets a connection which its client has given up aborts its process (DPDK 22.11 closes a
// descriptor that its interrupt thread listens to). So a client gives up late.
constexpr std::uint64_t kConnectionWait = 2000 * kMillisecond;
constexpr std::uint64_t kOftenChecked = kMillisecond;         // a driver that only reads a variable
constexpr std::uint64_t kWatchedChecked = 5 * kMillisecond;   // one that may ask the adapter, where it is worth it
constexpr std::uint64_t kSeldomChecked = 100 * kMillisecond;  // one that may ask the adapter

}  // namespace

// A connection of a client's that is under way is not given up.
void EthernetPort::let_connect() {
  rte_eth_link link{};
  for (std::uint64_t waited = 0; client_ && started_ && waited < kConnectionWait; waited += kMillisecond) {
    if (connection_.ended() || rte_eth_link_get_nowait(id_, &link) != 0 || link.link_status == RTE_ETH_LINK_UP) return;
    const timespec moment{0, static_cast<long>(kMillisecond)};
    nanosleep(&moment, nullptr);
  }
}

std::uint64_t EthernetPort::pause_of_checks() const {
  if (in_memory_ || (watched_ && !interface_.empty())) return kOftenChecked;
  return watched_ ? kWatchedChecked : kSeldomChecked;
}

// af_packet calls the link up whatever the interface does.
bool EthernetPort::link_is_up() const {
  rte_eth_link link{};
  if (!started_ || rte_eth_link_get_nowait(id_, &link) != 0 || link.link_status != RTE_ETH_LINK_UP) return false;
  return !watched_ || interface_.empty() || interface_runs(interface_);
}

void EthernetPort::link_check(std::uint64_t now) {
  if (events_.any() && service_ == Service::serves) [[unlikely]]
    leave(now);
  if (away() || now < next_check_) return;
  const CancellationOff off;
  next_check_ = now + pause_of_checks();
  const bool up = link_is_up();
  if (up_ && !up) {
    ++link_losses_;
    ends_ += heard_;
    heard_ = false;
    waits_since_ = now;
    next_start_ = now + kFirstStartWait;
  }
  up_ = up;
  was_up_ |= up;
  if (up) start_wait_ = kFirstStartWait;
  if (!up && client_) start_again(now);
}

void EthernetPort::start_again(std::uint64_t now) {
  if (next_start_ == 0) next_start_ = now + (started_ ? kConnectionWait : start_wait_);
  // Turned away: nobody has to be waited for.
  if (started_ && connection_.ended()) next_start_ = std::min(next_start_, waits_since_ + start_wait_);
  if (now < next_start_) return;
  const ControlLock lock(ControlLock::Patience::look);
  if (!lock.held()) return;
  if (started_) stop();
  ++restarts_;
  start_wait_ = std::min(2 * start_wait_, kLongestStartWait);
  waits_since_ = now;
  next_start_ = now + (start() == 0 ? kConnectionWait : start_wait_);
}

// The driver has told something. Nobody else's end is gone, though no frames pass.
void EthernetPort::leave(std::uint64_t now) {
  service_ = Service::waits;
  link_losses_ += up_;
  up_ = heard_ = false;
  ring_ = {};
  was_up_ = true;  // nobody waits for it as for a link that has yet to come
  schedule_.begin(now, preference_.renewal_patience);
}

void EthernetPort::renew(std::uint64_t now) {
  if (service_ == Service::serves || gone()) return;
  const CancellationOff off;
  if (service_ == Service::is_renewed) {
    if (!renewal_.over()) {
      if (schedule_.is_stuck(now)) give_up("wanted to be reset, says its driver, which does not end the reset");
      return;
    }
    service_ = Service::waits;
    if (renewal_fault_ == PortFault::none) {
      service_ = Service::serves;
      ++renewals_;
      next_check_ = next_start_ = 0;
    } else if (!schedule_.failed(now)) {
      give_up("wanted to be reset, says its driver, and could not be: " + renewal_reason_);
    }
  }
  if (events_.removed() && !gone()) give_up("was removed, says its driver");
  if (events_.asked_back() && !gone()) {
    give_up("is wanted back by the kernel, which has it again");
    if (!renewal_.begin([this] { give_back(); })) why_gone_ = "is wanted back by the kernel, which has to wait";
  }
  if (service_ != Service::waits || !schedule_.is_due(now)) return;
  service_ = Service::is_renewed;
  schedule_.attempt(now);
  renewal_fault_ = PortFault::no_memory;
  renewal_reason_ = "there is no thread for it";
  renewal_.begin([this] {
    try {
      renewal_fault_ = set_up_anew(renewal_reason_);
    } catch (const std::bad_alloc&) {
      renewal_fault_ = PortFault::no_memory;
      renewal_reason_ = "no memory";  // short enough for the string itself
    }
  });
}

void EthernetPort::give_up(std::string why) {
  service_ = Service::gone;  // the thread that sets it up anew may still be in the driver
  abandoned_.store(true, std::memory_order_relaxed);
  up_ = false;
  why_gone_ = std::move(why);
}

// By a thread of its own, or at the port's end. Who has asked for the adapter waits until it is closed.
void EthernetPort::give_back() {
  if (!have_thread_data()) return;
  events_.forget();
  const ControlLock lock;
  rte_eth_dev_owner_unset(id_, owner_);
  keep_pools();
  remove();
  given_back_ = true;
}

// By a thread of its own, while the port is away.
PortFault EthernetPort::set_up_anew(std::string& reason) {
  if (!have_thread_data()) {
    reason = "no memory for a thread";
    return PortFault::no_memory;
  }
  const ControlLock lock;
  take_log();
  const std::uint32_t mtu = mtu_;
  started_ = false;
  if (!reset(reason) || abandoned_.load(std::memory_order_relaxed)) return PortFault::unusable;
  if (const PortFault fault = set_up(preference_, reason); fault != PortFault::none) return fault;
  if (mtu_ >= mtu) return add_rules(reason);
  reason = "its MTU is " + std::to_string(mtu_) + " now, and was " + std::to_string(mtu);
  mtu_ = mtu;
  return PortFault::unusable;
}

// What the driver has told before, or tells of this reset itself, is done then. A driver that cannot be reset is
// stopped, configured and started.
bool EthernetPort::reset(std::string& reason) {
  int error = 0;
  where_it_belongs([&] {
    error = rte_eth_dev_reset(id_);
    if (error == -ENOTSUP) error = rte_eth_dev_stop(id_);
  });
  events_.take_reset();
  if (isolated_) drop_flow_rules(id_);
  if (error != 0) reason = described("cannot reset DPDK port", name_, error);
  return error == 0;
}

}  // namespace openlapi::dpdk
