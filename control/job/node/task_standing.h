// Where the tasks of a job stand, in words for the user whose job hangs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/job/node/container_numbers.h"
#include "control/job/node/task_pages.h"
#include "control/job/node/task_process.h"

namespace openlapi {

struct TaskStanding {
  std::uint32_t task = 0;
  std::uint32_t process = 0;               // 0: not known
  std::string where{};                     // "in LAPI_Fence"
  std::optional<std::uint32_t> seconds{};  // since when, if that is known
  std::string why{};                       // what the call waits for; may be empty
  std::string host{};                      // empty: there is only one
  bool operator==(const TaskStanding&) const = default;
};

// `in_pmix`: the task is connected to the PMIx server. `elsewhere`: one for all tasks.
TaskStanding standing_of(const TaskProcess& task, const TaskPages::Words& words, bool in_pmix,
                         ContainerNumbers& elsewhere);

// One line for those who stand at the same place: "tasks 0-3,7: in LAPI_Gfence for 12 to 14 s". At most about ten.
std::vector<std::string> standing_lines(const std::vector<TaskStanding>& standings);

}  // namespace openlapi
