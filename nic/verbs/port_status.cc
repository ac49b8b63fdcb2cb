#include "nic/verbs/port_status.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

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

PortStatus::PortStatus(DeviceContext context, const Place& place, int arrivals, Follow follow, GiveUp give_up)
    : context_(std::move(context)),
      place_(place),
      follow_(std::move(follow)),
      give_up_(std::move(give_up)),
      arrivals_(arrivals),
      sleepers_(epoll_create1(EPOLL_CLOEXEC)) {
  const int events = context_->async_fd;
  fcntl(events, F_SETFL, fcntl(events, F_GETFL) | O_NONBLOCK);
  if (!watch(sleepers_.get(), events) || !watch(sleepers_.get(), arrivals)) sleepers_.reset();
  up_ = serves();
}

bool PortStatus::look_for_news() {
  if (failed_) return false;
  const CancellationOff off;
  bool any = false;
  int error = 0;
  for (int events = 0; events != kEventsOfLook && !failed_; ++events) {
    ibv_async_event event{};
    errno = 0;
    error = ibv_get_async_event(context_.get(), &event);
    if (error != 0) break;
    any |= is_about_port(event);
    ibv_ack_async_event(&event);
  }
  if (error != 0 && errno == EIO) failed_ = true;  // the kernel has taken the device away
  if (failed_) fail();
  if (!any && !failed_) return false;
  bool up = serves();
  const bool moved = !up && !failed_ && follow_ && follow_(place_);
  if (moved) up = serves();
  if (!moved && !failed_ && up == up_) return false;
  up_ = up;
  changes_.fetch_add(1, std::memory_order_release);
  return true;
}

// Descriptors of such a device are in error for ever, and would keep everybody awake who sleeps on them.
void PortStatus::fail() {
  for (const int descriptor : {context_->async_fd, arrivals_}) {
    epoll_ctl(sleepers_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  }
  if (give_up_) give_up_();
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
    case IBV_EVENT_PKEY_CHANGE:
      return event.element.port_num == static_cast<int>(place_.port);
    default:
      return false;
  }
}

// A packet names the address that it comes from: over InfiniBand the LID, and where it has a route header the GID;
// elsewhere the GID. And over InfiniBand its partition.
bool PortStatus::serves() const {
  if (failed_) return false;
  const auto port = static_cast<std::uint8_t>(place_.port);
  ibv_port_attr attributes{};
  if (ibv_query_port(context_.get(), port, &attributes) != 0 || attributes.state != IBV_PORT_ACTIVE) return false;
  const Address& address = place_.address;
  __be16 key = 0;
  if (address.fabric == Fabric::infiniband &&
      (ibv_query_pkey(context_.get(), port, place_.partition_index, &key) != 0 ||
       be16toh(key) != address.partition_key)) {
    return false;
  }
  const bool by_lid = address.fabric == Fabric::infiniband && address.lid != 0;
  if (by_lid && attributes.lid != address.lid) return false;
  ibv_gid gid{};
  if (ibv_query_gid(context_.get(), port, static_cast<int>(place_.gid_index), &gid) != 0) return false;
  return (by_lid && is_zero(std::to_array(gid.raw))) || std::ranges::equal(gid.raw, address.gid);
}

}  // namespace openlapi::verbs
