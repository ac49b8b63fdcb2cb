#include "api/context/completion_host.h"

#include "api/context/context.h"

namespace openlapi {

void CompletionHost::lock() { context().lock(); }

void CompletionHost::unlock() { context().unlock(); }

void CompletionHost::run_handler(const CompletionRun& run) { context().handlers().run_in_thread(run); }

void CompletionHost::handler_returned(const CompletionRun& run) {
  context().endpoint().completion_returned(run);
  context().wake_sleepers();
  context().after_call();
}

void CompletionHost::thread_begins() { context().thread_begins(); }

void CompletionHost::thread_ends() { context().thread_ends(); }

}  // namespace openlapi
