// The job's PMIx server, by libpmix: tells each task who it is and moves what tasks put for each other. One node and
// one job, so an exchange never leaves this process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "control/launch/mailbox.h"

namespace openlapi {

struct PmixJob {
  std::string name_space{};  // hard to guess: who knows it and the port can take part in the job
  std::string directory{};   // for what libpmix may want to write
  std::string host_name{};
  std::uint32_t tasks = 0;
  std::uint64_t cookie = 0;
};

class PmixServer {
 public:
  // Runs in the loop's thread: task `rank` wants the job to end.
  using OnAbort = std::function<void(std::uint32_t rank, int status, const std::string& message)>;
  // Runs in the loop's thread: task `rank` has connected, or has said good-bye. Posted before the task's own call
  // returns, so that the letter is there when the task has ended.
  using OnConnection = std::function<void(std::uint32_t rank, bool connected)>;

  // At most one server per process; libpmix is never shut down again: PMIx_server_finalize of 4.2.2 may not return
  // after a client died in a fence, and whatever it would free ends with the process.
  bool start(const PmixJob& job, void* hwloc_topology, Mailbox& mailbox, OnAbort on_abort, OnConnection on_connection,
             std::string& error);

  // Stops serving, for good: libpmix's thread handles nothing more. To be called before several tasks are ended at
  // once: libpmix 4.2 corrupts its memory when clients that wait in the same fence die together (openpmix issue 1122).
  void freeze();

  // The variables (NAME=value) with which task `rank` finds the server.
  bool task_variables(std::uint32_t rank, std::vector<std::string>& variables, std::string& error) const;

 private:
  PmixJob job_{};
  bool frozen_ = false;
};

}  // namespace openlapi
