// Runs the functions that the program has given to a context: header handlers and inline completion handlers with the
// lock held, inside the engine; completion handlers in their threads; the error handler outside both, after a step.
#pragma once

#include <cstdint>
#include <vector>

#include "api/context/context_part.h"
#include "api/include/lapi.h"
#include "api/lock/context_lock.h"
#include "dataplane/host/handler_host.h"

namespace openlapi {

class UserHandlers final : public HandlerHost, private ContextPart {
 public:
  using ContextPart::ContextPart;

  // The context was opened, with a new handle.
  void begin() { running_ = RunningHandler::none; }
  // The context was closed.
  void end() { faults_.clear(); }

  RunningHandler running() const { return running_; }  // inside the context
  bool has_faults() const { return !faults_.empty(); }

  // Calls the error handler for each fault. Meanwhile the lock is released, and the engine is not on the stack.
  void deliver_faults();

  // In a thread for completion handlers, without the lock.
  void run_in_thread(const CompletionRun& run);

  // HandlerHost.
  HeaderVerdict run_header_handler(const ArrivedMessage& message) override;
  bool run_completion_handler(const CompletionRun& run, bool now) override;
  void run_send_handler(const SendCompletion& completion) override;
  void counter_moves(std::uint64_t counter, PeerIndex peer) override;
  void warn_of_other_secret(PeerIndex peer) override;
  void name_other_version(PeerIndex peer, unsigned version) override;
  bool adapters_down(PeerIndex peer) override;
  void path_changed(PeerIndex peer, const PathChange& change) override;
  void address_changed(const AddressChange& change) override;
  void report_fault(Fault fault, PeerIndex peer) override;

 private:
  struct PendingFault {
    Fault fault;
    PeerIndex peer;
    int code = 0;               // for a mistake of the program that the engine does not know of; 0: `fault` says it
    std::uint64_t handler = 0;  // for an unknown handler: what the message named
  };

  void keep(const PendingFault& fault);
  void deliver(const PendingFault& pending);
  void take_answered_vector(const ArrivedMessage& message, const void* answer, HeaderVerdict& verdict);
  void take_answered_program(const ArrivedMessage& message, void* answer, const lapi_return_info_t& info,
                             HeaderVerdict& verdict);
  void report_mistake(int code, PeerIndex peer);

  RunningHandler running_ = RunningHandler::none;
  std::vector<PendingFault> faults_;
};

// Whether the calling thread runs a completion handler or an error handler of some context.
bool in_context_callback();

}  // namespace openlapi
