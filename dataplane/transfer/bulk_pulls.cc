#include "dataplane/transfer/bulk_pulls.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dataplane/message/served_packet.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

BulkPulls::BulkPulls(const Means& means, std::uint32_t first_number)
    : means_(means), next_pull_(std::max(first_number, 1u)) {}

BulkPulls::~BulkPulls() {
  for (const auto& [id, pull] : pulls_) {
    if (pull.reads != 0) pull.memory->stop_reads(pull.peer);
  }
}

void BulkPulls::pull_message(Peer& from, std::uint32_t id, IncomingMessage& message, std::uint64_t source_address,
                             const MemoryKey& key) {
  if (!message.has_buffer && message.layout == nullptr) {
    means_.outbox.answer(from, RecordKind::attach_done, wire::AttachDoneBody{id, wire::AttachAnswer::read});
    return means_.incoming.arrived(from, id, message, message.total);
  }
  BulkPull pull{.peer = from.index,
                .is_get = false,
                .id = id,
                .message_id = id,
                .source_address = source_address,
                .key = key,
                .local = message.buffer,
                .length = message.total};
  pull.failed = message.layout != nullptr || message.buffer == nullptr;  // the adapter writes to one place
  message.pull = next_pull_;
  begin_pull(from, pull);
}

void BulkPulls::pull_answer(Peer& from, PendingRequest& request, const wire::GetKeyBody& body) {
  request.pull = next_pull_;
  begin_pull(from, {.peer = from.index,
                    .is_get = true,
                    .id = body.request_id,
                    .message_id = body.message_id,
                    .source_address = body.source_address,
                    .key = from_wire(body.key),
                    .local = static_cast<std::byte*>(request.buffer),
                    .length = request.length});
}

void BulkPulls::begin_pull(Peer& from, BulkPull pull) {
  pull.memory = from.bulk_memory;
  if (pull.memory == nullptr || !pull.memory->reachable(from.index)) pull.failed = true;
  if (!pull.failed) pull.piece = std::min(tuning::kBulkPiece, pull.memory->longest_read());
  if (pull.piece == 0) pull.failed = true;
  const std::uint32_t id = next_pull_;
  do {
    next_pull_ = next_pull_ == UINT32_MAX ? 1 : next_pull_ + 1;
  } while (pulls_.contains(next_pull_));
  BulkPull& begun = pulls_.emplace(id, pull).first->second;
  means_.signs.set(StepSigns::pulls, true);
  advance_pull(id, begun);
}

// Handlers that run on the way may purge peers: what comes next is looked for anew.
unsigned BulkPulls::advance() {
  unsigned moved = bulk_reads_ != 0 ? take_endings() : 0;
  for (auto next = pulls_.begin(); next != pulls_.end();) {
    const std::uint32_t id = next->first;
    if (advance_pull(id, next->second)) ++moved;
    next = pulls_.upper_bound(id);
  }
  return moved;
}

unsigned BulkPulls::take_endings() {
  unsigned ended = 0;
  for (BulkMemory* memory : means_.memories) {
    std::array<BulkMemory::Ending, tuning::kEndingsBurst> endings;
    const std::size_t count = memory->take_endings(endings);
    for (std::size_t i = 0; i < count; ++i) read_ended(endings[i]);
    ended += static_cast<unsigned>(count);
  }
  return ended;
}

void BulkPulls::read_ended(const BulkMemory::Ending& ending) {
  const auto found = pulls_.find(static_cast<std::uint32_t>(ending.token >> 32));
  if (found == pulls_.end() || found->second.reads == 0) return;
  BulkPull& pull = found->second;
  --bulk_reads_;
  --pull.reads;
  if (!ending.done) pull.failed = true;
}

// Begins what may be begun. True: the pull has come to its end.
bool BulkPulls::advance_pull(std::uint32_t id, BulkPull& pull) {
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
  means_.signs.set(StepSigns::pulls, !pulls_.empty());
  if (!ended.given_up) end_pull(id, ended);
  return true;
}

void BulkPulls::end_pull(std::uint32_t id, const BulkPull& pull) {
  Peer& peer = means_.peers.at(pull.peer);
  PendingRequest* request = pull.is_get ? means_.requests.find(pull.id) : nullptr;
  const auto incoming = pull.is_get ? peer.incoming.end() : peer.incoming.find(pull.id);
  IncomingMessage* message = incoming != peer.incoming.end() ? &incoming->second : nullptr;
  std::uint32_t* pulled_by = request != nullptr ? &request->pull : message != nullptr ? &message->pull : nullptr;
  if (pulled_by == nullptr || *pulled_by != id) return;
  *pulled_by = 0;
  const auto result = pull.failed ? wire::AttachAnswer::not_read : wire::AttachAnswer::read;
  means_.outbox.answer(peer, RecordKind::attach_done, wire::AttachDoneBody{pull.message_id, result});
  if (message != nullptr) message->elsewhere = false;
  if (pull.failed) return means_.offers.bulk_failed(peer);
  peer.bulk_failures = 0;
  ++means_.statistics.of(peer).packets_received;
  ++means_.statistics.of(peer).bulk_received;
  if (message != nullptr) return means_.incoming.arrived(peer, pull.id, *message, message->total);
  const MovedMessage moved(request);
  means_.requests.complete(pull.id, peer);
}

void BulkPulls::give_up(Peer& peer) {
  bool under_way = false;
  for (auto& [id, pull] : pulls_) {
    if (pull.peer != peer.index || pull.given_up) continue;
    pull.given_up = pull.failed = true;
    under_way = under_way || pull.reads != 0;
  }
  std::erase_if(pulls_, [](const auto& entry) { return entry.second.given_up && entry.second.reads == 0; });
  means_.signs.set(StepSigns::pulls, !pulls_.empty());
  if (under_way) peer.bulk_memory->stop_reads(peer.index);
  peer.bulk_failures = peer.bulk_pause = 0;
}

}  // namespace openlapi
