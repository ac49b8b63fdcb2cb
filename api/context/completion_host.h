// What a context's threads for completion handlers need of it.
#pragma once

#include "api/context/completion_threads.h"
#include "api/context/context_part.h"

namespace openlapi {

class CompletionHost final : public CompletionOwner, private ContextPart {
 public:
  using ContextPart::ContextPart;

  void lock() override;
  void unlock() override;
  void run_handler(const CompletionRun& run) override;
  void handler_returned(const CompletionRun& run) override;
  void thread_begins() override;
  void thread_ends() override;
};

}  // namespace openlapi
