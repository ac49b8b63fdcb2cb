// What happens when all data of a message is in place: fences count it, its completion handler runs, and then its
// counters move (guide, chapter 7).
#pragma once

#include <cstdint>

#include "dataplane/counter/counters.h"
#include "dataplane/host/handler_host.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/sync/fence_answers.h"
#include "dataplane/transfer/admission.h"
#include "dataplane/transfer/outbox.h"

namespace openlapi {

class Completions {
 public:
  struct Means {
    HandlerHost& host;
    PeerTable& peers;
    Statistics& statistics;
    Counters& counters;
    Admission& admission;
    Outbox& outbox;
    FenceAnswers& fence_answers;
  };
  explicit Completions(const Means& means) : means_(means) {}

  // `from`: null for a message to oneself. `number`: as in IncomingMessage. Inline for callers that do little else.
  [[gnu::always_inline]] inline void data_in_place(Peer* from, std::uint64_t number, const CompletionRun& run,
                                                   CompletionStyle style, std::uint64_t data_bytes);

  // A completion handler that run_completion_handler() had queued has returned.
  void handler_returned(const CompletionRun& run);
  // Whether a reply from an inline completion handler would find room.
  bool reply_has_room(PeerIndex peer);

  // A peer has done what a message of this task asked for: moves its completion counter.
  void on_counter_update(Peer& from, const wire::Record& record);

 private:
  [[gnu::always_inline]] inline void move_counters(const CompletionRun& run);
  [[gnu::noinline]] void run_completion(Peer* from, const CompletionRun& run, CompletionStyle style);
  [[gnu::noinline]] void update_completion_counter(const CompletionRun& run);

  const Means means_;
};

inline void Completions::data_in_place(Peer* from, std::uint64_t number, const CompletionRun& run,
                                       CompletionStyle style, std::uint64_t data_bytes) {
  means_.statistics.receive_completed();
  MessageStatistics& statistics = from != nullptr ? means_.statistics.of(*from) : means_.statistics.of_self();
  statistics.data_received += data_bytes;
  if (from != nullptr) means_.fence_answers.message_finished(*from, number);
  if (run.handler != nullptr) return run_completion(from, run, style);
  move_counters(run);
}

inline void Completions::move_counters(const CompletionRun& run) {
  means_.counters.move(run.target_counter, run.source);
  if (run.completion_counter != 0) update_completion_counter(run);
}

}  // namespace openlapi
