#include "nic/udp/local_links.h"

#include <algorithm>
#include <cstring>

namespace openlapi::udp {

namespace {

in_addr ipv4_of(const LinkAddress& address) {
  in_addr ipv4{};
  std::memcpy(&ipv4, address.bytes.data(), sizeof(ipv4));
  return ipv4;
}

bool is_within(in_addr address, in_addr network, unsigned prefix_length) {
  const std::uint32_t differ = ntohl(address.s_addr ^ network.s_addr);
  return prefix_length == 0 || differ >> (32 - std::min(prefix_length, 32u)) == 0;
}

}  // namespace

bool LocalLinks::look() {
  if (!kernel_.look()) return false;
  changes_.fetch_add(1, std::memory_order_release);
  return true;
}

void LocalLinks::uses(in_addr address) { used_.insert(address.s_addr); }

void LocalLinks::uses_no_more(in_addr address) {
  if (const auto found = used_.find(address.s_addr); found != used_.end()) used_.erase(found);
}

AdapterLink::AdapterLink(std::shared_ptr<LocalLinks> links, in_addr address, Follow follow)
    : links_(std::move(links)), follow_(std::move(follow)), address_(address), home_(address) {
  listed_ = links_->table().knows(address);
  links_->uses(address);
  for (const LinkAddress& candidate : links_->table().addresses()) {
    if (candidate.family != AF_INET || ipv4_of(candidate).s_addr != address.s_addr) continue;
    const auto link = links_->table().links().find(candidate.link);
    if (link == links_->table().links().end() || link->second.loopback) continue;
    interface_ = link->second.name;
    prefix_length_ = candidate.prefix_length;
  }
  seen_ = links_->changes();
}

AdapterLink::~AdapterLink() { links_->uses_no_more(address_); }

void AdapterLink::look() {
  links_->look();
  const std::uint32_t changes = links_->changes();
  if (std::exchange(seen_, changes) == changes || interface_.empty()) return;
  const in_addr present = present_address();
  if (present.s_addr == address_.s_addr || !follow_(present)) return;
  links_->uses_no_more(address_);
  links_->uses(present);
  address_ = present;
}

// Of those of the interface, by name: it may have been made anew. One of the network that the first one was of is
// better than another, and what it is better than what it may be; but nobody else of the context uses it.
in_addr AdapterLink::present_address() const {
  if (links_->table().knows(address_) && is_within(address_, home_, prefix_length_)) return address_;
  in_addr best = address_;
  unsigned best_rank = 4;
  for (const LinkAddress& candidate : links_->table().addresses()) {
    if (candidate.family != AF_INET) continue;
    const auto link = links_->table().links().find(candidate.link);
    if (link == links_->table().links().end() || link->second.name != interface_) continue;
    const in_addr ipv4 = ipv4_of(candidate);
    const bool is_present = ipv4.s_addr == address_.s_addr;
    if (!is_present && links_->is_used(ipv4)) continue;
    const unsigned rank = (is_within(ipv4, home_, prefix_length_) ? 0 : 2) + (is_present ? 0 : 1);
    if (rank >= best_rank) continue;
    best = ipv4;
    best_rank = rank;
  }
  return best;
}

}  // namespace openlapi::udp
