// lapirun's end of a job over a universe: what Job (job.h) is on one machine. The tasks are with the
// helpers of their nodes (node_tasks.h); all that they say comes over the connection to this node's daemon.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/daemon/messages/connection.h"
#include "control/job/messages/job_message.h"
#include "control/job/node/signal_source.h"
#include "control/job/node/task_environment.h"
#include "control/job/node/task_standing.h"
#include "control/job/options/job_options.h"
#include "control/job/origin/output_forwarder.h"

namespace openlapi::jobs {

class UniverseJob {
 public:
  UniverseJob(JobOptions options, std::vector<JobNode> nodes, bool shares_machine, daemon::Connection connection);

  // Starts the tasks and waits for the job's end. lapirun's exit status. Call once.
  int run(const TaskEnvironment& environment, const std::string& directory);

 private:
  using Clock = std::chrono::steady_clock;
  enum class Attendance : std::uint8_t { kNeverCame, kConnected, kLeft };

  struct Node {
    std::size_t output_taken = 0;  // and not acknowledged
    bool started = false;
    bool finished = false;
    bool gone = false;
    bool has_told_standings = false;
    bool owes_answer = false;  // to AskPresence
  };
  struct Task {
    std::size_t node = 0;
    Attendance attendance = Attendance::kNeverCame;
    bool ended = false;
  };

  bool start(const TaskEnvironment& environment, const std::string& directory);
  void wait_once(int milliseconds_at_most);
  int milliseconds_to_deadline() const;
  void check_output();
  void serve_connection();
  void check_deadlines();
  void name_late_nodes();
  void flush_output();
  void leave();

  void take(const daemon::JobMessage& message);
  void take_body(std::size_t node, JobBody body);
  void take_end_of_node(std::size_t node, const std::string& why);
  void take_cut_off(std::size_t node, const std::string& why);
  void take_output(std::size_t node, const TaskOutput& output);
  void take_started(std::size_t node);
  void take_ended(const TaskEnded& ended);
  void take_attendance(const TaskAttended& attended);
  void check_attendance();
  void take_timeout();
  void take_standings(std::size_t node, const TaskStandings& standings);
  // What the nodes have answered, and of the others that they have not; then the tasks end.
  void tell_standings();
  void take_abort(const TaskAborted& aborted);
  void take_signals();
  void take_ending_signal(int signal);
  void ask_presence();
  void check_presence();
  void give_up(const std::string& silent);
  void read_input();
  void acknowledge_output();

  void end_tasks();
  // The job cannot go on in order: it ends with this process's connection.
  void break_off(int status, const std::string& why);
  void record_failure(int status);
  void note(const std::string& text) { output_.note(program_name(options_.launcher) + (": " + text)); }
  // Tasks of one job: none goes on without the others.
  bool belong_together() const { return options_.launcher == Launcher::kLapirun; }
  void report_phase(const char* what);
  bool all(bool Node::*state) const;
  std::vector<std::uint32_t> all_nodes() const;  // that have not gone
  std::string busy_nodes(bool (*are)(const Node&)) const;
  std::string name_of(std::size_t node) const;
  std::string task_text(std::uint32_t task) const;
  void send(std::uint8_t action, const std::vector<std::uint32_t>& to, const JobBody& body);
  void tell_all(const JobBody& body) { send(daemon::JobAction::kData, all_nodes(), body); }

  const JobOptions options_;
  const std::vector<JobNode> map_;
  const bool shares_machine_;  // several of the nodes are one machine: binding would put their tasks on the same cores
  daemon::Connection connection_;
  SignalSource signals_;
  OutputForwarder output_;
  std::vector<Node> nodes_;
  std::vector<Task> tasks_;
  std::optional<std::uint32_t> absent_task_{};  // the first that ended without ever having connected
  std::size_t running_;
  bool input_wanted_ = false;
  bool reader_told_[2] = {false, false};
  bool connected_ = true;
  bool broken_off_ = false;
  bool cut_off_ = false;  // some tasks go on by themselves
  std::optional<int> failure_{};
  int ending_signals_ = 0;
  int last_ending_signal_ = 0;
  bool ending_ = false;
  std::optional<Clock::time_point> timeout_at_{};
  std::optional<Clock::time_point> tell_standings_at_{};  // --timeout is over, and not all nodes have answered
  std::vector<TaskStanding> standings_{};
  std::optional<Clock::time_point> present_by_{};   // all nodes, or the job is broken off
  std::optional<Clock::time_point> give_up_at_{};   // waiting for nodes that do not answer
  std::optional<Clock::time_point> complain_at_{};  // of nodes that have not started their tasks
  Clock::time_point phase_start_ = Clock::now();
};

}  // namespace openlapi::jobs
