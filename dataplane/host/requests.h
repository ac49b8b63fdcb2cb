// The operations that a user may begin, and what the engine answers.
#pragma once

#include <cstdint>

#include "dataplane/host/handler_host.h"
#include "dataplane/layout/layout_cursor.h"
#include "dataplane/transport/packet.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

enum class Submit : std::uint8_t {
  accepted,
  busy,           // no room; nothing was changed. Call progress() and try again.
  unreachable,    // the resolver found no path; a fault was not reported, the caller returns the error
  purged,         // the user has purged the peer
  origin_memory,  // guarded layouts: this task's side names memory that is not there; nothing was sent
  target_memory,  // of an operation on oneself: the other side does; some of its memory may have been written
};

// Whether a transfer may be bulk transfer; EndpointConfig::bulk_minimum holds all the same.
enum class BulkHint : std::uint8_t { by_task, never, always };

// Counter fields are addresses of counters: in this task (origin, completion), in the target (target); 0: none.
// `send_handler` runs once for every accepted operation, after the origin counter has moved, when the origin buffers
// may be changed; also for messages that were given up. `completion_handler` of a get runs like that of an active
// message, when the data is here and the origin counter has moved.
struct PutRequest {
  PeerIndex target;
  std::uint64_t target_address;
  const void* data;
  std::uint64_t length;
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  std::uint64_t completion_counter;
  HandlerCall send_handler = {};
  BulkHint bulk = BulkHint::by_task;
};

struct GetRequest {
  PeerIndex target;
  std::uint64_t target_address;
  void* buffer;
  std::uint64_t length;
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  HandlerCall completion_handler = {};
  BulkHint bulk = BulkHint::by_task;
};

struct ActiveMessageRequest {
  PeerIndex target;
  std::uint64_t handler;
  const void* user_header;
  std::uint32_t user_header_length;  // a multiple of 4, at most Endpoint::max_user_header()
  const void* data;
  std::uint64_t length;
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  std::uint64_t completion_counter;
  HandlerCall send_handler = {};
  BulkHint bulk = BulkHint::by_task;
};

// Transfers whose data is not contiguous, on one side or on both. The cursors, and the lists that they refer to, are
// used during the call only; a long message's data, and a data gather/scatter program, stay as they are until the
// origin counter moves. As many bytes move as the shorter side has.
struct LayoutPutRequest {
  PeerIndex target;
  LayoutCursor* source;
  LayoutCursor* destination;  // addresses in the target
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  std::uint64_t completion_counter;
  HandlerCall send_handler = {};
};

struct LayoutGetRequest {
  PeerIndex target;
  LayoutCursor* source;  // addresses in the target
  LayoutCursor* destination;
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  HandlerCall completion_handler = {};
};

struct LayoutMessageRequest {
  PeerIndex target;
  std::uint64_t handler;
  const void* user_header;
  std::uint32_t user_header_length;
  LayoutCursor* source;
  bool vector;  // the header handler answers with a vector
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  std::uint64_t completion_counter;
  HandlerCall send_handler = {};
};

struct RmwRequest {
  PeerIndex target;
  wire::RmwOperation operation;
  std::uint8_t width;  // 4 or 8 bytes
  std::uint64_t target_address;
  std::uint64_t input;
  std::uint64_t swap_value;
  void* previous;  // `width` bytes; null: not wanted
  std::uint64_t origin_counter;
  HandlerCall send_handler = {};  // the operands are copied at once
};

// An operation whose caller was told that it begins, and which cannot.
struct UnbegunOperation {
  PeerIndex target;
  std::uint64_t origin_counter;
  std::uint64_t completion_counter;
  HandlerCall send_handler;
};

}  // namespace openlapi
