// Level 3: which handlers run and what they answer. Level 1: faults.
#include "api/wiring/trace.h"
#include "libtrace/trace_log.h"

namespace openlapi {

namespace {

const char* text_of(Delivery delivery) {
  switch (delivery) {
    case Delivery::deliver:
      return "deliver";
    case Delivery::bury:
      return "bury";
    case Delivery::drop:
      return "drop";
  }
  return "?";
}

const char* text_of(Fault fault) {
  switch (fault) {
    case Fault::adapters_down:
      return "no adapter of this task is up";
    case Fault::no_path:
      return "no path brings anything";
    case Fault::timeout:
      return "time-out";
    case Fault::no_connectivity:
      return "no connectivity";
    case Fault::purged:
      return "purged";
    case Fault::unknown_handler:
      return "unknown handler";
    case Fault::not_own_memory:
      return "not own memory";
    case Fault::refused:
      return "refused";
    case Fault::origin_vector:
      return "memory of an origin vector";
    case Fault::target_vector:
      return "memory of a target vector";
    case Fault::program_memory:
      return "memory of a program";
    case Fault::out_of_memory:
      return "out of memory";
    case Fault::too_much_kept:
      return "too much kept";
    case Fault::other_secret:
      return "another secret";
    case Fault::other_version:
      return "another wire version";
    case Fault::lost_for_good:
      return "lost for good";
    case Fault::target_out_of_memory:
      return "target out of memory";
    case Fault::internal:
      return "internal";
  }
  return "?";
}

class TracedHost final : public HandlerHost {
 public:
  explicit TracedHost(HandlerHost& inner) : inner_(inner) {}

  HeaderVerdict run_header_handler(const ArrivedMessage& message) override {
    HeaderVerdict verdict = inner_.run_header_handler(message);
    if (traces(TraceLevel::handlers)) {
      trace("header handler %#llx for %llu bytes and a header of %u from %u: %s to %p, completion handler %p",
            static_cast<unsigned long long>(message.handler), static_cast<unsigned long long>(message.length),
            message.user_header_length, message.source, text_of(verdict.delivery), verdict.buffer,
            verdict.completion_handler);
    }
    return verdict;
  }

  bool run_completion_handler(const CompletionRun& run, bool now) override {
    const bool returned = inner_.run_completion_handler(run, now);
    if (traces(TraceLevel::handlers)) {
      trace("completion handler %p of a message from %u %s", run.handler, run.source,
            returned ? "ran inline" : "queued for its thread");
    }
    return returned;
  }

  void run_send_handler(const SendCompletion& completion) override {
    if (traces(TraceLevel::handlers)) {
      trace("send completion handler %p of a message to %u runs%s%s", completion.handler.function, completion.target,
            completion.given_up ? ": " : "", completion.given_up ? text_of(completion.fault) : "");
    }
    inner_.run_send_handler(completion);
  }

  void counter_moves(std::uint64_t counter, PeerIndex peer) override { inner_.counter_moves(counter, peer); }

  void warn_of_other_secret(PeerIndex peer) override {
    trace("what comes from where task %u is was made with another secret", peer);
    inner_.warn_of_other_secret(peer);
  }

  void name_other_version(PeerIndex peer, unsigned version) override {
    trace("task %u has wire version %u", peer, version);
    inner_.name_other_version(peer, version);
  }

  bool adapters_down(PeerIndex peer) override { return inner_.adapters_down(peer); }

  void path_changed(PeerIndex peer, const PathChange& change) override {
    trace("a path to task %u %s", peer, change.failed() ? "has failed" : "serves again");
    inner_.path_changed(peer, change);
  }

  void report_fault(Fault fault, PeerIndex peer) override {
    if (peer == kUnknownPeer) {
      trace("fault: %s", text_of(fault));
    } else {
      trace("fault: %s, task %u", text_of(fault), peer);
    }
    inner_.report_fault(fault, peer);
  }

 private:
  HandlerHost& inner_;
};

}  // namespace

std::unique_ptr<HandlerHost> traced(HandlerHost& host) {
  if (!traces(TraceLevel::contexts)) return nullptr;
  return std::make_unique<TracedHost>(host);
}

}  // namespace openlapi
