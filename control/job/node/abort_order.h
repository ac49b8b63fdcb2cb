// In which order lapirun hears of aborts and of the ends of tasks that have to do with them: the first is its reason.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "control/job/messages/job_message.h"
#include "control/job/node/task_process.h"

namespace openlapi::jobs {

struct AbortListener {
  std::function<void(const TaskProcess& task)> ended;
  std::function<void(TaskAborted aborted)> aborted;
};

// A task mostly aborts the job for the loss of another one, which is on its way out perhaps: its end came first and
// tells more. So tasks that have failed by `until` come before the first aborts, but for those that abort themselves.
// One that ends in order is no cause: to lapirun it would be the reason if it never came to LAPI_Init.
void tell_aborts(std::vector<TaskProcess>& tasks, std::vector<TaskAborted> aborts,
                 std::chrono::steady_clock::time_point until, bool are_first, const AbortListener& listener);

}  // namespace openlapi::jobs
