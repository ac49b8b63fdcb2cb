#include "dataplane/transfer/outbox.h"

#include <memory>
#include <utility>

namespace openlapi {

bool Outbox::send_record(Peer& peer, Pieces pieces, std::uint32_t length) {
  if (peer.direct != nullptr) {
    if (peer.untold && !tell_beginning(peer)) [[unlikely]]
      return false;
    const OutgoingPacket packet{pieces, length};
    if (peer.direct->send_burst(peer.index, {&packet, 1}) == 0) return false;
    ++statistics_.of(peer).packets_sent;
    return true;
  }
  return peer.channel->send(pieces, length);
}

void Outbox::queue_record(Peer& peer, Pieces pieces, std::uint32_t length, bool user_copy) {
  QueuedRecord record{std::make_unique_for_overwrite<std::byte[]>(length), length, user_copy};
  copy_pieces(record.bytes.get(), pieces);
  enqueue(peer, std::move(record));
}

void Outbox::enqueue(Peer& peer, QueuedRecord record) {
  if (record.user_copy) admission_.take_copy(peer);
  peer.backlog.push_back(std::move(record));
  look_whether_pending(peer);
}

void Outbox::post(Peer& peer, Pieces pieces, std::uint32_t length) {
  if (!peer.backlog.empty() || !send_record(peer, pieces, length)) queue_record(peer, pieces, length, false);
}

void Outbox::answer(Peer& peer, Pieces pieces, std::uint32_t length) {
  if (peer.backlog.empty() && send_record(peer, pieces, length)) return;
  if (!dropped_.may_keep(peer, length)) return;
  queue_record(peer, pieces, length, false);
  peer.backlog.back().kept = {peer.kept, length};
}

unsigned Outbox::flush_backlog(Peer& peer) {
  unsigned sent = 0;
  if (peer.untold) {
    if (!tell_beginning(peer)) return 0;
    ++sent;
  }
  while (!peer.backlog.empty()) {
    const QueuedRecord& record = peer.backlog.front();
    const ConstBuffer piece{record.bytes.get(), record.length};
    if (!send_record(peer, {&piece, 1}, record.length)) break;
    if (record.user_copy) admission_.return_copy(peer);
    peer.backlog.pop_front();
    ++sent;
  }
  return sent;
}

void Outbox::look_whether_pending(Peer& peer) {
  const bool pending = peer.untold || !peer.backlog.empty() || !peer.outgoing.sending.empty();
  if (pending == peer.pending) return;
  peer.pending = pending;
  if (pending) {
    pending_peers_.push_back(peer);
    ++pending_count_;
  } else {
    pending_peers_.remove(peer);
    --pending_count_;
  }
  signs_.set(StepSigns::records, pending_count_ != 0);
}

// How two tasks begin anew with each other over a reliable transport; a channel's epochs do the same. Each side cuts
// what it sends where it gives the other up: with a new era of its own with the peer, from which on nothing counts that
// the peer has sent or sends before it knows, and with a record that tells the peer this era, before all that is of it.
// So a task that was only stopped, and goes on, learns that it was given up, and nothing of before is believed: neither
// a message that has lost its rest, nor an answer that nobody waits for. False: there is no room for the record yet,
// and none for anything behind it; it is made anew each time, since there may be no memory in which it could wait.
bool Outbox::tell_beginning(Peer& peer) {
  const RecordBytes fixed(
      wire::RecordKind::request_refused,
      wire::RequestRefusedBody{peer.eras->era_with(peer.index), wire::RefusalReason::begins_anew});
  const ConstBuffer piece = fixed.piece();
  const OutgoingPacket packet{{&piece, 1}, fixed.length()};
  peer.untold = peer.direct->send_burst(peer.index, {&packet, 1}) == 0;
  if (!peer.untold) ++statistics_.of(peer).packets_sent;
  look_whether_pending(peer);
  return !peer.untold;
}

void Outbox::need_not_tell(Peer& peer) {
  peer.untold = false;
  look_whether_pending(peer);
}

void Outbox::drop_backlog(Peer& peer) {
  peer.backlog.clear();
  peer.untold = false;
}

Peer& Outbox::next_in_turn() {
  Peer& peer = *pending_peers_.first();
  pending_peers_.remove(peer);
  pending_peers_.push_back(peer);
  return peer;
}

}  // namespace openlapi
