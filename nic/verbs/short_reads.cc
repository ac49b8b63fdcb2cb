#include "nic/verbs/short_reads.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/random_number.h"
#include "nic/verbs/device_kind.h"
#include "nic/verbs/monotonic_time.h"
#include "nic/verbs/on_demand_paging.h"

namespace openlapi::verbs {

std::unique_ptr<ShortReads> ShortReads::make(ibv_context& context, const Domains& domains, ibv_comp_channel& channel,
                                             const PortPlace& place, ConnectionPath& path,
                                             const ShortReadLimits& limits) {
  std::unique_ptr<ShortReads> made(new ShortReads(domains, path, limits));
  if (!made->open(context, channel, place)) return nullptr;
  return made;
}

ShortReads::ShortReads(const Domains& domains, ConnectionPath& path, const ShortReadLimits& limits)
    : domains_(domains), path_(path), limits_(limits), served_(setting_, path, limits.connections) {}

ShortReads::~ShortReads() {
  for (const auto& connection : connections_) {
    if (connection != nullptr && connection->under_way != 0) connection->queue_pair->destroy_at_once();
  }
}

bool ShortReads::open(ibv_context& context, ibv_comp_channel& channel, const PortPlace& place) {
  ibv_device_attr device{};
  if (ibv_query_device(&context, &device) != 0) return false;
  const int at_a_time = std::min(device.max_qp_rd_atom, device.max_qp_init_rd_atom);
  // Twice: what a queue pair that was given up has left behind lies there, too.
  constexpr std::uint32_t kEach = 2 * kAtATime;
  limits_.connections = std::min(limits_.connections, static_cast<std::uint32_t>(std::max(device.max_cqe, 0)) / kEach);
  if (at_a_time < 1 || device.max_qp_wr < static_cast<int>(kAtATime) || limits_.connections == 0) return false;
  asking_ = asking_of(limits_.gets_before_asking, is_software(*context.device, device));
  pages_ = pages_whole_memory(context);
  completions_ = domains_.make_completion_queue(static_cast<int>(kEach * limits_.connections), &channel);
  setting_ = {.context = &context,
              .domain = &domains_.of_queues(),
              .completions = completions_.get(),
              .place = place,
              .purpose = ConnectionMessage::Purpose::one_sided,
              .reads = static_cast<std::uint8_t>(std::min(static_cast<int>(kAtATime), at_a_time)),
              .queue_length = kAtATime,
              .rights = IBV_ACCESS_REMOTE_READ,
              .destruction = domains_.have_locks() ? &destruction_ : nullptr};
  connections_.resize(limits_.connections);
  return completions_ != nullptr;
}

// The adapter may still report requests of one that was there before.
ShortReads::Connection* ShortReads::connection_of(std::uint64_t request) const {
  Connection* const connection = connections_[request & UINT32_MAX].get();
  return connection != nullptr && connection->request == request ? connection : nullptr;
}

std::byte* ShortReads::place_of(const Connection& connection, std::uint32_t place) {
  return connection.memory.data() + place * kMostBytes;
}

bool ShortReads::begin_get(PeerIndex peer, std::uint64_t address, std::size_t length, std::uint32_t token) {
  Connection* const connection = peer < peers_.size() ? peers_[peer].connection : nullptr;
  if (connection == nullptr || !connection->ready) [[unlikely]] {
    count_get(peer);
    return false;
  }
  if (connection->under_way == kAtATime) return false;
  const ibv_sge local{.addr = reinterpret_cast<std::uintptr_t>(place_of(*connection, connection->next)),
                      .length = static_cast<std::uint32_t>(length),
                      .lkey = connection->memory.key()};
  if (connection->queue_pair->read(connection->request, local, address, connection->key) != 0) [[unlikely]] {
    broken(*connection);
    return false;
  }
  connection->tokens[connection->next] = token;
  connection->next = (connection->next + 1) % kAtATime;
  connection->last_use = ++uses_;
  ++connection->under_way;
  ++posted_;
  return true;
}

bool ShortReads::poll() {
  const int count = posted_ != 0 ? ibv_poll_cq(completions_.get(), kPollBatch, done_.data()) : 0;
  next_done_ = 0;
  done_end_ = static_cast<std::size_t>(std::max(count, 0));
  return done_end_ != 0;
}

bool ShortReads::take_ending(Ending& ending) {
  while (lost_.empty() && (next_done_ != done_end_ || poll())) {
    const ibv_wc& done = done_[next_done_++];
    Connection* const connection = connection_of(done.wr_id);
    if (connection == nullptr) continue;  // given up before
    if (done.status != IBV_WC_SUCCESS) [[unlikely]] {
      broken(*connection);
      continue;
    }
    const std::uint32_t place = (connection->next + kAtATime - connection->under_way) % kAtATime;
    --connection->under_way;
    --posted_;
    ++connection->ended;
    ++counters_.reads_done;
    peers_[connection->peer].failures = 0;
    ending = {connection->tokens[place], place_of(*connection, place)};
    return true;
  }
  if (posted_ != 0 && ++silent_looks_ % kSilentLooks == 0) keep_time();
  if (lost_.empty()) [[likely]]
    return false;
  ending = {lost_.back(), nullptr};
  lost_.pop_back();
  return true;
}

// Of a connection on which nothing has ended between two looks that are so far apart, while something was under way.
void ShortReads::keep_time() {
  const std::uint64_t now = milliseconds();
  for (const auto& connection : connections_) {
    if (connection == nullptr) continue;
    if (connection->under_way == 0 || connection->ended != connection->ended_then) {
      connection->ended_then = connection->under_way != 0 ? connection->ended : UINT64_MAX;
      connection->looked_at = now;
    } else if (now - connection->looked_at >= kLongestSilence) {
      broken(*connection);
    }
  }
}

bool ShortReads::arm() {
  if (posted_ != 0) {
    ibv_req_notify_cq(completions_.get(), 0);
    if (next_done_ == done_end_) poll();
  }
  return lost_.empty() && next_done_ == done_end_;
}

// How connections come and go.

ShortReads::Peer& ShortReads::state_of(PeerIndex peer) {
  if (peer >= peers_.size()) peers_.resize(peer + 1, stranger());
  return peers_[peer];
}

void ShortReads::count_get(PeerIndex peer) {
  Peer& state = state_of(peer);
  if (state.parted || given_up_) return;
  if (state.until_asking > 1) {
    --state.until_asking;
  } else {
    ask(peer);
  }
}

void ShortReads::ask(PeerIndex peer) {
  Peer& state = peers_[peer];
  state.until_asking = Peer::kAskAgain;
  if (state.connection == nullptr) state.connection = make_connection(peer);
  if (state.connection == nullptr) {
    state.stay_without(asking_);
  } else if (state.connection->asked++ == Peer::kAskAtMost) {
    failed(*state.connection);
  } else {
    say(*state.connection, ConnectionMessage::Kind::request);
  }
}

ShortReads::Connection* ShortReads::make_connection(PeerIndex peer) {
  const auto is_free = [](const auto& place) { return place == nullptr; };
  auto place = std::ranges::find_if(connections_, is_free);
  if (place == connections_.end() && peers_[peer].may_displace && close_idle_one()) {
    place = std::ranges::find_if(connections_, is_free);
  }
  // What is being destroyed may still have completions in the queue.
  if (place == connections_.end() || destruction_.count() >= limits_.connections) return nullptr;
  auto made = std::make_unique<Connection>();
  made->peer = peer;
  made->number = random_number<std::uint64_t>();
  made->queue_pair = ReliableQueuePair::make(setting_);
  if (!made->queue_pair || made->memory.open(domains_.of_memory(), kAtATime * kMostBytes) != 0) return nullptr;
  made->request = std::uint64_t{++names_} << 32 | static_cast<std::uint64_t>(place - connections_.begin());
  *place = std::move(made);
  return place->get();
}

bool ShortReads::close_idle_one() {
  Connection* oldest = nullptr;
  for (const auto& connection : connections_) {
    if (connection == nullptr || connection->under_way != 0) continue;
    if (oldest == nullptr || connection->last_use < oldest->last_use) oldest = connection.get();
  }
  if (oldest == nullptr || uses_ - oldest->last_use < kIdleUses) return false;
  say(*oldest, ConnectionMessage::Kind::close);
  ++counters_.connections_closed;
  remove(*oldest);
  return true;
}

void ShortReads::say(const Connection& connection, ConnectionMessage::Kind kind) {
  path_.send_message(connection.peer, {.kind = kind,
                                       .purpose = ConnectionMessage::Purpose::one_sided,
                                       .reads = setting_.reads,
                                       .queue_pair = connection.queue_pair->number(),
                                       .first_packet = connection.queue_pair->first_packet(),
                                       .connection = connection.number,
                                       .address = path_.own_address()});
}

bool ShortReads::may_be_read() {
  if (pages_ && !whole_) whole_ = register_whole_memory(domains_.of_memory(), false);
  pages_ = whole_ != nullptr;
  if (pages_) setting_.told_key = whole_->rkey;
  return pages_;
}

void ShortReads::message_arrived(PeerIndex peer, const ConnectionMessage& message) {
  using Kind = ConnectionMessage::Kind;
  if (message.kind == Kind::request) {
    const bool parted = peer < peers_.size() && peers_[peer].parted;
    if (parted || given_up_ || !may_be_read()) return served_.decline(peer, message);
    return served_.requested(peer, message);
  }
  if (message.kind == Kind::close) served_.closed(peer, message.connection);
  Connection* const connection = peer < peers_.size() ? peers_[peer].connection : nullptr;
  if (connection == nullptr || connection->number != message.connection) return;
  if (message.kind == Kind::accept) {
    if (!connection->ready) accepted(*connection, message);
    return;
  }
  if (message.kind == Kind::close) ++counters_.connections_closed;
  failed(*connection);  // if it was closed the other end has too many: it is asked less often
}

void ShortReads::accepted(Connection& connection, const ConnectionMessage& message) {
  const ReliablePeer end{.queue_pair = message.queue_pair,
                         .first_packet = message.first_packet,
                         .mtu = std::min(path_.own_address().mtu, message.address.mtu),
                         .reads = std::min(setting_.reads, message.reads),
                         .route = path_.route_to_address(message.address)};
  if (connection.queue_pair->connect(end) != 0) return failed(connection);
  ++counters_.connections_made;
  connection.key = message.key;
  connection.ready = true;
  connection.last_use = ++uses_;
}

void ShortReads::failed(Connection& connection) {
  Peer& state = peers_[connection.peer];
  remove(connection);
  state.ask_later(asking_);
}

void ShortReads::broken(Connection& connection) {
  ++counters_.connections_broken;
  failed(connection);
}

// Without its queue pair the adapter does not touch the connection's memory any more.
void ShortReads::remove(Connection& connection) {
  Peer& state = peers_[connection.peer];
  state.connection = nullptr;
  state.stay_without(asking_);
  if (connection.under_way != 0) connection.queue_pair->destroy_at_once();
  posted_ -= connection.under_way;
  counters_.reads_failed += connection.under_way;
  for (std::uint32_t place = connection.next; connection.under_way != 0; --connection.under_way) {
    place = (place + kAtATime - 1) % kAtATime;
    lost_.push_back(connection.tokens[place]);
  }
  connections_[connection.request & UINT32_MAX].reset();
}

void ShortReads::peer_changed(PeerIndex peer) {
  served_.forget(peer);
  if (peer >= peers_.size()) return;
  if (peers_[peer].connection != nullptr) remove(*peers_[peer].connection);
  const bool parted = peers_[peer].parted;
  peers_[peer] = stranger();
  peers_[peer].parted = parted;
}

void ShortReads::part_from(PeerIndex peer) {
  state_of(peer).parted = true;
  peer_changed(peer);
}

void ShortReads::resume(PeerIndex peer) { state_of(peer).parted = false; }

void ShortReads::give_up() {
  given_up_ = true;
  for (const auto& connection : connections_) {
    if (connection != nullptr) failed(*connection);
  }
}

ibv_qp* ShortReads::queue_pair_to(PeerIndex peer) const {
  const bool ready = peer < peers_.size() && peers_[peer].connection != nullptr && peers_[peer].connection->ready;
  return ready ? peers_[peer].connection->queue_pair->queue_pair() : nullptr;
}

}  // namespace openlapi::verbs
