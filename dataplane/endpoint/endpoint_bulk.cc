// Bulk transfer (guide, chapter 13): the side that has the data exposes it and says where it is, the side that wants it
// lets its adapter read, several pieces at a time, and says how that went. Data that cannot be exposed or read comes in
// packets. Fences, counters and losses see a bulk message as any other: it is in Peer::incoming or among the requests
// here, and among outgoing_ there.
#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/endpoint/served_packet.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

EndpointCore::~EndpointCore() {
  for (const auto& [id, pull] : pulls_) {
    if (pull.reads != 0) pull.memory->stop_reads(pull.peer);
  }
}

bool EndpointCore::wants_bulk(const Peer& peer, BulkHint hint, std::uint64_t length) const {
  if (peer.bulk_memory == nullptr || length < config_.bulk_minimum) return false;
  return hint == BulkHint::by_task ? config_.bulk : hint == BulkHint::always;
}

// After a failure some messages go in packets at once, more each time: a way that does not work costs a round trip.
bool EndpointCore::may_try_bulk(Peer& peer) {
  if (peer.bulk_pause != 0) {
    --peer.bulk_pause;
    return false;
  }
  return peer.bulk_memory->reachable(peer.index);
}

void EndpointCore::bulk_failed(Peer& peer) {
  ++statistics_of(peer).bulk_fallbacks;
  peer.bulk_failures = std::min(peer.bulk_failures + 1, tuning::kMostBulkFailures);
  peer.bulk_pause = (1u << peer.bulk_failures) - 1;
}

bool EndpointCore::expose(Peer& peer, OutgoingMessage& message) {
  if (peer.bulk_memory == nullptr || !may_try_bulk(peer)) return false;
  if (message.exposure.begin(*peer.bulk_memory, message.data, static_cast<std::size_t>(message.total))) return true;
  bulk_failed(peer);
  return false;
}

// As offer_attach(). False: the message goes in packets.
bool EndpointCore::offer_bulk(Peer& peer, OutgoingMessage& message) {
  const wire::LongExtension extension{message.total, reinterpret_cast<std::uintptr_t>(message.data), message.id, 0};
  RecordBytes fixed(message.kind, message.body);
  fixed.extend(extension, wire::kFlagLong | wire::kFlagAttach | wire::kFlagBulk);
  const auto header_bytes = static_cast<std::uint32_t>(message.user_header.size());
  if (fixed.length() + sizeof(wire::BulkKey) + header_bytes > peer.max_record || !expose(peer, message)) return false;
  fixed.key(to_wire(message.exposure.key())).user_header_length(header_bytes);
  message.stage = OutgoingMessage::Stage::awaiting_attach;
  message.first_sent = true;
  OutgoingMessage& stored = store(std::move(message));
  const ConstBuffer pieces[] = {fixed.piece(), {stored.user_header.data(), stored.user_header.size()}};
  post(peer, pieces, fixed.length() + header_bytes);
  return true;
}

// The same for the answer to a get.
bool EndpointCore::offer_key(Peer& peer, std::uint32_t request_id, OutgoingMessage& message) {
  if (!expose(peer, message)) return false;
  const wire::GetKeyBody body{request_id, message.id, reinterpret_cast<std::uintptr_t>(message.data),
                              to_wire(message.exposure.key())};
  message.stage = OutgoingMessage::Stage::awaiting_attach;
  if (store_answer(peer, std::move(message), request_id) != nullptr) answer(peer, RecordKind::get_key, body);
  return true;
}

void EndpointCore::pull_message(Peer& from, std::uint32_t id, IncomingMessage& message, std::uint64_t source_address,
                                const MemoryKey& key) {
  if (!message.has_buffer() && message.layout == nullptr) {
    answer(from, RecordKind::attach_done, wire::AttachDoneBody{id, wire::AttachAnswer::read});
    return fragment_arrived(from, id, message, message.total);
  }
  BulkPull pull{from.index, false, id, id, source_address, key, message.buffer, message.total};
  pull.failed = message.layout != nullptr || message.for_null;  // the adapter writes to one place
  message.pull = next_pull_;
  begin_pull(from, pull);
}

void EndpointCore::on_get_key(Peer& from, const wire::Record& record) {
  wire::GetKeyBody body;
  std::memcpy(&body, record.body, sizeof(body));
  PendingRequest* request = requests_.find(body.request_id);
  const bool expected = request != nullptr && request->is_get && request->peer == from.index &&
                        request->layout == nullptr && request->received == 0 && request->pull == 0 && !request->read;
  if (!expected) {
    ghost();
    return answer(from, RecordKind::attach_done,
                  wire::AttachDoneBody{body.message_id, wire::AttachAnswer::not_read});
  }
  request->pull = next_pull_;
  begin_pull(from, {from.index, true, body.request_id, body.message_id, body.source_address, from_wire(body.key),
                    static_cast<std::byte*>(request->buffer), request->length});
}

void EndpointCore::begin_pull(Peer& from, BulkPull pull) {
  pull.memory = from.bulk_memory;
  if (pull.memory == nullptr || !pull.memory->reachable(from.index)) pull.failed = true;
  if (!pull.failed) pull.piece = std::min(tuning::kBulkPiece, pull.memory->longest_read());
  if (pull.piece == 0) pull.failed = true;
  const std::uint32_t id = next_pull_;
  do {
    next_pull_ = next_pull_ == UINT32_MAX ? 1 : next_pull_ + 1;
  } while (pulls_.contains(next_pull_));
  advance_pull(id, pulls_.emplace(id, pull).first->second);
}

// Handlers that run on the way may purge peers: what comes next is looked for anew.
unsigned EndpointCore::advance_pulls() {
  unsigned moved = bulk_reads_ != 0 ? take_endings() : 0;
  for (auto next = pulls_.begin(); next != pulls_.end();) {
    const std::uint32_t id = next->first;
    if (advance_pull(id, next->second)) ++moved;
    next = pulls_.upper_bound(id);
  }
  return moved;
}

unsigned EndpointCore::take_endings() {
  unsigned ended = 0;
  for (BulkMemory* memory : bulk_memories_) {
    std::array<BulkMemory::Ending, tuning::kEndingsBurst> endings;
    const std::size_t count = memory->take_endings(endings);
    for (std::size_t i = 0; i < count; ++i) read_ended(endings[i]);
    ended += static_cast<unsigned>(count);
  }
  return ended;
}

void EndpointCore::read_ended(const BulkMemory::Ending& ending) {
  const auto found = pulls_.find(static_cast<std::uint32_t>(ending.token >> 32));
  if (found == pulls_.end() || found->second.reads == 0) return;
  BulkPull& pull = found->second;
  --bulk_reads_;
  --pull.reads;
  if (!ending.done) pull.failed = true;
}

// Begins what may be begun. True: the pull has come to its end.
bool EndpointCore::advance_pull(std::uint32_t id, BulkPull& pull) {
  while (!pull.failed && pull.begun != pull.length && pull.reads < tuning::kBulkReadsPerMessage) {
    const std::uint64_t bytes = std::min(pull.piece, pull.length - pull.begun);
    const std::uint64_t token = std::uint64_t{id} << 32 | (pull.begun / pull.piece & UINT32_MAX);
    const BulkMemory::Begin begin =
        pull.memory->begin_read(pull.peer, pull.source_address + pull.begun, pull.key, pull.local + pull.begun,
                                static_cast<std::size_t>(bytes), token);
    if (begin == BulkMemory::Begin::full) return false;
    if (begin == BulkMemory::Begin::failed) {
      pull.failed = true;
      break;
    }
    pull.begun += bytes;
    ++pull.reads;
    ++bulk_reads_;
  }
  // Also after a failure the others are waited for: packets must not be overwritten by what they replace.
  if (pull.reads != 0) return false;
  const BulkPull ended = pull;
  pulls_.erase(id);
  if (!ended.given_up) end_pull(id, ended);
  return true;
}

void EndpointCore::end_pull(std::uint32_t id, const BulkPull& pull) {
  Peer& peer = *peers_[pull.peer];
  PendingRequest* request = pull.is_get ? requests_.find(pull.id) : nullptr;
  const auto incoming = pull.is_get ? peer.incoming.end() : peer.incoming.find(pull.id);
  IncomingMessage* message = incoming != peer.incoming.end() ? &incoming->second : nullptr;
  std::uint32_t* pulled_by = request != nullptr ? &request->pull : message != nullptr ? &message->pull : nullptr;
  if (pulled_by == nullptr || *pulled_by != id) return;
  *pulled_by = 0;
  const auto result = pull.failed ? wire::AttachAnswer::not_read : wire::AttachAnswer::read;
  answer(peer, RecordKind::attach_done, wire::AttachDoneBody{pull.message_id, result});
  if (message != nullptr) message->elsewhere = false;
  if (pull.failed) return bulk_failed(peer);
  peer.bulk_failures = 0;
  ++statistics_of(peer).packets_received;
  ++statistics_of(peer).bulk_received;
  if (message != nullptr) return fragment_arrived(peer, pull.id, *message, message->total);
  const MovedMessage moved(request);
  request_complete(pull.id, &peer);
}

// Nothing is written to the user's memory any more when this returns.
void EndpointCore::give_up_pulls(Peer& peer) {
  bool under_way = false;
  for (auto& [id, pull] : pulls_) {
    if (pull.peer != peer.index || pull.given_up) continue;
    pull.given_up = pull.failed = true;
    under_way = under_way || pull.reads != 0;
  }
  std::erase_if(pulls_, [](const auto& entry) { return entry.second.given_up && entry.second.reads == 0; });
  if (under_way) peer.bulk_memory->stop_reads(peer.index);
  peer.bulk_failures = peer.bulk_pause = 0;
}

}  // namespace openlapi
