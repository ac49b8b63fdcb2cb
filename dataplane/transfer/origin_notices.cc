#include "dataplane/transfer/origin_notices.h"

namespace openlapi {

// Handlers that begin operations leave further completions behind; those run in the next step, so that a task whose
// handlers keep sending comes back from here.
unsigned OriginNotices::run_handlers() {
  unsigned moved = 0;
  running_.swap(waiting_);
  signs_.set(StepSigns::handlers, false);
  admission_.enter_handler();
  for (const Kept& kept : running_) {
    host_.run_send_handler(kept.completion);
    counters_.move(kept.then, kept.completion.target);
    if (kept.then != 0) ++moved;
  }
  admission_.leave_handler();
  running_.clear();
  return moved;
}

}  // namespace openlapi
