#include "dataplane/transfer/origin_notices.h"

namespace openlapi {

// Handlers that begin operations leave further completions behind; those run in the next step, so that a task whose
// handlers keep sending comes back from here.
void OriginNotices::run_handlers() {
  running_.swap(waiting_);
  signs_.set(StepSigns::handlers, false);
  admission_.enter_handler();
  for (const SendCompletion& completion : running_) host_.run_send_handler(completion);
  admission_.leave_handler();
  running_.clear();
}

}  // namespace openlapi
