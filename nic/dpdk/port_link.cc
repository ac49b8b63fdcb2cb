// Whether a port has a link, and what is done where it has none.
#include <rte_ethdev.h>
#include <time.h>

#include <algorithm>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/clock.h"
#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/ethernet_port.h"
#include "nic/dpdk/network_interface.h"

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
  if (now < next_check_) return;
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

}  // namespace openlapi::dpdk
