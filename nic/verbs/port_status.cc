#include "nic/verbs/port_status.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include <algorithm>

#include "dataplane/base/cancellation.h"

namespace openlapi::verbs {

namespace {

constexpr int kEventsOfLook = 64;  // a port that goes up and down all the time holds nobody up

bool watch(int set, int descriptor) {
  epoll_event readable{};
  readable.events = EPOLLIN;
  return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &readable) == 0;
}

}  // namespace

PortStatus::PortStatus(DeviceContext context, const Place& place, int arrivals, Follow follow)
    : context_(std::move(context)), place_(place), follow_(std::move(follow)), sleepers_(epoll_create1(EPOLL_CLOEXEC)) {
  const int events = context_->async_fd;
  fcntl(events, F_SETFL, fcntl(events, F_GETFL) | O_NONBLOCK);
  if (!watch(sleepers_.get(), events) || !watch(sleepers_.get(), arrivals)) sleepers_.reset();
  up_ = serves();
}

bool PortStatus::look_for_news() {
  const CancellationOff off;
  bool any = false;
  ibv_async_event event{};
  for (int events = 0; events != kEventsOfLook && ibv_get_async_event(context_.get(), &event) == 0; ++events) {
    any |= is_about_port(event);
    ibv_ack_async_event(&event);
  }
  if (!any) return false;
  bool up = serves();
  const bool moved = !up && !failed_ && follow_ && follow_(place_);
  if (moved) up = serves();
  if (!moved && up == up_) return false;
  up_ = up;
  changes_.fetch_add(1, std::memory_order_release);
  return true;
}

bool PortStatus::is_about_port(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_DEVICE_FATAL:
      failed_ = true;
      return true;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_GID_CHANGE:
      return event.element.port_num == static_cast<int>(place_.port);
    default:
      return false;
  }
}

// A packet names the address that it comes from; over InfiniBand the LID, else the GID.
bool PortStatus::serves() const {
  if (failed_) return false;
  const auto port = static_cast<std::uint8_t>(place_.port);
  ibv_port_attr attributes{};
  if (ibv_query_port(context_.get(), port, &attributes) != 0 || attributes.state != IBV_PORT_ACTIVE) return false;
  const Address& address = place_.address;
  if (address.fabric == Fabric::infiniband && address.lid != 0) return attributes.lid == address.lid;
  ibv_gid gid{};
  return ibv_query_gid(context_.get(), port, static_cast<int>(place_.gid_index), &gid) == 0 &&
         std::ranges::equal(gid.raw, address.gid);
}

}  // namespace openlapi::verbs
