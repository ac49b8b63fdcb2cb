// What the kernel tells of the links of a context's UDP adapters. All of the context's transports share one, as the
// kernel tells of all links at once.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "dataplane/transport/link_status.h"
#include "nic/links/kernel_links.h"

namespace openlapi::udp {

class LocalLinks {
 public:
  // False: `error` says why.
  bool open(std::string& error) { return kernel_.open(error); }
  // True: something has changed.
  bool look() {
    if (!kernel_.look()) return false;
    changes_.fetch_add(1, std::memory_order_release);
    return true;
  }
  const LinkTable& table() const { return kernel_.table(); }
  const std::atomic<std::uint32_t>& changes() const { return changes_; }
  int descriptor() const { return kernel_.descriptor(); }  // readable when something is new
  // One of the transports has whoever sleeps woken. True: it is the one that asks.
  bool take_waking() { return !std::exchange(somebody_wakes_, true); }

 private:
  KernelLinks kernel_;
  std::atomic<std::uint32_t> changes_ = 0;
  bool somebody_wakes_ = false;
};

// Of one transport. A peer is reached while the transport's own address is there and its link is up. Of an address that
// no interface has (a route can make any address local) nothing is known.
class AdapterLink final : public LinkStatus {
 public:
  AdapterLink(std::shared_ptr<LocalLinks> links, in_addr address)
      : links_(std::move(links)), address_(address), listed_(links_->table().knows(address)) {}

  const std::atomic<std::uint32_t>& changes() const override { return links_->changes(); }
  void look() override { links_->look(); }
  bool reaches(PeerIndex) const override { return !listed_ || links_->table().serves(address_); }
  void path_failed(PeerIndex) override {}  // the kernel tells by itself
  LocalLinks& links() const { return *links_; }

 private:
  const std::shared_ptr<LocalLinks> links_;
  const in_addr address_;
  const bool listed_;
};

}  // namespace openlapi::udp
