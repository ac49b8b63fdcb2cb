// What the kernel tells of the links of a context's UDP adapters. All of the context's transports share one, as the
// kernel tells of all links at once.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
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
  bool look();
  const LinkTable& table() const { return kernel_.table(); }
  const std::atomic<std::uint32_t>& changes() const { return changes_; }
  int descriptor() const { return kernel_.descriptor(); }  // readable when something is new
  // One of the transports has whoever sleeps woken. True: it is the one that asks.
  bool take_waking() { return !std::exchange(somebody_wakes_, true); }

  // A transport of the context has the address, or no more.
  void uses(in_addr address);
  void uses_no_more(in_addr address);
  bool is_used(in_addr address) const { return used_.contains(address.s_addr); }

 private:
  KernelLinks kernel_;
  std::atomic<std::uint32_t> changes_ = 0;
  bool somebody_wakes_ = false;
  std::multiset<in_addr_t> used_;
};

// Of one transport. A peer is reached while the transport's own address is there and its link is up. Of an address that
// no interface has (a route can make any address local) nothing is known. When the interface loses the address and has
// another one, the transport follows.
class AdapterLink final : public LinkStatus {
 public:
  // The transport is to have this address from now on. False: it cannot.
  using Follow = std::function<bool(in_addr address)>;

  AdapterLink(std::shared_ptr<LocalLinks> links, in_addr address, Follow follow);
  ~AdapterLink();
  AdapterLink(const AdapterLink&) = delete;
  AdapterLink& operator=(const AdapterLink&) = delete;

  const std::atomic<std::uint32_t>& changes() const override { return links_->changes(); }
  void look() override;
  std::uint32_t words_against(PeerIndex) const override { return !listed_ || links_->table().serves(address_) ? 0 : 1; }
  const char* told_by(PeerIndex) const override { return nullptr; }
  void path_failed(PeerIndex) override {}  // the kernel tells by itself
  LocalLinks& links() const { return *links_; }

 private:
  in_addr present_address() const;

  const std::shared_ptr<LocalLinks> links_;
  const Follow follow_;
  in_addr address_;
  const in_addr home_;  // the first one
  bool listed_ = false;
  std::string interface_{};      // empty: none that the transport could follow
  unsigned prefix_length_ = 32;  // of the network of the first one
  std::uint32_t seen_ = 0;
};

}  // namespace openlapi::udp
