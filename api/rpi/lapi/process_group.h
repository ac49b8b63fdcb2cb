// Processes of LAM that meet: those that start together, and those that come to others while these run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/rpi/include/rpisys.h"
#include "control/client/bootstrap.h"

namespace openlapi::rpi {

struct ProcessGroup {
  std::vector<_gps> members{};  // by rank in the bootstrap
  std::shared_ptr<Bootstrap> bootstrap{};
};

// Of what lsr_init was given: this MPI_COMM_WORLD and, where it was spawned, those who have started it. LAM does not
// say which are which. A process that starts others knows the new ones, but not who else takes part; so the first of
// the new ones, by their places, leads the group: those that have started it say who was started, and it tells
// everybody who takes part. False: `error` says why.
bool meet_at_start(std::span<const _gps> processes, const _gps& own, bool was_spawned, ProcessGroup& group,
                   std::string& error);

// Of what lsra_addprocs was given, one or more: processes that this one has started, perhaps with others; or those with
// whom this one and others get an intercommunicator: they are told of this side, which this process is not told of. So
// each side's first, by its place, answers the other side. `has_new`: this process does not know all of them; if none
// of it does, the group remains empty.
bool meet_others(std::span<const _gps> others, bool has_new, const _gps& own, ProcessGroup& group, std::string& error);

bool is_same(const _gps& left, const _gps& right);

}  // namespace openlapi::rpi
