// The transports of an endpoint, sorted by what they promise.
#pragma once

#include <span>
#include <vector>

#include "dataplane/base/check.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

// A reliable transport with its capabilities, asked for once.
struct DirectTransport {
  Transport* transport;
  TransportCapabilities has;
};

struct Transports {
  explicit Transports(std::span<Transport* const> all) {
    for (Transport* transport : all) {
      const TransportCapabilities has = transport->capabilities();
      if (transport->limits().reliable) {
        OPENLAPI_CHECK(has.peer_liveness != nullptr && has.reliable_delivery != nullptr && has.peer_eras != nullptr);
        direct.push_back({transport, has});
      } else {
        unreliable.push_back(transport);
      }
      if (has.bulk_memory != nullptr) bulk_memories.push_back(has.bulk_memory);
      if (has.one_sided_memory != nullptr) one_sided_memories.push_back(has.one_sided_memory);
    }
  }

  std::vector<DirectTransport> direct;  // each record goes over them as a packet
  std::vector<Transport*> unreliable;   // used through reliable channels
  std::vector<BulkMemory*> bulk_memories;
  std::vector<OneSidedMemory*> one_sided_memories;
};

}  // namespace openlapi
