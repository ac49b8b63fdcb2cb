// The tasks of one job on one node: starts them, serves them as their PMIx server, and does what lapirun says. Its
// owner runs the loop and carries the messages (node_service.h, local_link.h).
//
// One thread runs everything; only libpmix has another, which posts into the mailbox.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "control/base/deadline.h"
#include "control/base/poll_set.h"
#include "control/job/messages/job_message.h"
#include "control/job/node/first_meeting.h"
#include "control/job/node/job_cleanup.h"
#include "control/job/node/machine_topology.h"
#include "control/job/node/signal_source.h"
#include "control/job/node/task_environment.h"
#include "control/job/node/task_launch.h"
#include "control/job/node/task_output.h"
#include "control/job/node/task_pages.h"
#include "control/job/node/task_process.h"
#include "control/job/pmix/mailbox.h"
#include "control/job/pmix/pmix_server.h"

namespace openlapi::jobs {

// A job as one of its nodes has to start it.
struct NodeJob {
  StartTasks tasks{};
  std::size_t here = 0;     // which of its nodes this is; it has tasks
  std::string place{};      // " on n1 (host)", behind what is said of a task; empty: there is but one place
  std::string partition{};  // not empty: a standalone job (MP_PARTITION), which has no PMIx server
  int input = -1;           // task 0's standard input; -1: it comes as TaskInput
  std::function<void(const char*)> report_phase = [](const char*) {};  // called when a phase of the start is done

  const JobNode& this_node() const { return tasks.nodes[here]; }
};

class NodeTasks {
 public:
  using Clock = std::chrono::steady_clock;
  using Tell = std::function<void(JobBody body)>;

  // `job` and `signals` need not be complete before start(). `peers`: the job's other nodes. `tell`: tells lapirun.
  NodeTasks(const NodeJob& job, const SignalSource& signals, PmixPeers* peers, Tell tell);

  // Tells TasksStarted or TasksRefused. Call it once, from the main thread, before the process has a second one.
  void start();

  // What lapirun says.
  void take(JobBody body);

  void watch(PollSet& poll_set);
  Deadline deadline() const;
  // After each round of the loop: deals with what has ended, and with what is due.
  void check();

  // For when lapirun has gone: the tasks' input ends, and what they have written waits for nobody any more.
  void close_input();
  void drop_output();

  // SIGTERM, and later SIGKILL for tasks that have not ended.
  void end_tasks();
  // Ends the job at once; nothing of it is left here.
  void end_job();

  bool are_running() const { return running_ > 0; }
  const PmixServer& server() const { return server_; }

 private:
  // node_start.cc
  // False: `refused` says why.
  bool prepare(TasksRefused& refused);
  bool prepare_node(std::string& error);
  bool start_server(std::string& error);
  bool task_variables(std::uint32_t task, std::vector<std::string>& variables, std::string& error) const;
  void plan_binding();
  bool start_task(std::size_t place, std::string& error);
  bool open_input(std::string& error);

  // node_tasks.cc
  void take_signal(int signal);
  void take_ended(TaskProcess& task);
  void read_letters();
  void tell_ended(const TaskProcess& task);
  void take_room(std::uint32_t bytes, bool errors);
  void take_input(MessageBytes bytes);
  void write_input();
  void tell_standings();
  void send_to_running(int signal);
  void name_missing_tasks();
  void end_deaf_tasks();
  void reap_all();
  void check_finished();
  std::string task_text(std::uint32_t task) const { return "task " + std::to_string(task) + job_.place; }

  const NodeJob& job_;
  const SignalSource& signals_;
  PmixPeers* const peers_;
  const Tell tell_;

  JobCleanup cleanup_;
  TaskPages pages_;
  Mailbox mailbox_;
  MachineTopology topology_;
  PmixServer server_;
  FirstMeeting meeting_;
  TaskOutputReader output_;
  OpenFileLimit open_files_;
  TaskEnvironment environment_;
  std::vector<std::string> arguments_;
  std::string program_;  // what is executed
  std::vector<TaskBinding> bindings_;
  std::vector<TaskProcess> tasks_;
  FileDescriptor input_for_task_;  // task 0's end, until it has it
  FileDescriptor input_;
  MessageBytes input_waiting_;

  std::size_t running_ = 0;
  bool finished_ = false;  // lapirun knows
  bool ending_ = false;
  Deadline kill_at_;
  std::set<std::uint32_t> in_pmix_{};     // tasks that are connected to the server
  std::set<std::uint32_t> told_ended_{};  // tasks of whose end lapirun knows
  std::vector<TaskAborted> aborts_{};     // that lapirun is to be told of
  bool told_abort_ = false;
  std::set<std::uint32_t> deaf_{};        // tasks that were killed since they did not take first_signal_
  int first_signal_ = 0;                  // the first that was to end the tasks
  Deadline look_for_deaf_at_;             // when to look for tasks that have not taken it
  Deadline give_up_at_;                // when to stop reading what no task writes any more
  std::uint64_t read_before_ = 0;
};

}  // namespace openlapi::jobs
