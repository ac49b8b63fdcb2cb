// A message of this task that could not leave at once, because it is longer than one record or waits for room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/base/linked_list.h"
#include "dataplane/host/handler_host.h"
#include "dataplane/layout/layout_cursor.h"
#include "dataplane/message/bulk_pull.h"
#include "dataplane/message/kept_for_peer.h"
#include "dataplane/transport/packet.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

struct OutgoingMessage {
  enum class Stage : std::uint8_t {
    sending,          // there are fragments left to send
    awaiting_attach,  // the peer was asked to read our memory
    awaiting_acks,    // everything is sent, but the data is needed for retransmission
  };

  std::uint64_t number = 0;  // in the order in which the endpoint's messages began
  std::uint32_t id = 0;      // identifies the message in packets; derived from the number; never 0
  PeerIndex peer = 0;
  Stage stage = Stage::sending;
  ListLinks<OutgoingMessage> in_stage, in_unbegun;  // OutgoingQueue
  std::uint64_t kept_bytes = 0;                     // counted in the queue until the message is done

  wire::RecordKind kind = wire::RecordKind::put;        // put, active_message, collective, get_data, ...
  std::array<std::byte, sizeof(wire::PutBody)> body{};  // of the first record; get_data: GetDataBody without offset
  std::vector<std::byte> user_header;                   // until the first record has left
  bool first_sent = false;                              // later fragments are `data` records

  const std::byte* data = nullptr;  // the user's memory, or `copy`; its first byte is byte data_begin of the message
  std::uint64_t data_begin = 0;
  std::unique_ptr<std::byte[]> copy;  // counts against EndpointConfig::copy_buffers
  std::uint64_t total = 0;
  std::uint64_t offset = 0;          // first byte not yet handed to the path
  bool referenced = false;           // packets point into the user's memory until they are acknowledged
  std::uint32_t unacknowledged = 0;  // such packets

  Exposure exposure;  // awaiting_attach: lets the peer's adapter read `data`
  KeptShare kept;     // for an answer

  // How much of our memory is kept by a message whose data stays with the user, including its record in a backlog.
  std::uint64_t bytes_of_ours() const {
    return sizeof(*this) + 2 * (sizeof(wire::PutBody) + user_header.size()) + description.size() +
           (source != nullptr ? source->list_bytes() : 0) + (destination != nullptr ? destination->list_bytes() : 0);
  }

  const std::byte* unsent() const { return data + (offset - data_begin); }

  // For data that is not contiguous, instead of `data` and `data_begin`: the source, positioned at the first byte that
  // is not handed to the path yet. A put's destination, which lies in the target, is at the same position.
  std::unique_ptr<LayoutCursor> source;
  std::unique_ptr<LayoutCursor> destination;
  std::vector<std::byte> description;  // what `source` refers to (get_data), or what the peer reads (attach)
  bool vector = false;                 // of an active message: the header handler answers with a vector
  bool submitting = false;             // the call that began it has not returned
  bool withdrawn = false;              // the call found memory that is not there before anything was sent

  // Moved and called when the data is no longer needed; 0 and null: there is none, or it was done already.
  std::uint64_t free_counter = 0;
  HandlerCall free_handler;
  bool counts_as_send = false;  // for LAPI_Msgpoll and the statistics: not counted yet
};

static_assert(sizeof(wire::PutBody) == sizeof(wire::ActiveMessageBody));
static_assert(sizeof(wire::CollectiveBody) <= sizeof(wire::PutBody) &&
              sizeof(wire::GetDataBody) <= sizeof(wire::PutBody) &&
              sizeof(wire::GetLayoutBody) <= sizeof(wire::PutBody));

}  // namespace openlapi
