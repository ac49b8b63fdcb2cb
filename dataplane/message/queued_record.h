#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/message/kept_for_peer.h"

namespace openlapi {

// A copied record that waits because there was no room.
struct QueuedRecord {
  std::unique_ptr<std::byte[]> bytes;
  std::uint32_t length = 0;
  bool user_copy = false;  // counts against EndpointConfig::copy_buffers
  KeptShare kept{};        // of an answer
};

}  // namespace openlapi
