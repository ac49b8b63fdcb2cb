#include "dataplane/transfer/message_sender.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "dataplane/message/fragments.h"
#include "dataplane/message/served_packet.h"
#include "dataplane/tuning.h"

namespace openlapi {

namespace {

// Over a channel, records of user memory that is not copied leave with the next transmit().
bool needs_transmit(const Peer& peer, const OutgoingMessage& message) {
  return message.referenced || (message.source != nullptr && !peer.is_direct());
}

}  // namespace

// Ids come round; one that is in use is passed over.
void MessageSender::give_number(OutgoingMessage& message) {
  do {
    message.number = next_message_++;
    message.id = static_cast<std::uint32_t>((message.number - 1) % UINT32_MAX) + 1;
  } while (means_.outgoing.find(message.id) != nullptr);
}

OutgoingMessage& MessageSender::store(OutgoingMessage message) {
  Peer& peer = means_.peers.at(message.peer);
  OutgoingMessage& stored = means_.outgoing.add(peer.outgoing, std::move(message));
  means_.outbox.look_whether_pending(peer);
  return stored;
}

OutgoingMessage* MessageSender::store_answer(Peer& peer, OutgoingMessage message, std::uint32_t request_id) {
  if (!means_.dropped.may_keep(peer, message.description.size())) return nullptr;
  message.kept = {peer.kept, message.description.size()};
  try {
    return &store(std::move(message));
  } catch (const std::bad_alloc&) {
    means_.refusals.no_memory(peer, request_id);
    return nullptr;
  }
}

// Answers to what arrives leave together, at the end of the step.
bool MessageSender::pump(Peer& peer, OutgoingMessage& message) {
  const bool done = send_fragments(peer, message);
  if (needs_transmit(peer, message) && !means_.channels->is_receiving()) peer.channel->transmit(means_.clock.now());
  return done;
}

bool MessageSender::send_fragments(Peer& peer, OutgoingMessage& message) {
  const MovedMessage moved(&message);
  bool done = message.offset == message.total && (message.first_sent || message.total != 0);
  const bool layout = message.source != nullptr;
  for (unsigned n = 0; !done && n < tuning::kFragmentsPerTurn; ++n) {
    if (!(layout ? send_layout_fragment(peer, message) : send_fragment(peer, message))) break;
    done = message.offset == message.total;
  }
  return done;
}

// Sends one fragment; false: no room. The program that owns what a get asks for may go on writing there.
bool MessageSender::send_fragment(Peer& peer, OutgoingMessage& message) {
  const bool answer = message.kind == wire::RecordKind::get_data;
  RecordBytes fixed = message.first_sent || answer ? later_fragment(message) : first_fragment(message);
  const auto header_bytes = static_cast<std::uint32_t>(message.first_sent ? 0 : message.user_header.size());
  const std::uint32_t room = (peer.max_record - fixed.length() - header_bytes) & ~7u;
  const std::uint64_t bytes = std::min<std::uint64_t>(room, message.total - message.offset);
  fixed.user_header_length(header_bytes).payload_length(bytes);

  const ConstBuffer pieces[] = {
      fixed.piece(), {message.user_header.data(), header_bytes}, {message.unsent(), static_cast<std::size_t>(bytes)}};
  const auto length = static_cast<std::uint32_t>(fixed.length() + header_bytes + bytes);
  if (message.referenced) {
    if (!peer.channel->send_referenced(std::span(pieces, 2), pieces[2], message.id, answer)) return false;
    ++message.unacknowledged;
  } else if (!means_.outbox.send_record(peer, pieces, length)) {
    return false;
  }
  fragment_left(peer, message, bytes);
  return true;
}

void MessageSender::fragment_left(Peer& peer, OutgoingMessage& message, std::uint64_t bytes) {
  message.offset += bytes;
  if (message.first_sent) return;
  means_.outgoing.begin(peer.outgoing, message);
  if (!peer.held_fences.empty()) [[unlikely]]
    means_.listener.first_record_left(peer);
}

// Every message in its turn, until one finds no room: then none behind it would.
unsigned MessageSender::pump_queue(Peer& peer, Served which) {
  unsigned moved = 0;
  bool transmit = false;
  for (OutgoingMessage* next = peer.outgoing.sending.first(); next != nullptr && peer.backlog.empty();) {
    OutgoingMessage& message = *next;
    next = peer.outgoing.sending.next(message);
    if (which == Served::copied && message.copy == nullptr && message.total != 0) continue;
    const std::uint64_t before = message.offset;
    const bool done = send_fragments(peer, message);
    if (!done && message.offset == before) break;
    ++moved;
    transmit = transmit || needs_transmit(peer, message);
    if (done) finish_sending(message);
  }
  if (transmit) peer.channel->transmit(means_.clock.now());
  return moved;
}

// A bounded number of peers per step, each in its turn: one that has no room costs a look.
unsigned MessageSender::serve_pending(Served which) {
  unsigned moved = 0;
  for (std::size_t turns = std::min(means_.outbox.pending_count(), tuning::kPeersPerStep); turns != 0; --turns) {
    Peer& peer = means_.outbox.next_in_turn();
    moved += means_.outbox.flush_backlog(peer);
    if (peer.backlog.empty()) moved += pump_queue(peer, which);
    means_.outbox.look_whether_pending(peer);
  }
  return moved;
}

void MessageSender::finish_sending(OutgoingMessage& message) {
  set_stage(message, OutgoingMessage::Stage::awaiting_acks);
  if (message.unacknowledged != 0) return;
  if (message.copy != nullptr) means_.admission.return_copy(means_.peers.at(message.peer));
  {
    const MovedMessage moved(&message);
    means_.origins.origin_is_free(message.peer, {message.free_counter, message.free_handler});
  }
  if (message.counts_as_send) means_.statistics.message_sent(means_.peers.at(message.peer), message.total);
  forget(message);
}

void MessageSender::acknowledged(std::uint32_t id) {
  OutgoingMessage* const found = means_.outgoing.find(id);
  if (found == nullptr) return;
  OutgoingMessage& message = *found;
  --message.unacknowledged;
  if (message.stage == OutgoingMessage::Stage::awaiting_acks && message.unacknowledged == 0) finish_sending(message);
}

void MessageSender::set_stage(OutgoingMessage& message, OutgoingMessage::Stage stage) {
  Peer& peer = means_.peers.at(message.peer);
  means_.outgoing.set_stage(peer.outgoing, message, stage);
  means_.outbox.look_whether_pending(peer);
}

void MessageSender::forget(OutgoingMessage& message) {
  Peer& peer = means_.peers.at(message.peer);
  means_.outgoing.remove(peer.outgoing, message);
  means_.outbox.look_whether_pending(peer);
}

void MessageSender::give_up(Peer& peer, Fault fault, CounterLoss why) {
  for (auto* list : {&peer.outgoing.departed, &peer.outgoing.sending}) {
    while (!list->empty()) {
      OutgoingMessage& message = *list->first();
      means_.counters.lose(message.free_counter, why);
      means_.origins.given_up(peer.index, message.free_handler, fault);
      means_.outgoing.remove(peer.outgoing, message);
    }
  }
  means_.outbox.look_whether_pending(peer);
}

void MessageSender::go_on(Peer& peer, OutgoingMessage& message) {
  if (peer.backlog.empty() && pump(peer, message)) finish_sending(message);
}

void MessageSender::begin_answer(Peer& peer, OutgoingMessage message, std::uint32_t request_id) {
  OutgoingMessage* const stored = store_answer(peer, std::move(message), request_id);
  if (stored != nullptr) go_on(peer, *stored);
}

}  // namespace openlapi
