// A node's end of a job over a universe, in a process of its own (lamtasks): carries messages between the node's tasks
// and the rest of the job, over the connection to this node's daemon. It ends when this connection does, and the tasks
// with it, unless the user wants them to go on when a daemon is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/daemon/messages/connection.h"
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

  // Returns when the connection has ended, and nothing is left of the tasks. Call once, from the main thread.
  void run();

 private:
  void wait_once();
  void serve_connection();
  void take(const daemon::JobMessage& message);
  void take_signals();
  void live_on();
  void send(const std::vector<std::uint32_t>& to, const JobBody& body);

  NodeJob job_;
  daemon::Connection connection_;
  const std::string session_;
  bool connected_ = true;
  bool over_ = false;  // somebody has ended the job, or this process: it was not the daemon that was lost
  SignalSource signals_;
  NodeTasks tasks_;
  NodeExchange exchange_;
};

}  // namespace openlapi::jobs
