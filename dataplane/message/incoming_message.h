// Messages of peers that are not complete here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "dataplane/host/handler_host.h"
#include "dataplane/layout/layout_cursor.h"
#include "dataplane/message/kept_for_peer.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

// What is done at the end of a put or an active message. Fences count these.
struct IncomingOperation {
  std::uint64_t number = 0;  // Peer::messages_begun when it began
  CompletionRun run{};       // handler null: counters only
  bool vector = false;       // of LAPI_Putv or LAPI_Amsendv: a layout is a vector's, else a program's
};

struct IncomingPut : IncomingOperation {
  bool cut_off = false;  // to a layout: its rest is thrown away
};

struct IncomingActiveMessage : IncomingOperation {
  CompletionStyle style = CompletionStyle::thread;
  bool refused = false;        // its header handler dropped it; it ends only when one has accepted
  std::uint64_t kept_end = 0;  // refused: what has arrived in `own_buffer` lies before this
};

// Of a barrier or an exchange.
struct IncomingRound {
  std::uint32_t sequence;
  std::uint32_t round;
};

// Of what a get of a layout asks for.
struct IncomingDescription {
  wire::GetLayoutBody request;
};

// A message of which the first record is here and the rest is not: what it is, and where its bytes go.
struct IncomingMessage {
  std::variant<IncomingPut, IncomingActiveMessage, IncomingRound, IncomingDescription> kind;
  std::uint64_t total = 0;  // bytes
  std::uint64_t received = 0;
  std::byte* buffer = nullptr;
  bool faulty = false;      // a part of it was for memory that this task cannot have: told once
  bool has_buffer = false;  // the data goes to `buffer`; of a put that may be null, as wrong as any other address
  bool elsewhere = false;   // the data lies in the source's memory, to be read there: no record brings any
  std::uint32_t pull = 0;   // the adapter's reading of the data; 0: it comes otherwise
  std::unique_ptr<LayoutCursor> layout{};  // where the data goes instead; what it has no room for is thrown away
  std::unique_ptr<std::byte[]> own_buffer{};
  KeptShare kept{};

  void go_to(std::byte* place) {
    buffer = place;
    has_buffer = true;
  }
  void go_to(std::unique_ptr<std::byte[]> own) {
    own_buffer = std::move(own);
    go_to(own_buffer.get());
  }
  bool is_put() const { return std::holds_alternative<IncomingPut>(kind); }
  // Null: it is none.
  IncomingActiveMessage* refused() {
    auto* const message = std::get_if<IncomingActiveMessage>(&kind);
    return message != nullptr && message->refused ? message : nullptr;
  }
  const IncomingOperation* operation() const {
    if (const auto* put = std::get_if<IncomingPut>(&kind)) return put;
    return std::get_if<IncomingActiveMessage>(&kind);
  }
  IncomingOperation* operation() { return const_cast<IncomingOperation*>(std::as_const(*this).operation()); }
};

// What a record of a put says of the whole put.
struct PutFragment {
  std::uint64_t target_counter;
  std::uint64_t completion_counter;
  std::uint64_t total;
  std::uint32_t message_id;
};

}  // namespace openlapi
