// Which node of a job reports its fences to which other, so that nobody hears of more than a few.
//
// The tree follows that of the daemons, along which messages go: a node reports to the nearest one above it that has
// tasks of the job; where there is none, one of those below a daemon stands for it.
#pragma once

#include <cstdint>
#include <vector>

#include "control/job/messages/job_message.h"

namespace openlapi::jobs {

// Sets JobNode::reports_to. `parents`: of the daemons, by node; a node without one has itself.
void link_nodes(std::vector<JobNode>& nodes, const std::vector<std::uint32_t>& parents);

// Whether each node reports to a node of the job, and thus, directly or over others, to the one that reports to itself.
bool is_fence_tree(const std::vector<JobNode>& nodes);

// For each of `nodes` the place there of the one that it reports to; kNoPlace: it is none of them.
inline constexpr std::size_t kNoPlace = ~std::size_t{0};
std::vector<std::size_t> places_above(const std::vector<JobNode>& nodes);

}  // namespace openlapi::jobs
