// Passes messages along the tree of daemons, from neighbour to neighbour. A message is for one node or several; to
// those that lie in one direction it goes once. While the next neighbour is not linked (its parent was lost and it is
// about to link to another), messages wait. Passive.
//
// A `Message` has goals(), the nodes that it is for; for_goals(), the same message for some of them; and
// keeps_order_with(), whether it must not overtake another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {

template <typename Message>
class TreeForwarder {
 public:
  struct Places {
    std::function<bool(std::uint32_t)> is_linked;
    std::function<void(std::uint32_t, const Message&)> send;  // to a neighbour
    std::function<void(const Message&)> deliver;              // on this node
  };
  TreeForwarder(const UniverseTable& table, Places places) : table_(table), places_(std::move(places)) {}

  void forward(const Message& message) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> directions;
    for (const std::uint32_t goal : message.goals()) {
      const std::vector<std::uint32_t> way = table_.path(table_.here(), goal);
      if (way.empty()) continue;  // lost: whoever relies on it knows
      directions[way.size() > 1 ? way[1] : way[0]].push_back(goal);
    }
    for (auto& [next, goals] : directions) {
      const Message piece = message.for_goals(std::move(goals));
      if (next == table_.here()) {
        places_.deliver(piece);
      } else if (must_wait(piece) || !places_.is_linked(next)) {
        waiting_.push_back(piece);
      } else {
        places_.send(next, piece);
      }
    }
  }

  // Links have come or gone: a message that waits may have another way now.
  void go_on() {
    std::deque<Message> waited;
    waited.swap(waiting_);
    for (const Message& message : waited) forward(message);
  }

 private:
  bool must_wait(const Message& message) const {
    return std::ranges::any_of(waiting_, [&](const Message& other) { return message.keeps_order_with(other); });
  }

  const UniverseTable& table_;
  Places places_;
  std::deque<Message> waiting_{};
};

}  // namespace openlapi::daemon
