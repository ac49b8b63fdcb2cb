// The first exchange of a job's tasks, in LAPI_Init: each waits for all others there, without a limit, since a program
// may compute for long before it calls it. One that is stopped, or does something else, is named to the user.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/job/node/task_process.h"

namespace openlapi {

class FirstMeeting {
 public:
  using Clock = std::chrono::steady_clock;

  // A task of this node has come to the PMIx server: others may wait for all from now on.
  void take_connected(std::uint32_t task);
  // All tasks of this node have met, or one has left again: it did not wait.
  void take_over();

  // When to look again; none: nobody waits.
  const std::optional<Clock::time_point>& look_at() const { return look_at_; }
  // Call it then. What the user is to be told about tasks that the others wait for; empty: nothing, or it was said
  // already.
  std::string look(const std::vector<TaskProcess>& tasks);

 private:
  std::string missing(const std::vector<TaskProcess>& tasks) const;

  std::set<std::uint32_t> connected_;
  bool over_ = false;
  std::optional<Clock::time_point> look_at_;
};

}  // namespace openlapi
