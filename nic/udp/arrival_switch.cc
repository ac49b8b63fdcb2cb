#include "nic/udp/arrival_switch.h"

#include <sys/epoll.h>
#include <unistd.h>

namespace openlapi::udp {

ArrivalSwitch::~ArrivalSwitch() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool ArrivalSwitch::open(int socket) {
  socket_ = socket;
  descriptor_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event nothing{};
  return descriptor_ >= 0 && epoll_ctl(descriptor_, EPOLL_CTL_ADD, socket_, &nothing) == 0;
}

bool ArrivalSwitch::replace(int socket) {
  epoll_event events{};
  if (on_) events.events = EPOLLIN;
  if (epoll_ctl(descriptor_, EPOLL_CTL_ADD, socket, &events) != 0) return false;
  epoll_ctl(descriptor_, EPOLL_CTL_DEL, socket_, nullptr);
  socket_ = socket;
  return true;
}

bool ArrivalSwitch::always_watch(int descriptor) {
  epoll_event news{};
  news.events = EPOLLIN;
  return epoll_ctl(descriptor_, EPOLL_CTL_ADD, descriptor, &news) == 0;
}

void ArrivalSwitch::switch_on() {
  epoll_event arrival{};
  arrival.events = EPOLLIN;
  on_ = true;
  epoll_ctl(descriptor_, EPOLL_CTL_MOD, socket_, &arrival);
}

void ArrivalSwitch::switch_off() {
  epoll_event nothing{};
  on_ = false;
  epoll_ctl(descriptor_, EPOLL_CTL_MOD, socket_, &nothing);
}

}  // namespace openlapi::udp
