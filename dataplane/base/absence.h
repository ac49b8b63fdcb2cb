// Whoever was stopped, or computed without a call, has seen nothing of what its peers did meanwhile, and they may have
// been stopped with it. What it finds overdue then counts once it has looked for a while again.
#pragma once

#include <utility>

#include "dataplane/base/clock.h"

namespace openlapi {

class Absence {
 public:
  // Whoever has not looked for so long was away, and is excused for as long afterwards.
  explicit Absence(Nanoseconds shortest) : shortest_(shortest) {}

  // At every look; `would_lose()`: whether this one, if it came from an absence, took somebody for lost. It is excused
  // once, until there was no absence for the whole time: whoever looks seldom gives up the dead all the same.
  template <typename WouldLose>
  void look(Nanoseconds now, WouldLose&& would_lose) {
    const Nanoseconds before = std::exchange(looked_, now);
    if (before == 0 || now - before < shortest_) [[likely]] {
      excused_ = excused_ && is_excused(now);
      return;
    }
    if (!would_lose() || std::exchange(excused_, true)) return;
    nobody_lost_before_ = now + shortest_;
  }

  // Nobody is to be given up now.
  bool is_excused(Nanoseconds now) const { return now < nobody_lost_before_; }

 private:
  const Nanoseconds shortest_;
  Nanoseconds looked_ = 0;
  Nanoseconds nobody_lost_before_ = 0;
  bool excused_ = false;
};

}  // namespace openlapi
