#include "dataplane/sync/collectives.h"

#include <cstring>
#include <memory>
#include <utility>

namespace openlapi {

using wire::RecordKind;

void Collectives::flush() {
  if (means_.channels != nullptr) means_.channels->flush();
}

void Collectives::begin_barrier() {
  purged_ = means_.peers.any_purged();
  purged_ ? collective_.begin_failed(*this) : collective_.begin_barrier(*this);
  report_failed();
  flush();
}

void Collectives::begin_exchange(std::uint64_t value) {
  purged_ = means_.peers.any_purged();
  purged_ ? collective_.begin_failed(*this) : collective_.begin_exchange(value, *this);
  report_failed();
  flush();
}

void Collectives::confirm_exchange() {
  collective_.confirm_exchange(*this);  // to those who were heard in the exchange: none is out of reach
  flush();
}

CollectiveState Collectives::state() const {
  if (collective_.active()) return collective_.filled() ? CollectiveState::filled : CollectiveState::pending;
  if (!collective_.failed()) return CollectiveState::done;
  return purged_ ? CollectiveState::peer_purged : CollectiveState::peer_lost;
}

void Collectives::fail(PeerIndex lost) {
  if (!collective_.active()) return;
  collective_.fail(lost, *this);
  report_failed();
}

// Tells the host whom a collective has missed.
void Collectives::report_failed() {
  const PeerIndex lost = collective_.lost_peer();
  if (collective_.active() || !collective_.failed() || lost == kUnknownPeer) return;
  means_.reports.add(lost, Fault::no_connectivity);
}

void Collectives::on_round(Peer& from, const wire::Record& record) {
  const auto body = wire::body_of<wire::CollectiveBody>(record);
  if (!record.is_long()) {
    const std::byte* bytes = record.payload;
    return round_arrived(from, body.sequence, body.round, {bytes, bytes + record.header.payload_length});
  }
  const std::uint64_t total = record.extension.total_length;
  if (total > std::uint64_t{means_.config.tasks} * sizeof(std::uint64_t)) return means_.statistics.ghost();
  if (!means_.dropped.may_keep(from, total)) return;
  IncomingMessage message{.kind = IncomingRound{body.sequence, body.round}, .total = total, .kept = {from.kept, total}};
  message.go_to(std::make_unique_for_overwrite<std::byte[]>(message.total));
  means_.incoming.begin(from, record, std::move(message));
}

void Collectives::round_arrived(Peer& from, std::uint32_t sequence, std::uint32_t round, std::vector<std::byte> bytes) {
  const bool was_active = collective_.active();
  if (!collective_.arrived(from.index, sequence, round, std::move(bytes), *this)) {
    means_.dropped.drop(from, Fault::too_much_kept);
  }
  if (was_active) report_failed();
}

// The bytes belong to the collective, so what cannot leave at once is copied.
void Collectives::send_round(PeerIndex index, std::uint32_t sequence, std::uint32_t round,
                             std::span<const std::byte> bytes) {
  Peer* peer = means_.peers.contact(index);
  if (peer == nullptr && means_.peers.is_undecided(index)) {
    held_.push_back({index, sequence, round, {bytes.begin(), bytes.end()}});
    return;
  }
  if (peer == nullptr) return collective_.fail(index, *this);
  const wire::CollectiveBody body{.sequence = sequence, .round = round};
  RecordBytes fixed(RecordKind::collective, body);
  const std::size_t length = fixed.length() + bytes.size();
  if (length <= peer->max_record) {
    fixed.payload_length(bytes.size());
    const ConstBuffer pieces[] = {fixed.piece(), {bytes.data(), bytes.size()}};
    return means_.outbox.post(*peer, pieces, static_cast<std::uint32_t>(length));
  }
  OutgoingMessage message;
  means_.sender.give_number(message);
  message.peer = index;
  message.kind = RecordKind::collective;
  std::memcpy(message.body.data(), &body, sizeof(body));
  message.data = bytes.data();
  message.total = bytes.size();
  OutgoingMessage& stored = means_.sender.store(std::move(message));
  means_.sender.keep_copy(stored, nullptr);
  means_.sender.go_on(*peer, stored);
}

void Collectives::send_held() {
  for (HeldRound& held : std::exchange(held_, {})) {
    if (means_.peers.contact(held.peer) == nullptr && means_.peers.is_undecided(held.peer)) {
      held_.push_back(std::move(held));
    } else {
      send_round(held.peer, held.sequence, held.round, held.bytes);
    }
  }
  report_failed();
  flush();
}

}  // namespace openlapi
