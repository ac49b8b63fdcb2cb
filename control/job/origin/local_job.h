// A running job: its tasks, their output, the signals for them, and how it ends.
//
// One thread runs everything; only libpmix has another, which posts into the mailbox.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/job/node/binding_plan.h"
#include "control/job/node/first_meeting.h"
#include "control/job/node/machine_topology.h"
#include "control/job/node/session_guard.h"
#include "control/job/node/signal_source.h"
#include "control/job/node/task_environment.h"
#include "control/job/node/task_launch.h"
#include "control/job/node/task_pages.h"
#include "control/job/node/task_process.h"
#include "control/job/options/job_options.h"
#include "control/job/origin/output_forwarder.h"
#include "control/job/origin/standard_input.h"
#include "control/job/pmix/mailbox.h"
#include "control/job/pmix/pmix_server.h"

namespace openlapi {

class LocalJob {
 public:
  // `program`: what to execute for options.command[0].
  LocalJob(JobOptions options, std::string program, TaskEnvironment environment);

  // Starts the tasks, waits for all to end, cleans up. lapirun's exit status. Call once, from the main thread.
  int run();

 private:
  // Of a task at the PMIx server.
  enum class Attendance : std::uint8_t { kNeverCame, kConnected, kLeft };

  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;

  // job_start.cc
  bool start();
  bool prepare(std::string& error);
  bool start_server(std::string& error);
  bool make_partition(std::string& error);
  bool task_variables(std::uint32_t rank, std::vector<std::string>& variables, std::string& error) const;
  void plan_binding(const std::vector<Core>& cores);
  bool start_task(std::uint32_t rank, std::string& error);
  void report_phase(const char* what);

  // job.cc
  void wait_for_tasks();
  void flush_output();
  void wait_once(int milliseconds_at_most);
  int milliseconds_to_deadline() const;
  void check_output();
  void take_signals();
  void take_signal(int signal);
  void take_ending_signal(int signal);
  void end_deaf_tasks();
  void take_ended(TaskProcess& task);
  void take_success(const TaskProcess& task);
  void take_connection(std::uint32_t rank, bool connected);
  void check_attendance();
  void take_abort(std::uint32_t rank, int status, const std::string& message);
  void check_deadlines();
  void take_timeout();
  void end_tasks();
  void send_to_running(int signal);
  void reap_all();
  void record_failure(int status);

  const JobOptions options_;
  const std::string program_;
  TaskEnvironment environment_;
  std::string partition_;  // --standalone: MP_PARTITION

  SignalSource signals_;
  SessionGuard guard_;
  TaskPages pages_;
  Mailbox mailbox_;
  MachineTopology topology_;
  PmixServer server_;
  StandardInput input_;
  OutputForwarder output_;
  std::vector<TaskBinding> bindings_;
  std::vector<TaskProcess> tasks_;
  std::vector<Attendance> attendance_;  // by task; empty without a PMIx server
  FirstMeeting meeting_;
  std::optional<std::uint32_t> absent_task_;  // the first that ended without ever having connected
  OpenFileLimit open_files_;

  std::size_t running_ = 0;
  std::optional<int> failure_;  // the exit status, once something has failed
  int ending_signals_ = 0;      // SIGINT and the like, that lapirun got
  int last_ending_signal_ = 0;
  bool ending_ = false;  // the tasks were told to end
  std::optional<TimePoint> timeout_at_;
  std::optional<TimePoint> kill_at_;
  std::optional<TimePoint> look_for_deaf_at_;  // after the first ending signal
  TimePoint phase_start_ = Clock::now();
};

}  // namespace openlapi
