// The World over openlapi's transports: shared memory on a node, UDP or adapters in user space between nodes.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "api/rpi/lapi/polled_world.h"
#include "api/wiring/joined_job.h"
#include "dataplane/base/clock.h"

namespace openlapi::rpi {

// When a process is lost that says nothing.
struct LostAfter {
  Nanoseconds timeout;  // without an answer that it owes
  // Seconds in which its host, on another node, has not answered either. 0: it is lost by the time-out only.
  unsigned silence = 0;
};

// Opens paths to the job's processes: all of them call it. `processes`: by Peer. Null: `reason` says why.
std::unique_ptr<PolledWorld> open_endpoint_world(JoinedJob& job, std::span<const WorldProcess> processes,
                                                 const LostAfter& lost_after, WorldListener& listener,
                                                 std::string& reason);

}  // namespace openlapi::rpi
