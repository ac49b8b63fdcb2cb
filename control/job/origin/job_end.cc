// How a job ends: failures, signals, tasks that never come.
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "control/job/origin/job.h"

namespace openlapi::jobs {
namespace {

constexpr std::chrono::seconds kStandingsTime{2};  // for nodes to say where their tasks stand

}  // namespace

std::string Job::task_text(std::uint32_t task, std::uint32_t process) const {
  const std::string place = link_.name_of(tasks_[task].node);
  return (belong_together() ? "task " : "program ") + std::to_string(task) +
         (process == 0 ? "" : " (process " + std::to_string(process) + ")") + (place.empty() ? "" : " on " + place);
}

// What is left of the output has all the time that its reader takes: --timeout is for tasks.
void Job::count_out(Task& task) {
  task.ended = true;
  if (--running_ == 0) timeout_at_.reset();
}

void Job::take_ended(const TaskEnded& ended) {
  if (ended.task >= tasks_.size() || tasks_[ended.task].ended) return;
  count_out(tasks_[ended.task]);
  if (ended.exit_code == 0 && ended.signal == 0) {
    if (!absent_task_ && tasks_[ended.task].attendance == Attendance::kNeverCame) absent_task_ = ended.task;
    return check_attendance();
  }
  const bool first = !failure_.has_value();
  record_failure(static_cast<int>(ended.signal != 0 ? kExitSignalBase + ended.signal : ended.exit_code));
  if (!first && belong_together()) return;
  if (ended.signal == 0 || static_cast<int>(ended.signal) != last_ending_signal_) {
    note(task_text(ended.task, ended.process) +
         (ended.signal == 0 ? " exited with status " + std::to_string(ended.exit_code)
                            : " was killed by " + signal_text(static_cast<int>(ended.signal))) +
         (running_ > 0 && belong_together() ? "; ending the others" : ""));
  }
  if (belong_together()) end_tasks();
}

void Job::take_attendance(const TaskAttended& attended) {
  if (attended.task >= tasks_.size()) return;
  tasks_[attended.task].attendance = attended.connected != 0 ? Attendance::kConnected : Attendance::kLeft;
  if (attended.connected != 0) check_attendance();
}

// Every task has to come to the first LAPI_Init, where those that are connected wait for the others without a limit.
void Job::check_attendance() {
  if (!absent_task_ || ending_ || !belong_together()) return;
  const auto waiting = std::ranges::find_if(
      tasks_, [](const Task& task) { return !task.ended && task.attendance == Attendance::kConnected; });
  if (waiting == tasks_.end()) return;
  note(task_text(*absent_task_) + " ended (status 0) before LAPI_Init, in which " +
       task_text(static_cast<std::uint32_t>(waiting - tasks_.begin())) + " waits for every task: ending the job");
  record_failure(kExitOwnFailure);
  end_tasks();
}

void Job::take_timeout() {
  timeout_at_.reset();
  note("the time of --timeout is over; ending the tasks");
  record_failure(kExitTimeout);
  if (!belong_together()) return end_tasks();
  tell_standings_at_ = Clock::now() + kStandingsTime;
  link_.tell_all(AskStandings{});
}

void Job::take_standings(std::size_t node, const TaskStandings& standings) {
  if (!tell_standings_at_ || std::exchange(nodes_[node].has_told_standings, true)) return;
  for (const TaskStandings::Task& task : standings.tasks) {
    const bool timed = task.seconds != TaskStandings::kNoTime;
    standings_.push_back({task.task, task.process, task.where, timed ? std::optional(task.seconds) : std::nullopt,
                          task.why, link_.name_of(node)});
  }
  for (std::size_t each = 0; each < nodes_.size(); ++each) {
    if (!nodes_[each].has_told_standings && !link_.has_gone(each)) return;
  }
  tell_standings();
}

void Job::tell_standings() {
  tell_standings_at_.reset();
  for (std::uint32_t task = 0; task < tasks_.size(); ++task) {
    const Node& node = nodes_[tasks_[task].node];
    if (node.has_told_standings) continue;
    const char* where = tasks_[task].ended ? "has ended"
                        : node.started     ? "no answer from there: the daemon (lamd) or lamtasks hangs or is stopped"
                                           : "not started";
    standings_.push_back({task, 0, where, {}, {}, link_.name_of(tasks_[task].node)});
  }
  std::ranges::sort(standings_, {}, &TaskStanding::task);
  for (const std::string& line : standing_lines(standings_)) note(line);
  end_tasks();
}

void Job::take_abort(const TaskAborted& aborted) {
  if (aborted.task >= tasks_.size()) return;
  const int status = static_cast<int>(aborted.status);
  const int low_bits = status & 0xff;
  if (!failure_) {
    note(task_text(aborted.task) + " ends the job with status " + std::to_string(status) +
         (aborted.text.empty() ? "" : ": " + aborted.text));
  }
  record_failure(low_bits == 0 && status != 0 ? kExitOwnFailure : low_bits);
  end_tasks();
}

void Job::take_signals() {
  while (const int signal = signals_.next()) {
    if (is_ending_signal(signal)) {
      take_ending_signal(signal);
    } else {
      link_.signal(signal);
      if (signal == SIGTSTP) raise(SIGSTOP);
    }
  }
}

// The first is the tasks' to handle, the second ends them, the third does not wait for nodes. After the tasks' end one
// is enough.
void Job::take_ending_signal(int signal) {
  last_ending_signal_ = signal;
  ++ending_signals_;
  if (running_ == 0) stop_reading_ = true;
  if (ending_signals_ == 1) return link_.signal(signal);
  record_failure(kExitSignalBase + signal);
  if (ending_signals_ > 2) return break_off(kExitSignalBase + signal, "");
  link_.signal(SIGKILL);
}

void Job::end_tasks() {
  if (std::exchange(ending_, true)) return;
  link_.end_tasks();
}

void Job::break_off(int status, const std::string& why) {
  if (std::exchange(broken_off_, true)) return;
  // What was ended on request, and what follows the first failure, needs no further words.
  if (!failure_ && !why.empty()) note(why);
  record_failure(status);
}

void Job::record_failure(int status) {
  if (!failure_) failure_ = status;
}

}  // namespace openlapi::jobs
