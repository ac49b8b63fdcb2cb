// What an endpoint knows of another task, created at first contact. A task that was never talked to costs one null
// pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dataplane/base/linked_list.h"
#include "dataplane/counter/lost_counters.h"
#include "dataplane/message/incoming_message.h"
#include "dataplane/message/kept_for_peer.h"
#include "dataplane/message/outgoing_messages.h"
#include "dataplane/message/queued_record.h"
#include "dataplane/paths/peer_channel.h"
#include "dataplane/peers/bulk_path.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

// A fence of the peer that waits for messages which had begun to arrive before it.
struct FenceRequest {
  std::uint32_t count;
  std::uint32_t ticket;
  std::uint64_t newest;      // number of the newest message that it waits for
  std::uint64_t unfinished;  // how many messages up to that one are not finished
  KeptShare kept{};
};

// A fence of ours that may not be sent yet: a message before it has not begun to leave.
struct HeldFence {
  std::uint64_t count;
  std::uint32_t ticket;
  std::uint64_t next_message;  // messages with smaller numbers go first
};

// A fence of ours that was, or will be, sent to the peer and is not answered.
struct AwaitedFence {
  std::uint64_t number;
  std::uint64_t count;  // this many of Peer::messages_sent are in place when it is answered
};

struct Peer {
  PeerIndex index = kUnknownPeer;
  std::uint32_t incarnation = 0;  // counts the peer's incarnations that were seen here
  std::uint32_t max_record = 0;   // bytes; a multiple of 8
  bool deaf = false;              // what comes from it dates from before it began anew, until it says that it did
  bool untold = false;            // it must first be told that this task begins anew; there was no room yet
  bool closed = false;            // purged, or about to be dropped: nothing that it sends is looked at any more

  KeptForPeer kept;                     // because of what it sent; declared before everything that counts in it
  std::size_t given_up_unfinished = 0;  // of its messages, in all its incarnations

  // Exactly one of the two is set.
  Transport* direct = nullptr;           // reliable: each record goes to it as a packet
  std::unique_ptr<PeerChannel> channel;  // unreliable: records share packets of a reliable channel

  RemoteMemory* remote_memory = nullptr;  // of `direct`, if it has one
  DirectMemory* direct_memory = nullptr;  // the same
  bool attach_closed = false;             // the peer cannot read any of our memory: do not offer it again

  std::vector<BulkPath> bulk_paths;  // of those paths whose adapters read, the best first
  bool reads_one_sided = false;      // one of them at least reads a few bytes without a message

  std::deque<QueuedRecord> backlog;
  OutgoingQueue outgoing;
  ListLinks<Peer> in_pending;          // Outbox::pending_peers_
  bool pending = false;                // it is in that list: records or messages wait for room
  std::uint32_t copies_waiting = 0;    // of messages to it; counted against EndpointConfig::copy_buffers
  std::uint32_t requests_waiting = 0;  // gets and read-modify-writes that it has not answered
  bool requests_full = false;          // the limit was reached, and not a burst's worth was answered since
  std::uint64_t list_bytes = 0;        // bytes kept by the layouts of these
  bool gone = false;                   // its process has ended; what it sent before may still wait in `direct`
  std::uint64_t last_arrival = 0;      // ReliableDelivery::Arrivals::handed_over of `direct` when its end was seen
  std::uint64_t taken_seen = 0;        // ReliableDelivery::Intake::taken of `direct` at the latest look
  Nanoseconds silent_since = 0;        // since then something has waited there and nothing was taken; 0: not so
  Nanoseconds asked_at = 0;            // when `direct` was last given a packet only to probe
  std::unordered_map<std::uint32_t, IncomingMessage> incoming;  // by message id

  // Fences. Counts of messages that move data to the other side. Messages may end in any order, but those that begin to
  // arrive before a fence request were begun before the fence.
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_confirmed = 0;  // of messages_sent, those known to be in place at the peer
  std::uint64_t messages_begun = 0;      // from the peer, first record arrived; also the number of the newest one
  std::uint64_t messages_finished = 0;   // of these, those in place here
  std::vector<HeldFence> held_fences;
  std::vector<FenceRequest> fence_requests;  // from the peer, not yet answered
  std::vector<AwaitedFence> fences_awaited;

  OwedCounters owed;  // completion counters here that the peer has to move

  // Interfaces of `direct` that are used now and then.
  PeerLiveness* liveness = nullptr;
  ReliableDelivery* delivery = nullptr;
  PeerEras* eras = nullptr;

  bool is_direct() const { return direct != nullptr; }
  // As far as packets have shown. Only adapters that belong together read from each other: packets go to another one
  // while one of them is dead.
  bool serves(const BulkPath& path) const {
    const PathWatch* const watch = watch_of(path);
    return watch == nullptr || (watch->may_serve(path.in_channel) && !watch->is_elsewhere(path.in_channel));
  }
  // The same of reads with so many bytes under way: packets that do not come through may wait behind what they bring.
  bool brings(const BulkPath& path, std::uint64_t under_way, Nanoseconds now) const {
    if (serves(path)) return true;
    const PathWatch& watch = *watch_of(path);
    return !watch.is_link_down(path.in_channel) && !watch.is_elsewhere(path.in_channel) &&
           path.keeps_bringing(under_way, now);
  }
  bool reads_over(const BulkPath& path) const {
    const PathWatch* const watch = watch_of(path);
    return (watch == nullptr || !watch->is_elsewhere(path.in_channel)) && path.memory->reachable(index);
  }
  bool is_link_down(const BulkPath& path) const {
    const PathWatch* const watch = watch_of(path);
    return watch != nullptr && watch->is_link_down(path.in_channel);
  }
  bool is_in_channel(const BulkPath& path) const {
    return channel != nullptr && path.in_channel != BulkPath::kNoNumber;
  }
  // Null: nothing is known of the path alone.
  const PathWatch* watch_of(const BulkPath& path) const {
    return is_in_channel(path) ? channel->path_watch() : nullptr;
  }
};

// What is kept of a peer that was purged or dropped.
struct FormerPeer {
  bool purged;                // and not resumed yet
  bool dropped;               // for what it made this task keep, or lost for good; until it is purged and resumed
  std::uint32_t incarnation;  // Peer::incarnation of its next Peer
  std::uint64_t epoch;        // ours towards it from now on
};

}  // namespace openlapi
