#include "dataplane/operation/completions.h"

#include "dataplane/message/served_packet.h"

namespace openlapi {

void Completions::run_completion(Peer* from, const CompletionRun& run, CompletionStyle style) {
  const bool now = style == CompletionStyle::inline_local ||
                   (style == CompletionStyle::inline_reply && (from == nullptr || reply_has_room(from->index)));
  means_.admission.enter_handler();
  const bool returned = means_.host.run_completion_handler(run, now);
  means_.admission.leave_handler();
  if (returned) move_counters(run);
}

void Completions::handler_returned(const CompletionRun& run) {
  const MovedMessage moved(&run);
  move_counters(run);
}

// The source's: it is told.
void Completions::update_completion_counter(const CompletionRun& run) {
  if (means_.peers.is_self(run.source)) return means_.counters.move(run.completion_counter, run.source);
  Peer* peer = means_.peers.find(run.source);
  // The address belongs to the incarnation of the source that sent the message, and to no later one.
  if (peer == nullptr || peer->incarnation != run.source_incarnation) return;
  means_.outbox.answer(*peer, wire::RecordKind::counter_update, wire::CounterUpdateBody{run.completion_counter});
}

bool Completions::reply_has_room(PeerIndex index) {
  if (means_.peers.is_self(index)) return true;
  const Peer* peer = means_.peers.contact(index);
  return peer != nullptr && peer->backlog.empty() && means_.admission.copy_has_room(*peer);
}

void Completions::on_counter_update(Peer& from, const wire::Record& record) {
  const auto body = wire::body_of<wire::CounterUpdateBody>(record);
  if (!from.owed.settle(body.counter)) return means_.statistics.ghost();
  means_.counters.move(body.counter, from.index);
}

}  // namespace openlapi
