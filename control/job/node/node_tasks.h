// The tasks of one job on one node: starts them, serves them as their PMIx server, and does what lapirun says. The
// process that has them (lamtasks) belongs to one job and ends when its connection to lamd does, and its tasks with it,
// unless the user wants them to go on when a daemon is lost.
//
// One thread runs everything; only libpmix has another, which posts into the mailbox.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/daemon/messages/connection.h"
#include "control/job/messages/job_message.h"
#include "control/job/node/node_exchange.h"
#include "control/job/node/task_output.h"
#include "control/job/node/first_meeting.h"
#include "control/job/node/machine_topology.h"
#include "control/job/pmix/mailbox.h"
#include "control/job/pmix/pmix_server.h"
#include "control/job/node/session_guard.h"
#include "control/job/node/signal_source.h"
#include "control/job/node/task_launch.h"
#include "control/job/node/task_pages.h"
#include "control/job/node/task_process.h"

namespace openlapi::jobs {

class NodeTasks {
 public:
  // `session`: the path of the daemon's folder.
  NodeTasks(daemon::Connection connection, std::string session);

  // Returns when the connection has ended, and nothing is left of the tasks. Call once, from the main thread.
  void run();

 private:
  using Clock = std::chrono::steady_clock;

  // node_start.cc
  bool await_start();
  void start();
  bool prepare(std::string& error);
  bool start_server(std::string& error);
  void plan_binding();
  bool find_program(std::string& error);
  bool start_task(std::size_t place, std::string& error);
  bool open_input(std::string& error);

  // node_tasks.cc
  void wait_once();
  void serve_connection();
  void take(const daemon::JobMessage& message);
  void take_signal(int signal);
  void take_ended(TaskProcess& task);
  void take_input(MessageBytes bytes);
  void write_input();
  void tell_standings();
  void end_tasks();
  void live_on();
  void send_to_running(int signal);
  void name_missing_tasks();
  void end_deaf_tasks();
  void reap_all();
  void check_finished();
  int milliseconds_to_wait() const;
  void send(const std::vector<std::uint32_t>& to, const JobBody& body);
  void tell(const JobBody& body) { send({}, body); }
  const JobNode& own() const { return job_.nodes[here_]; }

  daemon::Connection connection_;
  bool connected_ = true;
  bool over_ = false;  // somebody has ended the job, or this process: it was not the daemon that was lost
  const std::string session_;
  StartTasks job_{};
  std::size_t here_ = 0;  // which of the job's nodes this is

  SignalSource signals_;
  SessionGuard guard_;
  TaskPages pages_;
  Mailbox mailbox_;
  MachineTopology topology_;
  PmixServer server_;
  NodeExchange exchange_;
  FirstMeeting meeting_;
  TaskOutputReader output_;
  OpenFileLimit open_files_;
  std::vector<std::string> arguments_;
  std::string program_;
  std::vector<TaskBinding> bindings_;
  std::vector<TaskProcess> tasks_;
  FileDescriptor input_for_task_;  // task 0's end, until it has it
  FileDescriptor input_;
  MessageBytes input_waiting_;

  int refused_status_;
  std::size_t running_ = 0;
  bool finished_ = false;  // lapirun knows
  bool ending_ = false;
  std::optional<Clock::time_point> kill_at_;
  std::set<std::uint32_t> in_pmix_{};                  // tasks that are connected to the server
  std::set<std::uint32_t> deaf_{};                     // tasks that were killed as they did not take that:
  int first_signal_ = 0;                               // that was to end the tasks
  std::optional<Clock::time_point> look_for_deaf_at_;  // after it: tasks that have not taken it
  std::optional<Clock::time_point> give_up_at_;        // reading what no task writes any more
  std::uint64_t read_before_ = 0;
};

}  // namespace openlapi::jobs
