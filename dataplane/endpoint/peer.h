// What an endpoint knows of another task, made at first contact. Of a task that was never talked to it keeps one null
// pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dataplane/endpoint/channel_path.h"
#include "dataplane/endpoint/handler_host.h"
#include "dataplane/operation/lost_counters.h"
#include "dataplane/transport/transport.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

// A record that found no room and waits, copied.
struct QueuedRecord {
  std::unique_ptr<std::byte[]> bytes;
  std::uint32_t length = 0;
  bool user_copy = false;  // counts against EndpointConfig::copy_buffers
};

// A message of which the first record is here and the rest is not.
struct IncomingMessage {
  wire::RecordKind kind = wire::RecordKind::put;
  std::byte* buffer = nullptr;           // null (and no layout): the data is thrown away
  std::unique_ptr<LayoutCursor> layout;  // where the data goes instead; what it has no room for is thrown away
  std::uint64_t total = 0;               // bytes
  std::uint64_t received = 0;
  std::uint32_t number = 0;  // Peer::messages_begun when it began
  CompletionRun run;         // handler null: counters only
  CompletionStyle style = CompletionStyle::thread;
  std::unique_ptr<std::byte[]> own_buffer;  // `buffer` of a round, a description, a refused message
  std::uint32_t collective_sequence = 0;
  std::uint32_t collective_round = 0;
  std::uint64_t target_counter = 0;  // get_layout: as in GetLayoutBody
  std::uint32_t request_id = 0;
  bool program = false;        // `layout` is not a vector
  bool cut_off = false;        // of a put to a layout: its rest is thrown away
  bool refused = false;        // its header handler dropped it; `buffer` is `own_buffer` until one accepts
  std::uint64_t kept_end = 0;  // refused: what has arrived in `own_buffer` lies before this
  std::uint32_t pull = 0;      // the adapter's reading of the data; 0: it comes otherwise
  bool faulty = false;         // a part of it was for memory that this task cannot have: told once
};

// A fence of the peer that waits for messages which had begun to arrive before it.
struct FenceRequest {
  std::uint32_t count;
  std::uint32_t ticket;
  std::uint32_t newest;      // message that it waits for, by number
  std::uint32_t unfinished;  // of the messages up to that one
};

// A fence of ours that may not be asked for yet: a message before it has not begun to leave.
struct HeldFence {
  std::uint32_t count;
  std::uint32_t ticket;
  std::uint32_t next_message_id;  // messages with smaller ids come first
};

struct Peer {
  PeerIndex index = kUnknownPeer;
  std::uint32_t life = 0;        // counts the incarnations of it that were seen here
  std::uint32_t max_record = 0;  // bytes; a multiple of 8

  // Exactly one of the two is there.
  Transport* direct = nullptr;           // reliable: records go to it as packets of their own
  std::unique_ptr<ChannelPath> channel;  // unreliable: records share packets of a reliable channel

  RemoteMemory* remote_memory = nullptr;  // of `direct`, when it has the power
  bool attach_closed = false;             // it cannot read any memory of ours: do not offer again

  BulkMemory* bulk_memory = nullptr;  // of the best of its paths that has the power
  std::uint32_t bulk_failures = 0;    // in a row
  std::uint32_t bulk_pause = 0;       // messages that go in packets before bulk is tried again

  std::deque<QueuedRecord> backlog;
  std::uint32_t copies_waiting = 0;    // of messages to it; counted against EndpointConfig::copy_buffers
  std::uint32_t requests_waiting = 0;  // gets and read-modify-writes that it has not answered
  bool gone = false;                   // its process has ended; what it sent before may still wait in `direct`
  Nanoseconds stuck_since = 0;         // `direct` took nothing of the backlog since then; 0: not stuck
  std::unordered_map<std::uint32_t, IncomingMessage> incoming;  // by message id

  // Fences. Counts of messages that move data to the other side; they wrap. Messages end in any order, but what begins
  // to arrive before a fence request was begun before the fence.
  std::uint32_t messages_sent = 0;
  std::uint32_t messages_confirmed = 0;  // of messages_sent, known to be in place there
  std::uint32_t messages_begun = 0;      // from the peer, first record arrived; also the newest one's number
  std::uint32_t messages_finished = 0;   // of these, in place here
  std::vector<HeldFence> held_fences;
  std::vector<FenceRequest> fence_requests;   // from the peer, not yet answered
  std::vector<std::uint32_t> fences_awaited;  // tickets of our fences that the peer has not answered

  OwedCounters owed;  // completion counters here that the peer has to move

  bool is_direct() const { return direct != nullptr; }
};

}  // namespace openlapi
