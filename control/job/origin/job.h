// A running job as lapirun sees it: what its tasks print, the signals for them, and how it ends. The tasks are with the
// nodes (node_tasks.h), which a NodeLink reaches.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/job/messages/job_message.h"
#include "control/job/node/signal_source.h"
#include "control/job/node/task_environment.h"
#include "control/job/node/task_standing.h"
#include "control/job/options/job_options.h"
#include "control/job/origin/node_link.h"
#include "control/job/origin/output_forwarder.h"

namespace openlapi::jobs {

class Job final : private NodeLink::Listener {
 public:
  // `nodes`: where the tasks run. `signals` and `link` live longer than this.
  Job(JobOptions options, std::vector<JobNode> nodes, SignalSource& signals, NodeLink& link);

  // Starts the tasks, waits for all to end, cleans up. lapirun's exit status. Call once, from the main thread.
  // `directory`: where the tasks start; empty: where they are.
  int run(const TaskEnvironment& environment, const std::string& directory);

 private:
  using Clock = std::chrono::steady_clock;
  // Of a task at the PMIx server.
  enum class Attendance : std::uint8_t { kNeverCame, kConnected, kLeft };

  struct Node {
    std::size_t output_taken[2] = {0, 0};  // output, errors: and not acknowledged
    bool started = false;
    bool finished = false;
    bool has_told_standings = false;
  };
  struct Task {
    std::size_t node = 0;
    Attendance attendance = Attendance::kNeverCame;
    bool ended = false;
  };

  // job.cc
  bool start(const TaskEnvironment& environment, const std::string& directory, std::string& error);
  void wait_once(int milliseconds_at_most);
  Deadline deadline() const { return earliest({timeout_at_, tell_standings_at_, link_.deadline()}); }
  void check_deadlines();
  void check_output();
  void read_input();
  void acknowledge_output();
  void flush_output();
  void leave();
  void take(std::size_t node, JobBody body) override;
  void take_cut_off(std::size_t node) override;
  void take_output(std::size_t node, const TaskOutput& output);
  void take_started(std::size_t node);
  void note(const std::string& text) override { output_.note(program_name(options_.launcher) + (": " + text)); }
  void report_phase(const char* what) override;
  bool all(bool Node::*state) const;

  // job_end.cc
  void take_ended(const TaskEnded& ended);
  void count_out(Task& task);
  void take_attendance(const TaskAttended& attended);
  void check_attendance();
  void take_abort(const TaskAborted& aborted);
  void take_timeout();
  void take_standings(std::size_t node, const TaskStandings& standings);
  // What the nodes have answered, and of the others that they have not; then the tasks end.
  void tell_standings();
  void take_signals();
  void take_ending_signal(int signal);
  void end_tasks();
  void break_off(int status, const std::string& why) override;
  void record_failure(int status);
  std::string task_text(std::uint32_t task, std::uint32_t process = 0) const;
  // Tasks of one job: none goes on without the others.
  bool belong_together() const { return options_.launcher == Launcher::kLapirun; }

  const JobOptions options_;
  const std::vector<JobNode> map_;
  SignalSource& signals_;
  NodeLink& link_;
  OutputForwarder output_;
  std::vector<Node> nodes_;
  std::vector<Task> tasks_;
  std::optional<std::uint32_t> absent_task_{};  // the first that ended without ever having connected
  std::size_t running_;
  bool input_wanted_ = false;
  bool reader_told_[2] = {false, false};
  bool broken_off_ = false;
  bool cut_off_ = false;          // some tasks go on by themselves
  bool stop_reading_ = false;     // what is left of the output: the user does not want to wait
  std::optional<int> failure_{};  // the exit status, once something has failed
  int ending_signals_ = 0;        // SIGINT and the like, that lapirun got
  int last_ending_signal_ = 0;
  bool ending_ = false;  // the tasks were told to end
  Deadline timeout_at_{};
  Deadline tell_standings_at_{};  // --timeout is over, and not all nodes have answered
  std::vector<TaskStanding> standings_{};
  Clock::time_point phase_start_ = Clock::now();
};

}  // namespace openlapi::jobs
