#include "dataplane/endpoint/endpoint.h"

#include <algorithm>

#include "dataplane/base/own_memory.h"
#include "dataplane/endpoint/endpoint_parts.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi {

namespace {

// The one place that tells an operation on a peer from one of the task on itself. to_peer(peer), to_self().
template <typename Request, typename ToPeer, typename ToSelf>
[[gnu::always_inline]] inline Submit begin(EndpointParts& parts, const Request& request, ToPeer to_peer,
                                           ToSelf to_self) {
  if (parts.peers.is_self(request.target)) {
    if (kWordIs32Bits && !is_for_own_memory(request)) return parts.narrow.refuse_own(request);
    return to_self();
  }
  Peer* const peer = parts.peers.contact(request.target);
  return peer != nullptr ? to_peer(*peer) : parts.peers.refusal(request.target);
}

}  // namespace

unsigned Endpoint::wire_version() { return wire::kPacketVersion; }

Endpoint::Endpoint(const EndpointConfig& config, std::span<Transport* const> transports, Clock& clock,
                   RouteResolver& resolver, HandlerHost& host)
    : parts_(std::make_unique<EndpointParts>(config, transports, clock, resolver, host)) {}
Endpoint::~Endpoint() = default;

Submit Endpoint::put(const PutRequest& request) {
  Puts& puts = parts_->puts;
  const Submit result = begin(
      *parts_, request, [&](Peer& peer) { return puts.put(peer, request); }, [&] { return puts.put_to_self(request); });
  parts_->origins.call_ends();
  return result;
}

Submit Endpoint::get(const GetRequest& request) {
  Gets& gets = parts_->gets;
  return begin(
      *parts_, request, [&](Peer& peer) { return gets.get(peer, request); },
      [&] { return gets.get_from_self(request); });
}

Submit Endpoint::active_message(const ActiveMessageRequest& request) {
  ActiveMessages& messages = parts_->messages;
  const Submit result = begin(
      *parts_, request, [&](Peer& peer) { return messages.send(peer, request); },
      [&] { return messages.send_to_self(request); });
  parts_->origins.call_ends();
  return result;
}

Submit Endpoint::read_modify_write(const RmwRequest& request) {
  ReadModifyWrites& rmws = parts_->rmws;
  const Submit result = begin(
      *parts_, request, [&](Peer& peer) { return rmws.begin(peer, request); },
      [&] { return rmws.apply_to_self(request); });
  parts_->origins.call_ends();
  return result;
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
                .completion_counter = request.completion_counter});
  }
  Puts& puts = parts_->puts;
  const Submit result = begin(
      *parts_, request, [&](Peer& peer) { return puts.put(peer, request); }, [&] { return puts.put_to_self(request); });
  parts_->origins.call_ends();
  return result;
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
  Gets& gets = parts_->gets;
  return begin(
      *parts_, request, [&](Peer& peer) { return gets.get(peer, request); },
      [&] { return gets.get_from_self(request); });
}

Submit Endpoint::layout_message(const LayoutMessageRequest& request) {
  request.source->seek(0);
  ActiveMessages& messages = parts_->messages;
  const Submit result = begin(
      *parts_, request, [&](Peer& peer) { return messages.send(peer, request); },
      [&] { return messages.send_to_self(request); });
  parts_->origins.call_ends();
  return result;
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

unsigned Endpoint::progress(Step step) { return parts_->progress.progress(step); }
void Endpoint::hold_arrivals(bool hold) { parts_->progress.hold_arrivals(hold); }
ArrivalWord Endpoint::arrival_word() const { return parts_->progress.arrival_word(); }
void Endpoint::flush() { parts_->progress.flush(); }
Nanoseconds Endpoint::deadline() const { return parts_->progress.deadline(); }
bool Endpoint::has_work() const { return parts_->progress.has_work(); }
bool Endpoint::drained() { return parts_->progress.drained(); }
UnfinishedWork Endpoint::unfinished() const {
  return {.not_taken = parts_->progress.not_taken(),
          .not_answered = parts_->request_table.size(),
          .not_accepted_of_own = parts_->refused.own_waiting()};
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
  return {.sends = parts_->statistics.sends_completed(), .receives = parts_->statistics.receives_completed()};
}
void Endpoint::set_timeout(Nanoseconds timeout) { parts_->config.timeout = timeout; }
const MessageDirectory& Endpoint::directory() const { return parts_->dispatch; }

MessageStatistics Endpoint::statistics(StatisticsPath path) const {
  MessageStatistics result = parts_->statistics.told(path);
  if (path == StatisticsPath::network && parts_->channels != nullptr) parts_->channels->add_statistics(result);
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
  return load;
}

}  // namespace openlapi
