// What a task has heard of other tasks' adapters by events, and what of its own it has to tell them. Passive.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>

#include "control/base/adapter_event.h"

namespace openlapi {

class AdapterBoard {
 public:
  static constexpr std::size_t kMostDown = 16384;  // of more adapters nothing is believed

  // The last word on an adapter counts, whoever says it; of one of this task's own nobody else's does. True: what is
  // down has changed.
  bool hear(const AdapterEvent& event);
  const std::set<AdapterAddress>& down() const { return down_; }

  // True: there is something to tell. An adapter of which nothing was told has a link.
  bool set_own(const AdapterAddress& address, bool is_up);
  // What is to be told, all at once; from then on it has been.
  std::optional<AdapterEvent> take_news();

 private:
  struct Own {
    bool is_up = true;
    bool told_up = true;
  };

  std::set<AdapterAddress> down_{};
  std::map<AdapterAddress, Own> own_{};
};

}  // namespace openlapi
