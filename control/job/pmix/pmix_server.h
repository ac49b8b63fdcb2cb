// The PMIx server of a job's tasks on this node, by libpmix: tells each task who it is and moves what tasks put for
// each other. What has to come from other nodes is asked of PmixPeers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "control/base/adapter_event.h"
#include "control/job/pmix/mailbox.h"

namespace openlapi {

using PmixBytes = std::vector<std::uint8_t>;

struct PmixNode {
  std::string host_name{};             // no two nodes have the same
  std::vector<std::uint32_t> tasks{};  // ascending
};

struct PmixJob {
  std::string name_space{};  // hard to guess: whoever knows it and the port can take part in the job
  std::string directory{};   // for what libpmix may want to write
  std::string memory_directory{};  // for files that tasks share, which go with the job; empty: where they go otherwise
  std::vector<PmixNode> nodes{};
  std::size_t here = 0;  // which of them is this one
  std::uint64_t cookie = 0;
  std::uint64_t packet_key = 0;  // see job_keys.h

  const PmixNode& this_node() const { return nodes[here]; }
  std::uint32_t tasks() const;
};

// The job's other nodes. Called in the loop's thread; `done` is called in it too, at any time, once.
class PmixPeers {
 public:
  virtual ~PmixPeers() = default;
  // All tasks here that take part (`tasks`; empty: all of the job) have come to a fence, and have put `data`. `done`:
  // with what those of all nodes have put, when all have come.
  virtual void fence(const std::vector<std::uint32_t>& tasks, PmixBytes data, std::function<void(PmixBytes)> done) = 0;
  // What a task here says of its adapters; no more than AdapterRelay lets through.
  virtual void spread(std::uint32_t task, const AdapterEvent& event) = 0;
  // What a task of another node has put; with the status that libpmix gave there.
  virtual void fetch(std::uint32_t task, std::function<void(int status, PmixBytes)> done) = 0;
};

class PmixServer {
 public:
  // Runs in the loop's thread: task `rank` wants the job to end.
  using OnAbort = std::function<void(std::uint32_t rank, int status, const std::string& message)>;
  // Runs in the loop's thread: task `rank` has connected, or has said good-bye. Posted before the task's own call
  // returns, so that the letter is there when the task has ended.
  using OnConnection = std::function<void(std::uint32_t rank, bool connected)>;
  struct Listener {
    OnAbort abort;
    OnConnection connection;
    std::function<void()> fence;  // runs in the loop's thread: all of a fence's tasks that are here have come to it
  };

  // At most one server per process; libpmix is never shut down again: PMIx_server_finalize of 4.2.2 may not return
  // after a client died in a fence, and whatever it would free ends with the process.
  // Without `peers` there is one node.
  bool start(const PmixJob& job, void* hwloc_topology, Mailbox& mailbox, PmixPeers* peers, Listener listener,
             std::string& error);

  // What a task of this node has put, as soon as it has; `done` is called in the loop's thread.
  void fetch_here(std::uint32_t task, std::function<void(int status, PmixBytes)> done) const;

  // What a task of another node says of its adapters, to all tasks here that want to hear it.
  void deliver(std::uint32_t task, const AdapterEvent& event) const;

  // Stops serving, for good: libpmix's thread handles nothing more. To be called before several tasks are ended at
  // once: libpmix 4.2 corrupts its memory when clients that wait in the same fence die together (openpmix issue 1122).
  void freeze();

  // The variables (NAME=value) with which task `rank` finds the server.
  bool task_variables(std::uint32_t rank, std::vector<std::string>& variables, std::string& error) const;

  // What a task gets unless its user has set them: names and values.
  std::vector<std::pair<std::string, std::string>> default_variables() const;

 private:
  PmixJob job_{};
  bool started_ = false;
  bool frozen_ = false;
};

}  // namespace openlapi
