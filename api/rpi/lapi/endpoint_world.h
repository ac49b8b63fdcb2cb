// The World over openlapi's transports: shared memory on a node, UDP or adapters in user space between nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "api/rpi/lapi/world.h"
#include "api/wiring/joined_job.h"

namespace openlapi::rpi {

// What a Peer is outside the World.
struct WorldProcess {
  std::uint32_t rank = 0;  // in the bootstrap
  int pid = 0;             // of this node; 0: it runs elsewhere
};

// Opens paths to the job's processes: all of them call it. `processes`: by Peer. Null: `reason` says why.
std::unique_ptr<World> open_endpoint_world(JoinedJob& job, std::span<const WorldProcess> processes,
                                           WorldListener& listener, std::string& reason);

}  // namespace openlapi::rpi
