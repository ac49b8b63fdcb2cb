// Processes of one machine that see each other as LAM's do: what LAM's daemons and its MPI layer are for the module
// `lapi`, without LAM. For tests and benchmarks.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "api/rpi/include/mpisys.h"

namespace openlapi::rpi {

// Forks them and runs `work` in each; lam_procs has all of them, by rank. Returns what has gone wrong: what a process
// has thrown, and each that has not ended after `most_seconds`, and is killed then. Empty: nothing.
std::string run_lam_job(int processes, unsigned most_seconds, const std::function<void(int rank)>& work);

// In a process: the job's processes, by rank.
inline std::span<_proc* const> job_processes() { return {lam_procs, static_cast<std::size_t>(lam_num_procs)}; }

}  // namespace openlapi::rpi
