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

// A call of MPI, as others must not be under way meanwhile: LAM does so with MPI_THREAD_SERIALIZED, and after the first
// of these the process counts as one that asked for that.
class LockedCall {
 public:
  LockedCall();
  ~LockedCall();
  LockedCall(const LockedCall&) = delete;
  LockedCall& operator=(const LockedCall&) = delete;
};

// In a process between checkpoint and continue, in all of them: saves the whole process. False: it goes on. True: it is
// the one that was saved, all processes of the job have been killed since (kill_process()), and it has no files and
// sockets any more but those of LAM's messages. Like all others it has another process number.
bool save_process();
// Once it is saved, as if its machine had failed, when all other processes of the job have called it, too.
[[noreturn]] void kill_process();

// In a process: the job's processes, by rank.
inline std::span<_proc* const> job_processes() { return {lam_procs, static_cast<std::size_t>(lam_num_procs)}; }

}  // namespace openlapi::rpi
