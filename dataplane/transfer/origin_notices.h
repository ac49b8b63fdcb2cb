// How a message's origin is told that its buffers may be reused: by a counter, and by a send completion handler. The
// handler may begin operations, so it waits until the engine is off the stack or at the end of its step.
#pragma once

#include <vector>

#include "dataplane/counter/counters.h"
#include "dataplane/host/handler_host.h"
#include "dataplane/message/step_signs.h"
#include "dataplane/transfer/admission.h"

namespace openlapi {

struct OriginNotice {
  std::uint64_t counter;
  const HandlerCall& handler;
};

class OriginNotices {
 public:
  OriginNotices(HandlerHost& host, Counters& counters, Admission& admission, StepSigns& signs)
      : host_(host), counters_(counters), admission_(admission), signs_(signs) {}

  void origin_is_free(PeerIndex target, const OriginNotice& notice) {
    counters_.move(notice.counter, target);
    if (notice.handler.function != nullptr) [[unlikely]]
      keep_handler(target, notice.handler);
  }
  [[gnu::noinline]] void keep_handler(PeerIndex target, const HandlerCall& handler) { keep({handler, target}); }
  // The same for an operation that is complete at its target already. `then`: a counter that moves once the handler has
  // run, as that of an answer would; 0: none.
  void keep_handler(PeerIndex target, const HandlerCall& handler, std::uint64_t then) { keep({handler, target}, then); }
  // The same for a message that was given up: its buffers are free, but its counter does not move.
  void given_up(PeerIndex target, const HandlerCall& handler, Fault fault) {
    if (handler.function != nullptr) keep({handler, target, true, fault});
  }

  bool empty() const { return waiting_.empty(); }
  [[gnu::noinline]] unsigned run_handlers();  // how many counters have moved

  // The end of a call that may have queued handlers: they run if no handler is on the stack.
  void call_ends() {
    if (signs_.any(StepSigns::handlers) && !admission_.in_handler()) [[unlikely]]
      run_handlers();
  }

 private:
  struct Kept {
    SendCompletion completion;
    std::uint64_t then;
  };
  void keep(const SendCompletion& completion, std::uint64_t then = 0) {
    waiting_.push_back({completion, then});
    signs_.set(StepSigns::handlers, true);
  }

  HandlerHost& host_;
  Counters& counters_;
  Admission& admission_;
  StepSigns& signs_;
  std::vector<Kept> waiting_, running_;  // handlers that have to run; those that are running
};

}  // namespace openlapi
