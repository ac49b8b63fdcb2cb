// Data that this processor reads from a peer's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/layout/layout_cursor.h"
#include "dataplane/message/kept_for_peer.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

// A large message or get whose data is read from the peer's memory, piece by piece.
struct AttachRead {
  PeerIndex peer;
  bool is_get;
  std::uint32_t id;  // of the incoming message, or of the request
  std::uint64_t source_address;
  std::uint64_t target_counter;  // get: the target's counter
  // Set if the data is not contiguous: a get's source; a message is first described by so many bytes at source_address.
  std::uint32_t layout_length = 0;
  std::unique_ptr<LayoutCursor> source{};
  std::vector<std::byte> description{};  // what `source` refers to
  KeptShare kept{};                      // of a message's description
};

}  // namespace openlapi
