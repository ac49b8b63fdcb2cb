// Which events of a node's tasks about their adapters go on to the job's other nodes. Passive.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "control/base/adapter_event.h"

namespace openlapi {

class AdapterRelay {
 public:
  using Clock = std::chrono::steady_clock;
  // A task's events that go on: so many at once, and one more for each pause. The others are lost.
  static constexpr unsigned kMostAtOnce = 16;
  static constexpr std::chrono::milliseconds kPause{50};
  // Adapters whose last word is remembered; of more, nothing goes on.
  static constexpr std::size_t kMostAdapters = 1024;

  // What of an event of task `task` is news: several tasks may see the same. Nothing: nothing goes on.
  std::optional<AdapterEvent> take(std::uint32_t task, const AdapterEvent& event, Clock::time_point now);

 private:
  struct Allowance {
    unsigned left = kMostAtOnce;
    Clock::time_point since{};  // when it was reckoned
  };
  bool may_go_on(std::uint32_t task, Clock::time_point now);

  std::map<std::uint32_t, Allowance> allowances_{};  // by task of this node
  std::map<AdapterAddress, bool> last_{};
};

}  // namespace openlapi
