#include "nic/dpdk/arrival_wake.h"

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

struct ArrivalWake::Watched {
  EthernetPort* port;
  Way way = Way::none;
  int socket = -1;
  std::unique_ptr<rte_epoll_event> event = std::make_unique<rte_epoll_event>();  // DPDK keeps a pointer to it
};

ArrivalWake::ArrivalWake(const std::vector<EthernetPort*>& ports, Look look)
    : look_(std::move(look)),
      descriptor_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!valid()) return;
  for (EthernetPort* port : ports) ports_.push_back({.port = port});
  for (Watched& watched : ports_) watch(watched);
  timer_event_ = std::make_unique<rte_epoll_event>();
  timer_event_->epdata.event = EPOLLIN;
  rte_epoll_ctl(descriptor_, EPOLL_CTL_ADD, timer_, timer_event_.get());
  take_log();
}

ArrivalWake::~ArrivalWake() {
  for (Watched& watched : ports_) {
    if (watched.way == Way::interrupt) leave(watched);
  }
  if (timer_ >= 0) close(timer_);
  if (descriptor_ >= 0) close(descriptor_);
}

void ArrivalWake::watch(Watched& watched) {
  const EthernetPort& port = *watched.port;
  if (port.interrupts() && rte_eth_dev_rx_intr_ctl_q(port.id(), 0, descriptor_, RTE_INTR_EVENT_ADD, nullptr) == 0) {
    watched.way = Way::interrupt;
    return;
  }
  watched.socket = packet_socket_on(port.interface());
  *watched.event = {};
  watched.event->epdata.event = EPOLLIN;
  const bool rings =
      watched.socket >= 0 && rte_epoll_ctl(descriptor_, EPOLL_CTL_ADD, watched.socket, watched.event.get()) == 0;
  watched.way = rings ? Way::socket : Way::timer;
}

void ArrivalWake::leave(Watched& watched) {
  if (watched.way == Way::interrupt) {
    rte_eth_dev_rx_intr_ctl_q(watched.port->id(), 0, descriptor_, RTE_INTR_EVENT_DEL, nullptr);
  } else if (watched.way == Way::socket) {
    rte_epoll_ctl(descriptor_, EPOLL_CTL_DEL, watched.socket, watched.event.get());
  }
  watched.way = Way::none;
}

void ArrivalWake::follow(EthernetPort& port) {
  Watched& watched = *std::ranges::find(ports_, &port, &Watched::port);
  if (port.away() == (watched.way == Way::none)) return;
  const CancellationOff off;
  if (port.away()) {
    leave(watched);
  } else {
    watch(watched);
  }
  take_log();
}

bool ArrivalWake::any(Way way) const { return std::ranges::find(ports_, way, &Watched::way) != ports_.end(); }

void ArrivalWake::set_timer(std::uint64_t nanoseconds) {
  itimerspec moment{};
  moment.it_value.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000);
  moment.it_value.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
  timerfd_settime(timer_, 0, &moment, nullptr);
}

// Of the sleep before; of the timer's, setting it anew does.
void ArrivalWake::forget_wake_ups() {
  for (const Watched& watched : ports_) {
    if (watched.way == Way::socket) clear_error(watched.socket);
  }
  std::array<rte_epoll_event, 8> rung;
  if (any(Way::interrupt)) rte_epoll_wait(descriptor_, rung.data(), rung.size(), 0);
}

// Frames that a port holds leave when it is asked for frames again.
std::uint64_t ArrivalWake::longest_sleep() const {
  const bool holds = std::ranges::any_of(ports_, &EthernetPort::may_hold_frames, &Watched::port);
  return any(Way::timer) || holds ? sleep_ : kBetweenUpkeeps;
}

// What its driver has told may be that the adapter is gone, and nobody may have looked since.
bool ArrivalWake::may_ring(const Watched& watched) {
  return watched.way == Way::interrupt && !watched.port->has_events();
}

bool ArrivalWake::arm() {
  const CancellationOff off;
  forget_wake_ups();
  for (const Watched& watched : ports_) {
    if (may_ring(watched)) rte_eth_dev_rx_intr_enable(watched.port->id(), 0);
  }
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
  for (const Watched& watched : ports_) {
    if (may_ring(watched)) rte_eth_dev_rx_intr_disable(watched.port->id(), 0);
  }
}

}  // namespace openlapi::dpdk
