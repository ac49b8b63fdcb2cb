// Whether anything has changed in what an endpoint's transports say of their links.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/transport/link_status.h"
#include "dataplane/tuning.h"

namespace openlapi {

class LinkNotices {
 public:
  // Outlives this.
  void add(LinkStatus& link) {
    links_.push_back(&link);
    if (std::ranges::find(words_, &link.changes()) == words_.end()) words_.push_back(&link.changes());
    seen_ = number();
  }
  bool empty() const { return words_.empty(); }

  // Another one after each change; 0: no link says anything. Some loads from memory.
  std::uint32_t number() const {
    std::uint32_t sum = words_.empty() ? 0 : 1;
    for (const std::atomic<std::uint32_t>* word : words_) sum += word->load(std::memory_order_acquire);
    return sum;
  }

  // Somebody has taken in a change since the last any_new().
  bool is_behind() const { return number() != seen_; }
  // True: something has changed since the last call. Lets the links look for it now and then, and when one of those
  // that share a word has found a change.
  bool any_new(Nanoseconds now) {
    if (now >= next_look_ || is_behind()) {
      next_look_ = now + tuning::kLinkLookPause;
      for (LinkStatus* link : links_) link->look();
    }
    const std::uint32_t latest = number();
    const bool changed = latest != seen_;
    seen_ = latest;
    return changed;
  }

 private:
  std::vector<LinkStatus*> links_;
  std::vector<const std::atomic<std::uint32_t>*> words_;
  std::uint32_t seen_ = 0;
  Nanoseconds next_look_ = 0;
};

}  // namespace openlapi
