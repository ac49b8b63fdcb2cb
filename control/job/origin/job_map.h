// Which tasks run on which nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/daemon/universe/universe_table.h"
#include "control/job/messages/job_message.h"
#include "control/job/options/job_options.h"

namespace openlapi::jobs {

// As LAM's mpirun has it: words for nodes offer each node once, words for processors each processor once; without
// words, and with C, there are all processors. -n goes round what is offered until it has so many; without it one task
// runs on each. With -N so many run on each node before the next follows. N, C and no words leave out nodes that are
// not to be scheduled on, and lost ones. Throws std::invalid_argument.
std::vector<JobNode> map_tasks(const JobPlacement& placement, const std::vector<daemon::UniverseNode>& nodes,
                               std::uint32_t here);

}  // namespace openlapi::jobs
