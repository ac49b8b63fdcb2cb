// The task's end of the page in which its launcher can read where it stands (dataplane/base/task_page.h).
#pragma once

#include "control/client/bootstrap.h"

namespace openlapi {

// FILE:NUMBER, the page's number in the file. Made by lapirun and lamtasks; other launchers have none.
inline constexpr char kTaskPageVariable[] = "LAPIRUN_TASK_PAGE";

// Opens it at most once per process. A page that another living process has is left alone: that is the task, which has
// started this process. Not for two threads at a time.
void open_own_task_page(const ReadEnvironment& read);

}  // namespace openlapi
