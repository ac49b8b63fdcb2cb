// Messages of peers that are not complete here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/host/handler_host.h"
#include "dataplane/layout/layout_cursor.h"
#include "dataplane/message/kept_for_peer.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

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

// What a record of a put says of the whole put.
struct PutFragment {
  std::uint64_t target_counter;
  std::uint64_t completion_counter;
  std::uint64_t total;
  std::uint32_t message_id;
};

}  // namespace openlapi
