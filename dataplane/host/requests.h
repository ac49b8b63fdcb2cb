// The operations that a user can begin, and what the engine answers.
#pragma once

#include <cstdint>

#include "dataplane/host/handler_host.h"
#include "dataplane/layout/layout_cursor.h"
#include "dataplane/transport/packet.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

enum class Submit : std::uint8_t {
  accepted,
  busy,           // no room, or the peer is still looked for; nothing has changed. Call progress() and try again.
  unreachable,    // the resolver found no path; no fault is reported, the caller returns the error
  purged,         // the user has purged the peer
  origin_memory,  // guarded layouts: this task's side names memory that is not there; nothing was sent
  target_memory,  // of an operation on oneself: the target side does; some of its memory may have been written
};

// Whether a transfer may use bulk; EndpointConfig::bulk_minimum applies in any case.
enum class BulkHint : std::uint8_t { by_task, never, always };

// Counter fields are addresses of counters: in this task (origin, completion) or in the target (target); 0: none.
// `send_handler` runs once for every accepted operation, also for messages that are given up: after the origin counter
// has moved, when the origin buffers may be reused. `completion_handler` of a get runs like that of an active message,
// when the data has arrived and the origin counter has moved.
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

// Transfers whose data is not contiguous on one side or both. The cursors, and the lists they refer to, are used only
// during the call. A long message's data, and a data gather/scatter program, must not change until the origin counter
// moves. The shorter side determines how many bytes move.
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
  bool vector;  // the header handler returns a vector
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

// An operation whose caller was told that it begins, but which cannot begin.
struct UnbegunOperation {
  PeerIndex target;
  std::uint64_t origin_counter;
  std::uint64_t completion_counter;
  HandlerCall send_handler;
};

}  // namespace openlapi
