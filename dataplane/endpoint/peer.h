// What an endpoint knows of another task, made at first contact. Of a task that was never talked to it keeps one null
// pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dataplane/base/linked_list.h"
#include "dataplane/endpoint/channel_path.h"
#include "dataplane/endpoint/handler_host.h"
#include "dataplane/endpoint/kept_for_peer.h"
#include "dataplane/endpoint/outgoing_messages.h"
#include "dataplane/operation/lost_counters.h"
#include "dataplane/transport/transport.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

// A reliable transport with what it has, asked for once.
struct DirectTransport {
  Transport* transport;
  TransportCapabilities has;
};

// A record that found no room and waits, copied.
struct QueuedRecord {
  std::unique_ptr<std::byte[]> bytes;
  std::uint32_t length = 0;
  bool user_copy = false;  // counts against EndpointConfig::copy_buffers
  KeptShare kept{};        // of an answer
};

// A message of which the first record is here and the rest is not.
struct IncomingMessage {
  wire::RecordKind kind = wire::RecordKind::put;
  std::byte* buffer = nullptr;           // null (no layout, not for_null): the data is thrown away
  std::unique_ptr<LayoutCursor> layout;  // where the data goes instead; what it has no room for is thrown away
  std::uint64_t total = 0;               // bytes
  std::uint64_t received = 0;
  std::uint64_t number = 0;  // Peer::messages_begun when it began
  CompletionRun run;         // handler null: counters only
  CompletionStyle style = CompletionStyle::thread;
  std::unique_ptr<std::byte[]> own_buffer;  // `buffer` of a round, a description, a refused message
  std::uint32_t collective_sequence = 0;
  std::uint32_t collective_round = 0;
  std::uint64_t target_counter = 0;  // get_layout: as in GetLayoutBody
  std::uint32_t request_id = 0;
  bool vector = false;         // of LAPI_Putv or LAPI_Amsendv: a layout is a vector's, else a program's
  bool for_null = false;       // a put's data goes to `buffer` although that is null: as wrong as any other address
  bool cut_off = false;        // of a put to a layout: its rest is thrown away
  bool refused = false;        // its header handler dropped it; `buffer` is `own_buffer` until one accepts
  std::uint64_t kept_end = 0;  // refused: what has arrived in `own_buffer` lies before this
  bool elsewhere = false;      // the data lies in the source's memory, to be read there: no record brings any
  std::uint32_t pull = 0;      // the adapter's reading of the data; 0: it comes otherwise
  bool faulty = false;         // a part of it was for memory that this task cannot have: told once
  KeptShare kept{};

  bool has_buffer() const { return buffer != nullptr || for_null; }
};

// A fence of the peer that waits for messages which had begun to arrive before it.
struct FenceRequest {
  std::uint32_t count;
  std::uint32_t ticket;
  std::uint64_t newest;      // message that it waits for, by number
  std::uint64_t unfinished;  // of the messages up to that one
  KeptShare kept{};
};

// A fence of ours that may not be asked for yet: a message before it has not begun to leave.
struct HeldFence {
  std::uint64_t count;
  std::uint32_t ticket;
  std::uint64_t next_message;  // messages with smaller numbers come first
};

// A fence of ours that the peer has been, or will be, asked for and has not answered.
struct AwaitedFence {
  std::uint64_t number;
  std::uint64_t count;  // of Peer::messages_sent, which are in place when it answers
};

struct Peer {
  PeerIndex index = kUnknownPeer;
  std::uint32_t life = 0;        // counts the incarnations of it that were seen here
  std::uint32_t max_record = 0;  // bytes; a multiple of 8
  bool deaf = false;             // what comes from it is of before it began anew, until it says that it does
  bool untold = false;           // it is to be told first that this task begins anew: no room for that record yet
  bool closed = false;           // purged, or about to be dropped: nothing that it sends is looked at any more

  KeptForPeer kept;                    // because of what it has sent; declared before all that counts in it
  std::size_t given_up_unfinished = 0;  // of its messages, in all its lives

  // Exactly one of the two is there.
  Transport* direct = nullptr;           // reliable: records go to it as packets of their own
  std::unique_ptr<ChannelPath> channel;  // unreliable: records share packets of a reliable channel

  RemoteMemory* remote_memory = nullptr;  // of `direct`, when it has the power
  bool attach_closed = false;             // it cannot read any memory of ours: do not offer again

  BulkMemory* bulk_memory = nullptr;  // of the best of its paths that has the power
  std::uint32_t bulk_failures = 0;    // in a row
  std::uint32_t bulk_pause = 0;       // messages that go in packets before bulk is tried again

  std::deque<QueuedRecord> backlog;
  OutgoingQueue outgoing;
  ListLinks<Peer> in_pending;          // EndpointCore::pending_peers_
  bool pending = false;                // it is in that list: records or messages wait for room
  std::uint32_t copies_waiting = 0;    // of messages to it; counted against EndpointConfig::copy_buffers
  std::uint32_t requests_waiting = 0;  // gets and read-modify-writes that it has not answered
  bool requests_full = false;          // there were as many as may be; not yet a burst fewer
  std::uint64_t list_bytes = 0;        // that the layouts of these keep
  bool gone = false;                   // its process has ended; what it sent before may still wait in `direct`
  std::uint64_t last_arrival = 0;      // ReliableDelivery::Arrivals::handed_over of `direct` when that was seen
  std::uint64_t taken_seen = 0;        // ReliableDelivery::Intake::taken of `direct` at the latest look
  Nanoseconds silent_since = 0;        // something has waited there since then, and nothing was taken; 0: not so
  Nanoseconds asked_at = 0;            // `direct` was last given a packet for no other reason
  std::unordered_map<std::uint32_t, IncomingMessage> incoming;  // by message id

  // Fences. Counts of messages that move data to the other side. Messages end in any order, but what begins
  // to arrive before a fence request was begun before the fence.
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_confirmed = 0;  // of messages_sent, known to be in place there
  std::uint64_t messages_begun = 0;      // from the peer, first record arrived; also the newest one's number
  std::uint64_t messages_finished = 0;   // of these, in place here
  std::vector<HeldFence> held_fences;
  std::vector<FenceRequest> fence_requests;   // from the peer, not yet answered
  std::vector<AwaitedFence> fences_awaited;

  OwedCounters owed;  // completion counters here that the peer has to move

  // What `direct` is asked now and then.
  PeerLiveness* liveness = nullptr;
  ReliableDelivery* delivery = nullptr;
  PeerEras* eras = nullptr;

  bool is_direct() const { return direct != nullptr; }
};

// What a record of a put says of the whole put.
struct PutFragment {
  std::uint64_t target_counter;
  std::uint64_t completion_counter;
  std::uint64_t total;
  std::uint32_t message_id;
};

// What is kept of a peer that was purged or dropped.
struct FormerPeer {
  bool purged;          // and not resumed yet
  bool dropped;         // for what it made this task keep, or lost for good; until it is purged and resumed
  std::uint32_t life;   // Peer::life of the next one
  std::uint64_t epoch;  // ours towards it from now on
};

}  // namespace openlapi
