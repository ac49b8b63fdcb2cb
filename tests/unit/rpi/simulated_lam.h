// LAM's messages between processes, for tests of what uses them: the processes are children of the test, and what they
// have sent lies in memory that they share.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "api/rpi/include/rpisys.h"

namespace openlapi::rpi {

// Before anything is sent; what was sent before is gone.
void reset_lam();

// Places of `count` processes on nodes of `per_node` each, by MPI's rank.
std::vector<_gps> lam_places(int count, int per_node);

// Runs each of them in a process of its own, all at once. Returns how many have returned true.
int run_processes(std::span<const std::function<bool()>> processes);

}  // namespace openlapi::rpi
