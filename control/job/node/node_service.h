// A node's end of a job over a universe, in a process of its own (lamtasks): carries messages between the node's tasks
// and the rest of the job, over the connection to this node's daemon. When that is lost, it goes on over a connection
// to lapirun itself; when lapirun is lost it ends, and the tasks with it, unless the user wants them to go on when they
// are cut off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/base/deadline.h"
#include "control/daemon/messages/connection.h"
#include "control/daemon/session/session_folder.h"
#include "control/job/messages/counted_messages.h"
#include "control/job/messages/job_message.h"
#include "control/job/node/node_exchange.h"
#include "control/job/node/node_tasks.h"
#include "control/job/node/signal_source.h"

namespace openlapi::jobs {

// Waits for the first message, which says what to start here. Nothing: there will be no job.
std::optional<NodeJob> await_job(daemon::Connection& connection);

class NodeService {
 public:
  // `session`: the path of the daemon's folder.
  NodeService(NodeJob job, daemon::Connection connection, std::string session);

  // Returns when lapirun is not reached any more, and nothing is left of the tasks. Call once, from the main thread.
  void run();

 private:
  enum class Way : std::uint8_t {
    kDaemon,
    kConnects,  // with lapirun
    kGreets,    // lapirun has not answered yet
    kLapirun,
    kNone,
  };

  // node_service.cc
  void wait_once();
  void serve_connection();
  void take(const daemon::JobMessage& message);
  void take_from_lapirun(JobBody body, std::size_t bytes);
  void take_from_helper(JobBody body, std::uint32_t from);
  void take_signals();
  void live_on();
  void send(const std::vector<std::uint32_t>& to, const JobBody& body);
  void send_bytes(const std::vector<std::uint32_t>& to, MessageBytes bytes);

  // node_return.cc
  void lose_way();
  void make_folder();
  void try_to_return();
  void finish_connect();
  void go_on_with_return();
  void take_returned(const Returned& message);
  void go_through_lapirun();

  NodeJob job_;
  daemon::Connection connection_;
  const std::string session_;
  Way way_ = Way::kDaemon;
  bool over_ = false;  // somebody has ended the job, or this process: it was not the daemon that was lost
  bool aborted_ = false;  // by a task
  bool has_returned_ = false;
  bool goes_through_lapirun_ = false;  // what is for other helpers
  CountedMessages counted_{};
  Deadline return_by_{};
  Deadline try_again_at_{};
  std::optional<daemon::SessionFolder> folder_{};  // beside the lost daemon's: tells tkill of this process
  SignalSource signals_;
  NodeTasks tasks_;
  NodeExchange exchange_;
};

}  // namespace openlapi::jobs
