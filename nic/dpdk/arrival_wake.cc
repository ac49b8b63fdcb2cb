#include "nic/dpdk/arrival_wake.h"

#include <rte_epoll.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "dataplane/base/cancellation.h"
#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/network_interface.h"

namespace openlapi::dpdk {

ArrivalWake::ArrivalWake(std::vector<EthernetPort*> ports, Look look)
    : ports_(std::move(ports)),
      look_(std::move(look)),
      descriptor_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!valid()) return;
  events_.reserve(ports_.size() + 1);
  for (EthernetPort* port : ports_) watch(*port);
  rte_epoll_event& event = events_.emplace_back();
  event.epdata.event = EPOLLIN;
  rte_epoll_ctl(descriptor_, EPOLL_CTL_ADD, timer_, &event);
  take_log();
}

ArrivalWake::~ArrivalWake() {
  for (const EthernetPort* port : interrupting_) {
    rte_eth_dev_rx_intr_ctl_q(port->id(), 0, descriptor_, RTE_INTR_EVENT_DEL, nullptr);
  }
  if (timer_ >= 0) close(timer_);
  if (descriptor_ >= 0) close(descriptor_);
}

void ArrivalWake::watch(EthernetPort& port) {
  if (port.interrupts() && rte_eth_dev_rx_intr_ctl_q(port.id(), 0, descriptor_, RTE_INTR_EVENT_ADD, nullptr) == 0) {
    interrupting_.push_back(&port);
    return;
  }
  const int socket = packet_socket_on(port.interface());
  rte_epoll_event& event = events_.emplace_back();
  event.epdata.event = EPOLLIN;
  if (socket >= 0 && rte_epoll_ctl(descriptor_, EPOLL_CTL_ADD, socket, &event) == 0) {
    sockets_.push_back(socket);
  } else {
    ++timed_ports_;
  }
}

void ArrivalWake::set_timer(std::uint64_t nanoseconds) {
  itimerspec moment{};
  moment.it_value.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000);
  moment.it_value.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
  timerfd_settime(timer_, 0, &moment, nullptr);
}

// Of the sleep before; of the timer's, setting it anew does.
void ArrivalWake::forget_wake_ups() {
  for (const int socket : sockets_) clear_error(socket);
  std::array<rte_epoll_event, 8> rung;
  if (!interrupting_.empty()) rte_epoll_wait(descriptor_, rung.data(), rung.size(), 0);
}

// Frames that a port holds leave when it is asked for frames again.
std::uint64_t ArrivalWake::longest_sleep() const {
  const bool holds = std::ranges::any_of(ports_, &EthernetPort::may_hold_frames);
  return timed_ports_ != 0 || holds ? sleep_ : kBetweenUpkeeps;
}

bool ArrivalWake::arm() {
  const CancellationOff off;
  forget_wake_ups();
  for (const EthernetPort* port : interrupting_) rte_eth_dev_rx_intr_enable(port->id(), 0);
  if (look_.packets_wait()) {
    disarm();
    return false;
  }
  const std::uint64_t passed = look_.packets_passed();
  sleep_ = passed == passed_ ? std::min(2 * sleep_, kLongestSleep) : kShortestSleep;
  passed_ = passed;
  set_timer(longest_sleep());
  return true;
}

void ArrivalWake::disarm() {
  const CancellationOff off;
  for (const EthernetPort* port : interrupting_) rte_eth_dev_rx_intr_disable(port->id(), 0);
}

}  // namespace openlapi::dpdk
