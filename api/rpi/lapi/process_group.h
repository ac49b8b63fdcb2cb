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

// Of what lsr_init was given: this MPI_COMM_WORLD by rank and, before it, those who have started it. The first process
// of the new world is the group's first, and tells the others who is in the group. False: `error` says why.
bool meet_at_start(std::span<const _gps> processes, const _gps& own, ProcessGroup& group, std::string& error);

// Of what lsra_addprocs was given: an MPI_COMM_WORLD that this process has started with others.
bool meet_started(std::span<const _gps> started, const _gps& own, ProcessGroup& group, std::string& error);

bool is_same(const _gps& left, const _gps& right);

}  // namespace openlapi::rpi
