// The World over openlapi's transports: shared memory on a node, UDP or adapters in user space between nodes.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "api/rpi/lapi/polled_world.h"
#include "api/wiring/joined_job.h"

namespace openlapi::rpi {

// Opens paths to the job's processes: all of them call it. `processes`: by Peer. Null: `reason` says why.
std::unique_ptr<PolledWorld> open_endpoint_world(JoinedJob& job, std::span<const WorldProcess> processes,
                                                 WorldListener& listener, std::string& reason);

}  // namespace openlapi::rpi
