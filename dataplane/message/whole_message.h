// Active messages for a header handler: in one piece, or kept because the handler has dropped them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/layout/layout_cursor.h"
#include "dataplane/message/data_elsewhere.h"
#include "dataplane/message/kept_for_peer.h"
#include "dataplane/transport/packet.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

// An active message whose header handler said "drop", or one to oneself that waits for its turn. The data of a long one
// is in Peer::incoming, in a buffer of ours, or still in the source's memory.
struct WaitingMessage {
  PeerIndex source;
  wire::ActiveMessageBody body;
  std::vector<std::byte> user_header;
  std::vector<std::byte> data{};
  bool is_long = false;
  std::uint32_t message_id = 0;
  std::uint64_t length;
  std::uint64_t number;  // of the short one, as in IncomingMessage; of one to oneself as in Fences
  bool vector = false;
  bool in_atoms = false;
  DataElsewhere elsewhere{};  // of the long one, whose data is read when it is accepted; address 0: it comes itself
  KeptShare kept{};           // of a peer's
};

// An active message in one piece, wherever it lies.
struct WholeMessage {
  PeerIndex source;
  wire::ActiveMessageBody body;
  void* user_header;
  std::uint32_t user_header_length;
  void* data;
  std::uint64_t length;
  bool one_packet;                        // the header handler gets to see `data`
  std::uint64_t number = 0;               // as in IncomingMessage; of one to oneself 0
  bool vector = false;                    // as in ArrivedMessage
  bool in_atoms = false;                  // the same
  LayoutCursor* source_layout = nullptr;  // of one to oneself whose data is not at `data`
};

}  // namespace openlapi
