#include "control/job/node/abort_order.h"

#include <algorithm>
#include <utility>

namespace openlapi::jobs {

void tell_aborts(std::vector<TaskProcess>& tasks, std::vector<TaskAborted> aborts,
                 std::chrono::steady_clock::time_point until, bool are_first, const AbortListener& listener) {
  for (TaskProcess& task : tasks) {
    const bool aborts_itself = std::ranges::find(aborts, task.number(), &TaskAborted::task) != aborts.end();
    if (are_first && !aborts_itself && task.fails(until)) listener.ended(task);
  }
  for (TaskAborted& aborted : aborts) listener.aborted(std::move(aborted));
}

}  // namespace openlapi::jobs
