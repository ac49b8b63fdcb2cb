// Whether a port can carry packets from one of its addresses, as the driver tells: ports that go down and up, LIDs and
// GIDs that change, adapters that fail. It has a device context of its own, as whoever reads the events of one takes
// them from all others; those of queue pairs go to the context that has made them.
#pragma once

#include <cstdint>
#include <functional>

#include "dataplane/base/file_descriptor.h"
#include "dataplane/transport/link_status.h"
#include "nic/verbs/verbs_address.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

class PortStatus final : public LinkStatus {
 public:
  struct Place {
    std::uint32_t port = 1;
    std::uint32_t gid_index = 0;
    Address address;  // that peers were told
    std::uint16_t partition_index = 0;  // of InfiniBand
  };

  // The port does not serve as it was. True: it does in another way, which `place` has now.
  using Follow = std::function<bool(Place& place)>;

  // The adapter has failed, for good: nothing here will serve again.
  using GiveUp = std::function<void()>;

  // `arrivals`: a descriptor to sleep on besides.
  PortStatus(DeviceContext context, const Place& place, int arrivals, Follow follow = {}, GiveUp give_up = {});
  // False: descriptors are exhausted.
  bool valid() const { return sleepers_.is_open(); }

  // Readable (POLLIN) when that one is, and when there is news. Constant.
  int descriptor() const { return sleepers_.get(); }
  // True: words_against() has changed, or the place, or the adapter has failed. A system call where there is no news.
  bool look_for_news();

  const std::atomic<std::uint32_t>& changes() const override { return changes_; }
  void look() override { look_for_news(); }
  std::uint32_t words_against(PeerIndex) const override { return up_ ? 0 : 1; }
  const char* told_by(PeerIndex) const override { return failed_ ? "its driver: the adapter has failed" : nullptr; }
  void path_failed(PeerIndex) override {}  // the adapter tells by itself

 private:
  bool is_about_port(const ibv_async_event& event);
  void fail();
  bool serves() const;

  const DeviceContext context_;
  Place place_;
  const Follow follow_;
  const GiveUp give_up_;
  const int arrivals_;
  FileDescriptor sleepers_;  // an epoll set
  bool failed_ = false;      // the adapter, for good
  bool up_ = true;
  std::atomic<std::uint32_t> changes_ = 0;
};

}  // namespace openlapi::verbs
