// The user's side of a simulated task: header and completion handlers, inline and in a thread, and the error handler.
#include "tests/simulation/simulated_engine.h"
#include "tests/simulation/simulation.h"

namespace openlapi::simulation {

namespace {

// Stands for the address of a completion handler.
char completion_handler_tag;
char send_handler_tag;
char get_handler_tag;

// Most handlers wait only a little for their thread, a few for long: their source may die and come back meanwhile.
constexpr Nanoseconds kLongestHandler = 300 * kMicrosecond;
constexpr Nanoseconds kLongestWait = 80 * kMillisecond;

const char* name_of(Fault fault) {
  constexpr const char* kNames[] = {"time-out", "no connectivity", "purged", "unknown handler"};
  const auto index = static_cast<std::size_t>(fault);
  return index < std::size(kNames) ? kNames[index] : "something else";
}

}  // namespace

HeaderVerdict SimulatedEngine::run_header_handler(const ArrivedMessage& message) {
  if (scenario_.is_liar(message.source)) return hear_the_liar(message);
  HeaderVerdict verdict;
  verdict.delivery = Delivery::bury;
  Operation* operation = checker_.message_arrived(task_, context_, message, endpoint_->sizes().packet_payload);
  if (operation == nullptr) return verdict;
  if (operation->drops_left != 0) {
    --operation->drops_left;
    operation->refused_once = true;
    verdict.delivery = Delivery::drop;
    return verdict;
  }
  ++operation->accepted;
  simulation_.trace("task %u context %u accepts message %llu", task_, context_,
                    static_cast<unsigned long long>(operation->id));
  verdict.style = operation->style;
  if (operation->has_completion) {
    verdict.completion_handler = &completion_handler_tag;
    verdict.completion_info = operation;
  }
  if (operation->takes_one_packet && message.one_packet_data != nullptr && !operation->place.empty()) {
    operation->to.cursor()->scatter(static_cast<const std::byte*>(message.one_packet_data), operation->length);
  } else if (operation->delivery == Delivery::deliver) {
    verdict.delivery = Delivery::deliver;
    if (operation->to.contiguous()) {
      verdict.buffer = operation->place.data();
    } else {
      verdict.layout = operation->to.cursor();
    }
  } else if (random_.chance(0.5)) {
    verdict.delivery = Delivery::deliver;  // to nowhere: buried as well
  }
  return verdict;
}

HandlerCall SimulatedEngine::origin_handler(Operation& operation) {
  if (!operation.has_origin_handler) return {};
  return {operation.kind == Kind::get ? &get_handler_tag : &send_handler_tag, &operation};
}

void SimulatedEngine::run_send_handler(const SendCompletion& completion) {
  if (completion.handler.function != &send_handler_tag)
    return checker_.fail("task %u was asked to run a send completion handler that is none", task_);
  checker_.origin_is_free(*static_cast<Operation*>(completion.handler.info), task_, completion);
}

bool SimulatedEngine::run_get_handler(const CompletionRun& run, bool now) {
  if (now) checker_.fail("task %u was asked to run a get's completion handler inline", task_);
  checker_.get_is_complete(*static_cast<Operation*>(run.info), task_, run.source);
  return true;
}

bool SimulatedEngine::run_completion_handler(const CompletionRun& run, bool now) {
  if (scenario_.is_liar(run.source)) return run_liars_handler(run, now);
  if (run.handler == &get_handler_tag) return run_get_handler(run, now);
  auto* operation = static_cast<Operation*>(run.info);
  if (run.handler != &completion_handler_tag || operation == nullptr) {
    checker_.fail("task %u was asked to run a completion handler that is none", task_);
    return true;
  }
  const bool wrong_thread = (operation->style == CompletionStyle::thread && now) ||
                            (operation->style == CompletionStyle::inline_local && !now);
  if (wrong_thread)
    checker_.fail("completion handler of message %llu asked for in the wrong thread",
                  static_cast<unsigned long long>(operation->id));
  checker_.completion_asked_for(*operation);
  if (!now || random_.chance(0.1)) {
    ++completions_queued_;
    operation->completion_was_queued = true;
    queue_completion(run, random_.chance(0.05) ? kLongestWait : kLongestHandler);
    return false;
  }
  checker_.completion_begins(*operation, task_, run.source);
  if (operation->replies) {
    ++replies_inline_;
    reply_to(*operation, true);
  }
  operation->handler_returned = true;
  return true;
}

void SimulatedEngine::queue_completion(const CompletionRun& run, Nanoseconds longest) {
  time_.after(random_.between(500, longest), [this, alive = alive_, run] {
    if (!*alive) return;
    if (time_.now() < stopped_until_) return queue_completion(run, stopped_until_ - time_.now() + kLongestHandler);
    completion_thread(run);
  });
}

void SimulatedEngine::completion_thread(const CompletionRun& run) {
  Operation& operation = *static_cast<Operation*>(run.info);
  if (operation.handlers_run == 0) checker_.completion_begins(operation, task_, run.source);
  if (operation.replies && !reply_to(operation, false)) {
    step_within(kMicrosecond);
    return queue_completion(run, refusal_wait_);  // the handler waits for room
  }
  operation.handler_returned = true;
  --completions_queued_;
  endpoint_->completion_returned(run);
  checker_.look(task_, context_);
  step_within(kMicrosecond);
}

// False: busy.
bool SimulatedEngine::reply_to(Operation& operation, bool must_be_taken) {
  if (operation.origin_incarnation != checker_.incarnation(operation.origin) || !checker_.alive(operation.origin))
    return true;
  Operation* reply = reply_of_[operation.id];
  if (reply == nullptr) reply = reply_of_[operation.id] = source_.reply(operation.origin);
  if (reply != nullptr && issue(*reply) == Submit::busy) {
    if (must_be_taken) checker_.fail("a reply of an inline handler in task %u was refused", task_);
    return false;
  }
  reply_of_.erase(operation.id);
  return true;
}

void SimulatedEngine::report_fault(Fault fault, PeerIndex peer) {
  ++simulation_.tally().faults;
  simulation_.trace("task %u context %u: %s with task %u", task_, context_, name_of(fault), peer);
  if (scenario_.is_liar(peer)) return;  // whatever it is, it deserves it
  const bool may_be_lost = checker_.died_during(task_, context_, peer) || checker_.disturbed(task_, context_, peer);
  const bool expected =
      may_be_lost && (fault == Fault::timeout || fault == Fault::no_path || fault == Fault::no_connectivity);
  if (!expected) checker_.fail("task %u reports %s with task %u, which lives", task_, name_of(fault), peer);
  checker_.fault_reported(task_, context_, peer);
  simulation_.recovery().fault_reported(task_, context_, peer);
}

}  // namespace openlapi::simulation
