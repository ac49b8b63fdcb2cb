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
  std::byte* buffer = nullptr;  // null: the data is thrown away
  std::uint64_t total = 0;      // bytes
  std::uint64_t received = 0;
  std::uint32_t number = 0;  // Peer::messages_begun when it began
  CompletionRun run;         // handler null: counters only
  CompletionStyle style = CompletionStyle::thread;
  std::unique_ptr<std::byte[]> own_buffer;  // `buffer` of a collective's round, or of a message refused so far
  std::uint32_t collective_sequence = 0;
  std::uint32_t collective_round = 0;
  bool refused = false;  // its header handler dropped it; `buffer` is `own_buffer` until one accepts
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
  bool attach_refused = false;            // it could not read our memory once: do not offer again

  std::deque<QueuedRecord> backlog;
  bool gone = false;            // its process has ended; what it sent before may still wait in `direct`
  Nanoseconds stuck_since = 0;  // `direct` took nothing of the backlog since then; 0: not stuck
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

  bool is_direct() const { return direct != nullptr; }
};

}  // namespace openlapi
