// How connections for reading come and go.
#include <algorithm>
#include <utility>

#include "dataplane/base/check.h"
#include "dataplane/base/random_number.h"
#include "nic/verbs/bulk_reads.h"
#include "nic/verbs/monotonic_time.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint64_t kAskAgain = 20;            // milliseconds
constexpr std::uint64_t kAskAtMost = 2000;         // milliseconds
constexpr std::uint64_t kStopAtMost = 2000;        // milliseconds
constexpr std::uint64_t kLongestSilence = 30'000;  // milliseconds
constexpr std::uint32_t kFailuresInARow = 3;       // connections
constexpr std::uint64_t kFirstRest = 1000;         // milliseconds
constexpr std::uint64_t kLongestRest = 60'000;

}  // namespace

BulkReads::FailureRecord& BulkReads::failure_record_of(PeerIndex peer) {
  if (peer >= failure_records_.size()) failure_records_.resize(peer + 1);
  return failure_records_[peer];
}

bool BulkReads::reachable(PeerIndex peer) {
  if (given_up_ || path_.address_of(peer) == nullptr) return false;
  if (peer >= failure_records_.size() || failure_records_[peer].failures < kFailuresInARow) return true;
  return milliseconds() >= failure_records_[peer].not_before;
}

void BulkReads::record_failure(PeerIndex peer) {
  FailureRecord& record = failure_record_of(peer);
  if (++record.failures < kFailuresInARow) return;
  const std::uint32_t doublings = std::min(record.failures - kFailuresInARow, 6u);
  record.not_before = milliseconds() + std::min(kFirstRest << doublings, kLongestRest);
}

BulkReads::Connection* BulkReads::find(PeerIndex peer) const {
  for (const auto& connection : connections_) {
    if (connection->peer == peer) return connection.get();
  }
  return nullptr;
}

ibv_qp* BulkReads::queue_pair_to(PeerIndex peer) const {
  const Connection* const connection = find(peer);
  return connection != nullptr ? connection->queue_pair->queue_pair() : nullptr;
}

void BulkReads::set_state(Connection& connection, Connection::State state) {
  unsettled_ -= connection.state != Connection::State::ready;
  connection.state = state;
  unsettled_ += state != Connection::State::ready;
}

BulkReads::Connection* BulkReads::connect(PeerIndex peer) {
  if (connections_.size() >= limits_.connections && !close_idle_one()) return nullptr;
  // Reads wait for it, rather than being refused.
  if (destruction_.count() >= limits_.connections) destruction_.finish();
  auto made = std::make_unique<Connection>();
  made->queue_pair = ReliableQueuePair::make(setting_);
  if (!made->queue_pair && close_idle_one()) made->queue_pair = ReliableQueuePair::make(setting_);
  if (!made->queue_pair) return nullptr;
  const std::uint64_t now = milliseconds();
  made->peer = peer;
  made->number = random_number<std::uint64_t>();
  made->deadline = now + kAskAtMost;
  made->ask_again = now + kAskAgain;
  ++unsettled_;
  connections_.push_back(std::move(made));
  say(*connections_.back(), ConnectionMessage::Kind::request);
  return connections_.back().get();
}

bool BulkReads::close_idle_one() {
  Connection* oldest = nullptr;
  for (const auto& connection : connections_) {
    const bool idle = connection->state == Connection::State::ready && connection->reads == 0;
    if (idle && (oldest == nullptr || connection->last_use < oldest->last_use)) oldest = connection.get();
  }
  if (oldest == nullptr) return false;
  say(*oldest, ConnectionMessage::Kind::close);
  ++counters_.connections_closed;
  remove(*oldest);
  return true;
}

void BulkReads::say(const Connection& connection, ConnectionMessage::Kind kind) {
  path_.send_message(connection.peer, {.kind = kind,
                                       .reads = setting_.reads,
                                       .queue_pair = connection.queue_pair->number(),
                                       .first_packet = connection.queue_pair->first_packet(),
                                       .connection = connection.number,
                                       .address = path_.own_address()});
}

void BulkReads::message_arrived(PeerIndex peer, const ConnectionMessage& message) {
  using Kind = ConnectionMessage::Kind;
  if (message.kind == Kind::request) return served_.requested(peer, message);
  if (message.kind == Kind::close) served_.closed(peer, message.connection);
  Connection* const connection = find(peer);
  if (connection == nullptr || connection->number != message.connection) return;
  if (message.kind == Kind::accept) {
    if (connection->state == Connection::State::asked) accepted(*connection, message);
  } else if (message.kind == Kind::refuse || connection->reads != 0) {
    refused(*connection);
  } else {
    remove(*connection);  // closed by the other end while nobody read
  }
}

void BulkReads::accepted(Connection& connection, const ConnectionMessage& message) {
  const ReliablePeer end{.queue_pair = message.queue_pair,
                         .first_packet = message.first_packet,
                         .mtu = std::min(path_.own_address().mtu, message.address.mtu),
                         .reads = std::min(setting_.reads, message.reads),
                         .route = path_.route_to_address(message.address)};
  if (connection.queue_pair->connect(end) != 0) return refused(connection);
  ++counters_.connections_made;
  // An end that has few reads at a time may be soft-RoCE.
  const bool short_pieces = software_ || end.reads <= kSoftPiecesAtATime;
  const std::uint64_t piece = short_pieces ? std::uint64_t{kSoftPacketsOfPiece} * end.mtu : kPiece;
  connection.piece = std::min(piece, longest_piece_);
  set_state(connection, Connection::State::ready);
  post_pieces(connection);
  remove_if_stopped(connection);
}

void BulkReads::refused(Connection& connection) {
  stop(connection);
  remove_if_stopped(connection);
}

// Reads of which the adapter has pieces end when it gives these back, the others at once. If the queue pair cannot be
// stopped its pieces end as if nothing had happened, or with it.
void BulkReads::stop(Connection& connection) {
  if (connection.state == Connection::State::stopping) return;
  ++counters_.connections_broken;
  record_failure(connection.peer);
  connection.queue_pair->stop();
  set_state(connection, Connection::State::stopping);
  connection.deadline = milliseconds() + kStopAtMost;
  for (const std::uint32_t number : std::exchange(connection.waiting, {})) {
    Read& read = reads_[number];
    if (read.entry == nullptr) continue;  // it has just ended
    read.failed = true;
    if (read.pieces == 0) end(read);
  }
}

void BulkReads::remove_if_stopped(Connection& connection) {
  if (connection.state == Connection::State::stopping && connection.posted == 0) remove(connection);
}

// Without its queue pair the adapter does not touch memory any more: only then its reads end. Nor does it where all
// that was posted has come back.
void BulkReads::remove(Connection& connection) {
  if (connection.posted != 0) connection.queue_pair->destroy_at_once();
  connection.queue_pair.reset();
  for (Read& read : reads_) {
    if (read.entry == nullptr || read.connection != &connection) continue;
    read.failed = true;
    end(read);
  }
  set_state(connection, Connection::State::ready);  // no time to keep for it
  std::erase_if(connections_, [&](const auto& one) { return one.get() == &connection; });
}

void BulkReads::stop_reads(PeerIndex peer) {
  Connection* const connection = find(peer);
  if (connection == nullptr || connection->reads == 0) return;
  say(*connection, ConnectionMessage::Kind::close);
  remove(*connection);
}

void BulkReads::give_up() {
  given_up_ = true;
  while (!connections_.empty()) {
    stop(*connections_.back());
    remove(*connections_.back());
  }
}

void BulkReads::peer_changed(PeerIndex peer) {
  if (Connection* const connection = find(peer)) remove(*connection);
  served_.forget(peer);
  if (peer < failure_records_.size()) failure_records_[peer] = {};
}

void BulkReads::expect_ending(Connection& connection) { connection.deadline = milliseconds() + kLongestSilence; }

void BulkReads::keep_time() {
  looks_ = 0;
  const std::uint64_t now = milliseconds();
  for (std::size_t i = connections_.size(); i-- != 0;) {
    Connection& connection = *connections_[i];
    if (now >= connection.deadline && (connection.state != Connection::State::ready || connection.posted != 0)) {
      stop(connection);
      remove(connection);
    } else if (connection.state == Connection::State::asked && now >= connection.ask_again) {
      connection.ask_again = now + kAskAgain;
      say(connection, ConnectionMessage::Kind::request);
    }
  }
}

}  // namespace openlapi::verbs
