// The World over openlapi's transports: shared memory on a node, UDP or adapters in user space between nodes.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "api/rpi/lapi/polled_world.h"
#include "api/wiring/joined_job.h"
#include "dataplane/base/clock.h"

namespace openlapi::rpi {

// Opens paths to the job's processes: all of them call it. `processes`: by Peer; one is lost that does not answer for
// `timeout`. Null: `reason` says why.
std::unique_ptr<PolledWorld> open_endpoint_world(JoinedJob& job, std::span<const WorldProcess> processes,
                                                 Nanoseconds timeout, WorldListener& listener, std::string& reason);

}  // namespace openlapi::rpi
