#include "dataplane/transfer/bulk_pulls.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dataplane/message/served_packet.h"
#include "dataplane/transfer/bulk_shares.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

BulkPulls::BulkPulls(const Means& means, std::uint32_t first_number)
    : means_(means), next_pull_(std::max(first_number, 1u)) {}

BulkPulls::~BulkPulls() {
  for (auto& [id, pull] : pulls_) {
    for (const BulkPull::Path& path : pull.paths()) {
      if (path.reads != 0) path.memory->stop_reads(pull.peer);
    }
  }
}

void BulkPulls::pull_message(Peer& from, std::uint32_t id, IncomingMessage& message, std::uint64_t source_address,
                             const MemoryKeys& keys) {
  if (!message.has_buffer && message.layout == nullptr) {
    means_.outbox.answer(from, RecordKind::attach_done, wire::AttachDoneBody{id, wire::AttachAnswer::read});
    return means_.incoming.arrived(from, id, message, message.total);
  }
  BulkPull pull{.peer = from.index,
                .is_get = false,
                .id = id,
                .message_id = id,
                .source_address = source_address,
                .local = message.buffer,
                .length = message.total};
  pull.failed = message.layout != nullptr || message.buffer == nullptr;  // the adapter writes to one place
  message.pull = next_pull_;
  begin_pull(from, std::move(pull), keys);
}

void BulkPulls::pull_answer(Peer& from, PendingRequest& request, const wire::GetKeyBody& body, const MemoryKeys& keys) {
  request.pull = next_pull_;
  BulkPull pull{.peer = from.index,
                .is_get = true,
                .id = body.request_id,
                .message_id = body.message_id,
                .source_address = body.source_address,
                .local = static_cast<std::byte*>(request.buffer),
                .length = request.length};
  begin_pull(from, std::move(pull), keys);
}

void BulkPulls::begin_pull(Peer& from, BulkPull pull, const MemoryKeys& keys) {
  if (!pull.failed) choose_paths(from, pull, keys);
  const std::uint32_t id = next_pull_;
  do {
    next_pull_ = next_pull_ == UINT32_MAX ? 1 : next_pull_ + 1;
  } while (pulls_.contains(next_pull_));
  BulkPull& begun = pulls_.emplace(id, std::move(pull)).first->second;
  means_.signs.set(StepSigns::pulls, true);
  advance_pull(id, begun);
}

// Those that rest only if no other one serves. One over which packets do not come through, as after answers that were
// late, joins when they do.
void BulkPulls::choose_paths(Peer& from, BulkPull& pull, const MemoryKeys& keys) const {
  pull.watched = from.bulk_paths.size() > 1;
  const Nanoseconds now = pull.watched ? means_.clock.now() : 0;
  std::array<BulkPull::Path, wire::kMostBulkKeys> others;
  std::size_t other_count = 0;
  bool any_serves = false;
  for (std::uint32_t number = 0; number != from.bulk_paths.size(); ++number) {
    BulkPath& path = from.bulk_paths[number];
    const auto of_peer = [&](const MemoryKey& key) { return path.memory->leads_to(from.index, key); };
    const auto key = std::ranges::find_if(keys.all(), of_peer);
    if (key == keys.all().end() || path.memory->longest_read() == 0 || !from.reads_over(path)) continue;
    const BulkPull::Path found{
        .memory = path.memory, .key = *key, .number = number, .is_spare = !from.brings(path, 0, now)};
    if (path.pause == 0) {
      pull.all_paths[pull.path_count++] = found;
      any_serves = any_serves || !found.is_spare;
    } else {
      others[other_count++] = found;
      if (!pull.is_get) --path.pause;  // a get has counted when it asked
    }
  }
  if (!any_serves) {
    std::copy_n(others.begin(), other_count, pull.all_paths.begin() + pull.path_count);
    pull.path_count += static_cast<std::uint32_t>(other_count);
    for (BulkPull::Path& path : pull.paths()) path.is_spare = false;
  }
  pull.failed = pull.path_count == 0;
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
    for (std::size_t i = 0; i < count; ++i) read_ended(*memory, endings[i]);
    ended += static_cast<unsigned>(count);
  }
  return ended;
}

void BulkPulls::read_ended(const BulkMemory& memory, const BulkMemory::Ending& ending) {
  const auto found = pulls_.find(static_cast<std::uint32_t>(ending.token >> 32));
  const std::uint32_t place = ending.token & UINT32_MAX;
  if (found == pulls_.end() || place >= BulkPull::kMostReads) return;
  BulkPull& pull = found->second;
  BulkPull::Read& read = pull.under_way[place];
  BulkPull::Path& path = pull.all_paths[read.path];
  if (read.chunk.length == 0 || path.memory != &memory) return;
  const BulkPull::Chunk chunk = std::exchange(read.chunk, {});
  --bulk_reads_;
  --pull.reads;
  --path.reads;
  path.under_way -= chunk.length;
  if (!ending.done) pull.again.push_back(chunk);
  if (pull.given_up) return;
  Peer& from = means_.peers.at(pull.peer);
  if (!ending.done) path_failed(path, from, true);
  BulkPath& of_peer = from.bulk_paths[path.number];
  if (ending.done) of_peer.read += chunk.length;
  path.brought = path.brought || ending.done;
  if (!pull.watched) return;
  path.latest = means_.clock.now();
  if (ending.done) brought(path, from);
  if (pull.path_count != 1) of_peer.read_ended(ending.done ? chunk.length : 0, path.latest);
}

// The path is alive until the next read has had time, whatever waits behind that.
void BulkPulls::brought(const BulkPull::Path& path, Peer& from) {
  BulkPath& of_peer = from.bulk_paths[path.number];
  of_peer.brought_at = path.latest;
  if (from.is_in_channel(of_peer))
    from.channel->is_alive(of_peer.in_channel, path.latest + of_peer.time_for_next(path.under_way));
}

// `on_the_way`: and not because the adapter cannot read into this memory.
void BulkPulls::path_failed(BulkPull::Path& path, Peer& from, bool on_the_way) {
  if (std::exchange(path.failed, true)) return;
  BulkPath& of_peer = from.bulk_paths[path.number];
  of_peer.failed();
  if (on_the_way && from.is_in_channel(of_peer)) from.channel->doubt(of_peer.in_channel);
}

// Begins what may be begun. True: the pull has come to its end.
bool BulkPulls::advance_pull(std::uint32_t id, BulkPull& pull) {
  if (!pull.failed) begin_reads(id, pull, means_.peers.at(pull.peer));
  // Also after a failure the others are waited for: packets must not be overwritten by what they replace.
  if (pull.reads != 0) return false;
  if (!pull.failed && pull.next().length != 0) return false;  // no adapter has room
  const BulkPull ended = std::move(pull);
  pulls_.erase(id);
  means_.signs.set(StepSigns::pulls, !pulls_.empty());
  if (!ended.given_up) end_pull(id, ended);
  return true;
}

void BulkPulls::begin_reads(std::uint32_t id, BulkPull& pull, Peer& from) {
  if (pull.watched) stop_what_holds_up(pull, from);
  for (BulkPull::Path& path : pull.paths()) {
    while (pull.next().length != 0 && begin_read(id, pull, path, from)) {
    }
  }
  pull.failed = shares_of(pull, from).are_all_lost();
}

BulkShares BulkPulls::shares_of(const BulkPull& pull, const Peer& from) const {
  return {pull, from, pull.watched ? means_.clock.now() : 0};
}

// False: the path takes no more now.
bool BulkPulls::begin_read(std::uint32_t id, BulkPull& pull, BulkPull::Path& path, Peer& from) {
  const BulkPull::Chunk chunk{pull.next().offset, shares_of(pull, from).next_chunk(path)};
  if (chunk.length == 0) return false;
  const auto free = std::ranges::find(pull.under_way, 0u, [](const BulkPull::Read& read) { return read.chunk.length; });
  const auto place = static_cast<std::uint64_t>(free - pull.under_way.begin());
  const BulkMemory::Begin begin = path.memory->begin_read(
      pull.peer, pull.source_address + chunk.offset, path.key, pull.local + chunk.offset,
      static_cast<std::size_t>(chunk.length), std::uint64_t{id} << 32 | place, pull.around(chunk));
  if (begin == BulkMemory::Begin::failed) path_failed(path, from, false);
  if (begin != BulkMemory::Begin::begun) return false;
  *free = {.chunk = chunk, .path = static_cast<std::uint32_t>(&path - pull.all_paths.data())};
  pull.take(chunk.length);
  ++bulk_reads_;
  ++pull.reads;
  path.under_way += chunk.length;
  path.is_spare = false;
  if (++path.reads == 1 && pull.watched) path.latest = means_.clock.now();
  if (pull.path_count != 1) from.bulk_paths[path.number].read_began(path.latest);
  return true;
}

// A path that brings nothing any more while the others have nothing to do. Its reads end now, and are begun anew over
// these when they have, or the data comes in packets.
void BulkPulls::stop_what_holds_up(BulkPull& pull, Peer& from) {
  if (pull.reads == 0) return;
  if (from.channel != nullptr) from.channel->watch_links();
  if (!shares_of(pull, from).are_held_up()) return;
  for (BulkPull::Path& path : pull.paths()) {
    if (path.reads == 0 || path.stopped) continue;
    path_failed(path, from, true);
    path.stopped = true;
    path.memory->stop_reads(pull.peer);
  }
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
  if (pull.failed) return means_.offers.fell_back(peer);
  for (const BulkPull::Path& path : pull.paths()) {
    if (path.brought && !path.failed) peer.bulk_paths[path.number].succeeded();
  }
  ++means_.statistics.of(peer).packets_received;
  ++means_.statistics.of(peer).bulk_received;
  if (message != nullptr) return means_.incoming.arrived(peer, pull.id, *message, message->total);
  const MovedMessage moved(request);
  means_.requests.complete(pull.id, peer);
}

void BulkPulls::give_up(Peer& peer) {
  for (auto& [id, pull] : pulls_) {
    if (pull.peer != peer.index || pull.given_up) continue;
    pull.given_up = pull.failed = true;
    for (const BulkPull::Path& path : pull.paths()) {
      if (path.reads != 0 && !path.stopped) path.memory->stop_reads(peer.index);
    }
  }
  std::erase_if(pulls_, [](const auto& entry) { return entry.second.given_up && entry.second.reads == 0; });
  means_.signs.set(StepSigns::pulls, !pulls_.empty());
  for (BulkPath& path : peer.bulk_paths)
    path = {.memory = path.memory, .in_channel = path.in_channel, .one_sided = path.one_sided, .read = path.read};
}

}  // namespace openlapi
