#include "dataplane/endpoint/endpoint.h"

#include <algorithm>
#include <vector>

#include "dataplane/base/own_memory.h"
#include "dataplane/endpoint/endpoint_parts.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi {

namespace {

// The one place that tells an operation on a peer from one of the task on itself.
template <typename Operation, typename Request>
[[gnu::always_inline]] inline Submit begin(EndpointParts& parts, Operation& operation, const Request& request) {
  if (parts.peers.is_self(request.target)) {
    if (kWordIs32Bits && !is_for_own_memory(request)) return parts.narrow.refuse_own(request);
    return operation.begin_at_self(request);
  }
  Peer* const peer = parts.peers.contact(request.target);
  return peer != nullptr ? operation.begin(*peer, request) : parts.peers.refusal(request.target);
}

// The same for an operation that may have a send completion handler, which runs at the end of the call.
template <typename Operation, typename Request>
[[gnu::always_inline]] inline Submit begin_and_run_handlers(EndpointParts& parts, Operation& operation,
                                                            const Request& request) {
  const Submit result = begin(parts, operation, request);
  parts.origins.call_ends();
  return result;
}

// What a step does, beside Endpoint::progress().

unsigned take_arrivals(EndpointParts& parts, Step step) {
  unsigned received = 0;
  for (const DirectTransport& direct : parts.transports.direct) received += parts.dispatch.receive(*direct.transport);
  if (parts.channels != nullptr) received += parts.channels->receive(step);
  return received;
}

bool retry_is_due(EndpointParts& parts) {
  const Nanoseconds now = parts.clock.now();
  if (!parts.refused.any_untried() && now < parts.next_retry) return false;
  parts.next_retry = now + tuning::kRetryRefused;
  return true;
}

// As if it had come now.
unsigned take_kept_back(EndpointParts& parts) {
  if (parts.arrivals_held || !parts.signs.any(StepSigns::kept_back)) return 0;
  parts.signs.set(StepSigns::kept_back, false);
  return parts.channels->take_kept_back();
}

[[gnu::noinline]] unsigned move_what_waits(EndpointParts& parts, bool arrivals) {
  const unsigned kept_back = take_kept_back(parts);
  arrivals |= kept_back != 0;
  unsigned moved = kept_back + (parts.pulls.empty() ? 0 : parts.pulls.advance());
  moved += parts.reads.advance();
  if (!parts.one_sided.empty()) moved += parts.one_sided.advance();
  if (!parts.refused.empty() && (arrivals || retry_is_due(parts))) moved += parts.messages.retry_refused();
  return moved + parts.sender.serve_pending();
}

// The clock is looked at when a channel has something to send or to time, by steps that follow each other at once now
// and then, and otherwise once in many idle loops (timer_pacing.h).
bool timers_due(EndpointParts& parts, Step step) {
  if (parts.channels == nullptr || !parts.channels->needs_clock()) return parts.pacing.is_due();
  return step == Step::first || parts.channels->must_send() || parts.pacing.is_due(tuning::kStepsBetweenTimers);
}

unsigned run_timers(EndpointParts& parts, Nanoseconds now, bool arrivals) {
  parts.pacing.restart();
  const unsigned moved = parts.channels != nullptr ? parts.channels->run_timers(now) : 0;
  parts.watch.look(now, arrivals || parts.arrivals_held);
  return moved;
}

[[gnu::noinline]] unsigned move_what_time_moves(EndpointParts& parts, bool arrivals) {
  const Nanoseconds now = parts.clock.now();
  const unsigned moved = parts.channels != nullptr ? parts.channels->transmit(now) : 0;
  return moved + run_timers(parts, now, arrivals);
}

[[gnu::noinline]] unsigned end_step(EndpointParts& parts) {
  const unsigned moved = parts.origins.empty() ? 0 : parts.origins.run_handlers();
  if (!parts.dropped.empty()) parts.losses.part_from_dropped();
  parts.losses.step_is_over();
  parts.losses.bury();
  if (parts.reports.empty()) return moved;
  parts.reports.report();
  return moved + 1;  // those who wait may be waiting for the lost one
}

// For a task that makes no calls (Step::upkeep).
[[gnu::noinline]] unsigned keep_up(EndpointParts& parts) {
  if (parts.channels == nullptr) return 0;
  parts.losses.step_begins();
  parts.channels->keep_up();
  if (parts.signs.any(StepSigns::records)) {
    parts.sender.serve_pending(MessageSender::Served::copied);
    parts.channels->flush();
  }
  parts.losses.step_is_over();
  parts.signs.set(StepSigns::kept_back, parts.channels->keeps_back_any());
  return parts.channels->needs_clock() ? 1 : 0;
}

bool records_wait(const std::vector<Peer*>& peers) {
  return std::ranges::any_of(peers, [](const Peer* peer) { return !peer->backlog.empty(); });
}

}  // namespace

unsigned Endpoint::wire_version() { return wire::kPacketVersion; }

Endpoint::Endpoint(const EndpointConfig& config, std::span<Transport* const> transports, Clock& clock,
                   RouteResolver& resolver, HandlerHost& host)
    : parts_(std::make_unique<EndpointParts>(config, transports, clock, resolver, host)) {}
Endpoint::~Endpoint() = default;

Submit Endpoint::put(const PutRequest& request) { return begin_and_run_handlers(*parts_, parts_->puts, request); }

Submit Endpoint::get(const GetRequest& request) { return begin(*parts_, parts_->gets, request); }

Submit Endpoint::active_message(const ActiveMessageRequest& request) {
  return begin_and_run_handlers(*parts_, parts_->messages, request);
}

Submit Endpoint::read_modify_write(const RmwRequest& request) {
  return begin_and_run_handlers(*parts_, parts_->rmws, request);
}

Submit Endpoint::put_layout(const LayoutPutRequest& request) {
  request.source->seek(0);
  request.destination->seek(0);
  if (std::min(request.source->total_bytes(), request.destination->total_bytes()) == 0) {
    return put({.target = request.target,
                .target_address = 0,
                .data = nullptr,
                .length = 0,
                .target_counter = request.target_counter,
                .origin_counter = request.origin_counter,
                .completion_counter = request.completion_counter,
                .send_handler = request.send_handler});
  }
  return begin_and_run_handlers(*parts_, parts_->puts, request);
}

Submit Endpoint::get_layout(const LayoutGetRequest& request) {
  request.source->seek(0);
  request.destination->seek(0);
  if (request.source->total_bytes() == 0) {
    return get({.target = request.target,
                .target_address = 0,
                .buffer = nullptr,
                .length = 0,
                .target_counter = request.target_counter,
                .origin_counter = request.origin_counter,
                .completion_handler = request.completion_handler});
  }
  return begin(*parts_, parts_->gets, request);
}

Submit Endpoint::layout_message(const LayoutMessageRequest& request) {
  request.source->seek(0);
  return begin_and_run_handlers(*parts_, parts_->messages, request);
}

void Endpoint::enter_handler() { parts_->admission.enter_guest(); }
void Endpoint::leave_handler() { parts_->admission.leave_guest(); }
bool Endpoint::handlers_exhausted() const { return parts_->admission.handlers_exhausted(); }

void Endpoint::give_up_unbegun(const UnbegunOperation& operation, Submit why) {
  if (why == Submit::origin_memory || why == Submit::target_memory) {
    parts_->origins.origin_is_free(operation.target, {operation.origin_counter, operation.send_handler});
    parts_->counters.move(operation.completion_counter, operation.target);
    return parts_->host.report_fault(why == Submit::origin_memory ? Fault::origin_vector : Fault::target_vector,
                                     operation.target);
  }
  const Fault fault = why == Submit::purged ? Fault::purged : Fault::no_connectivity;
  const CounterLoss loss = why == Submit::purged ? CounterLoss::peer_purged : CounterLoss::peer_lost;
  parts_->counters.lose(operation.origin_counter, loss);
  parts_->counters.lose(operation.completion_counter, loss);
  parts_->origins.given_up(operation.target, operation.send_handler, fault);
  if (why != Submit::purged) parts_->host.report_fault(fault, operation.target);  // of a purge the user knows
}

// The loop. One step does this, in this order:
//   1. take in what has arrived: that frees room, carries acknowledgements, and is what waiting threads wait for; the
//      same goes for counters that peers have moved directly;
//   2. take what upkeep has found before, which is rare; continue large transfers: those that adapters read go on where
//     a read has ended, those that the processor reads advance by one piece each, so that they share it; and end gets
//     that adapters have served without a message;
//   3. offer messages that their header handler had refused again, now that others have arrived;
//   4. send records and long messages for which there was no room, peer by peer; arrivals may have made some;
//   5. send half-filled packets: nothing more will join them in this step;
//   6. run timers, if something outstanding has one; all use the same look at the clock;
//   7. run send completion handlers, now that the state is consistent: they may begin operations;
//   8. report faults last: the host may end the context.
unsigned Endpoint::progress(Step step) {
  EndpointParts& parts = *parts_;
  if (step == Step::upkeep) [[unlikely]]
    return keep_up(parts);
  parts.losses.step_begins();
  unsigned moved = parts.arrivals_held ? 0 : take_arrivals(parts, step);
  const bool arrivals = moved != 0;
  if (parts.direct_memory != nullptr && parts.direct_memory->counters_have_moved()) [[unlikely]]
    ++moved;
  if (parts.signs.any(StepSigns::kMoves)) [[unlikely]]
    moved += move_what_waits(parts, arrivals);
  if (timers_due(parts, step)) moved += move_what_time_moves(parts, arrivals);
  if (parts.signs.any(StepSigns::kEndsStep)) [[unlikely]]
    return moved + end_step(parts);
  parts.losses.step_is_over();
  return moved;
}

void Endpoint::hold_arrivals(bool hold) { parts_->arrivals_held = hold; }

// None while something else waits to be moved.
ArrivalWord Endpoint::arrival_word() const {
  const EndpointParts& parts = *parts_;
  if (parts.transports.direct.size() != 1 || parts.signs.any(StepSigns::kMoves) || has_work()) return {};
  const ArrivalWatch* const watch = parts.transports.direct.front().has.arrival_watch;
  return watch != nullptr ? watch->arrival_word() : ArrivalWord{};
}

void Endpoint::flush() {
  if (parts_->channels != nullptr) parts_->channels->flush();
}

// What a step would surely move although nothing arrives.
bool Endpoint::has_work() const {
  const EndpointParts& parts = *parts_;
  return !parts.reads.empty() || (parts.refused.any_untried() && !parts.refused.empty()) || !parts.origins.empty() ||
         !parts.reports.empty() || !parts.dropped.empty() || (parts.channels != nullptr && parts.channels->has_work());
}

Nanoseconds Endpoint::deadline() const {
  EndpointParts& parts = *parts_;
  Nanoseconds earliest = UINT64_MAX;
  if (parts.channels != nullptr) earliest = parts.channels->deadline();
  const auto after = [&](Nanoseconds time) { earliest = std::min(earliest, parts.clock.now() + time); };
  if (!parts.refused.empty()) after(tuning::kRetryRefused);
  if (parts.outbox.any_pending()) {
    const bool awaited = records_wait(parts.peers.contacted()) || !parts.outgoing.empty();
    after(awaited ? tuning::kLookForRoom : tuning::kWatchPeers);
  }
  if (!parts.pulls.empty() || !parts.one_sided.empty()) after(tuning::kLookForEndings);
  const bool watched = !parts.outgoing.empty() || parts.request_table.size() != 0 || parts.fences.any_pending() ||
                       parts.collectives.active() || parts.watch.expects_any() ||
                       std::ranges::any_of(parts.peers.contacted(), [](Peer* peer) { return !peer->owed.empty(); });
  const bool searches = parts.watch.waits_for_search();
  if (watched || searches) {
    after(searches ? tuning::kLookForPeer : tuning::kWatchPeers);
    parts.pacing.look_soon();  // who sleeps until then makes a single step, and it must look
  }
  return earliest;
}

// The peers may be waiting for our acknowledgements as we wait for theirs, and we are about to be gone.
bool Endpoint::drained() {
  EndpointParts& parts = *parts_;
  flush();
  if (parts.channels != nullptr) parts.channels->acknowledge_now();
  return (!parts.outbox.any_pending() || !records_wait(parts.peers.contacted())) && parts.outgoing.empty() &&
         parts.reads.empty() && parts.pulls.empty() && parts.origins.empty() && parts.collectives.held_rounds() == 0 &&
         (parts.channels == nullptr || parts.channels->settled());
}

UnfinishedWork Endpoint::unfinished() const {
  const EndpointParts& parts = *parts_;
  std::size_t not_taken =
      parts.outgoing.size() + parts.reads.size() + parts.pulls.size() + parts.collectives.held_rounds();
  for (const Peer* peer : parts.peers.contacted()) not_taken += peer->backlog.size();
  if (parts.channels != nullptr) not_taken += parts.channels->not_acknowledged();
  return {.not_taken = not_taken,
          .not_answered = parts.request_table.size(),
          .not_accepted_of_own = parts.refused.own_waiting()};
}

void Endpoint::completion_returned(const CompletionRun& run) { parts_->completions.handler_returned(run); }
bool Endpoint::reply_has_room(PeerIndex peer) { return parts_->completions.reply_has_room(peer); }

Fences& Endpoint::fences() { return parts_->fences; }
Collectives& Endpoint::collectives() { return parts_->collectives; }
Counters& Endpoint::counters() const { return parts_->counters; }
const PeerTable& Endpoint::peers() const { return parts_->peers; }

void Endpoint::purge(PeerIndex peer) {
  if (parts_->losses.purge(peer)) parts_->origins.call_ends();
}
void Endpoint::resume(PeerIndex peer, std::uint64_t epoch) { parts_->losses.resume(peer, epoch); }
void Endpoint::expect_from(PeerIndex peer) { parts_->watch.expect(peer); }
void Endpoint::expect_no_more_from(PeerIndex peer) { parts_->watch.expect_no_more(peer); }

void Endpoint::guard_layouts(bool on) { parts_->guard.guard_all(on); }

CompletedMessages Endpoint::completed() const {
  CompletedMessages all{parts_->statistics.sends_completed(), parts_->statistics.receives_completed()};
  if (parts_->direct_memory != nullptr) [[unlikely]] {
    const DirectMemory::Traffic traffic = parts_->direct_memory->traffic();
    all.sends += traffic.gets;
    all.receives += traffic.puts;
  }
  return all;
}
void Endpoint::set_timeout(Nanoseconds timeout) { parts_->config.timeout = timeout; }
const MessageDirectory& Endpoint::directory() const { return parts_->dispatch; }

MessageStatistics Endpoint::statistics(StatisticsPath path) const {
  MessageStatistics result = parts_->statistics.told(path);
  if (path == StatisticsPath::network && parts_->channels != nullptr) parts_->channels->add_statistics(result);
  if (path == StatisticsPath::shared_memory && parts_->direct_memory != nullptr) {
    const DirectMemory::Traffic traffic = parts_->direct_memory->traffic();
    result.data_received += traffic.put_bytes;
    result.data_sent += traffic.got_bytes;
  }
  return result;
}

void Endpoint::set_ack_threshold(std::uint32_t packets) {
  if (parts_->channels != nullptr) parts_->channels->set_ack_threshold(packets);
}

EndpointSizes Endpoint::sizes() const {
  EndpointSizes sizes;
  sizes.packets_out = parts_->channels != nullptr ? parts_->channels->max_packets_out() : tuning::kDirectPacketsOut;
  std::uint32_t smallest = UINT32_MAX;
  for (const DirectTransport& direct : parts_->transports.direct) {
    smallest = std::min(smallest, direct.transport->limits().max_packet & ~7u);
  }
  if (parts_->channels != nullptr) smallest = std::min(smallest, parts_->channels->max_record());
  const bool alone = smallest == UINT32_MAX;  // everything is a local copy
  sizes.packet_payload =
      alone ? parts_->config.copy_limit
            : smallest - static_cast<std::uint32_t>(sizeof(wire::RecordHeader) + sizeof(wire::ActiveMessageBody));
  // The whole header travels in the first record, beside the longest fixed part.
  const auto room = sizes.packet_payload - static_cast<std::uint32_t>(sizeof(wire::LongExtension));
  sizes.user_header = std::min(room, tuning::kMaxUserHeader) & ~7u;
  return sizes;
}

PeerLoad Endpoint::load(PeerIndex index) const {
  PeerLoad load;
  load.early_rounds = parts_->collectives.early_rounds_of(index);
  const Peer* const peer = parts_->peers.find(index);
  if (peer == nullptr) return load;
  load.requests = peer->requests_waiting;
  load.owed_counters = peer->owed.size();
  load.copies = peer->copies_waiting;
  load.kept_bytes = peer->outgoing.kept_bytes + peer->list_bytes;
  load.backlog = peer->backlog.size();
  load.things = peer->kept.things;
  load.bytes = peer->kept.bytes;
  if (peer->channel != nullptr) load.last_heard = peer->channel->reliable().last_heard();
  return load;
}

}  // namespace openlapi
