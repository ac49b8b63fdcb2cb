// How a job over a universe ends: failures, signals, tasks that never come.
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "control/job/origin/universe_job.h"

namespace openlapi::jobs {
namespace {

constexpr std::chrono::seconds kStandingsTime{2};  // for nodes to say where their tasks stand
constexpr std::chrono::seconds kEndTime{10};       // nodes end their tasks within 2 s; who needs longer hangs

std::string end_text(const TaskEnded& ended) {
  if (ended.signal == 0) return "exited with status " + std::to_string(ended.exit_code);
  const char* name = sigdescr_np(static_cast<int>(ended.signal));
  return "was killed by signal " + std::to_string(ended.signal) + " (" + (name != nullptr ? name : "unknown") + ")";
}

}  // namespace

std::string UniverseJob::task_text(std::uint32_t task) const {
  return (belong_together() ? "task " : "program ") + std::to_string(task) + " on " + name_of(tasks_[task].node);
}

void UniverseJob::take_ended(const TaskEnded& ended) {
  if (ended.task >= tasks_.size() || tasks_[ended.task].ended) return;
  tasks_[ended.task].ended = true;
  --running_;
  if (ended.exit_code == 0 && ended.signal == 0) {
    if (!absent_task_ && tasks_[ended.task].attendance == Attendance::kNeverCame) absent_task_ = ended.task;
    return check_attendance();
  }
  const bool first = !failure_.has_value();
  record_failure(static_cast<int>(ended.signal != 0 ? kExitSignalBase + ended.signal : ended.exit_code));
  if (!first && belong_together()) return;
  if (ended.signal == 0 || static_cast<int>(ended.signal) != last_ending_signal_) {
    note(task_text(ended.task) + ", process " + std::to_string(ended.process) + ", " + end_text(ended) +
         (running_ > 0 && belong_together() ? "; ending the others" : ""));
  }
  if (belong_together()) end_tasks();
}

void UniverseJob::take_attendance(const TaskAttended& attended) {
  if (attended.task >= tasks_.size()) return;
  tasks_[attended.task].attendance = attended.connected != 0 ? Attendance::kConnected : Attendance::kLeft;
  if (attended.connected != 0) check_attendance();
}

// Every task has to come to the first LAPI_Init, where those that are connected wait for the others without a limit.
void UniverseJob::check_attendance() {
  if (!absent_task_ || ending_ || !belong_together()) return;
  const auto waiting = std::ranges::find_if(
      tasks_, [](const Task& task) { return !task.ended && task.attendance == Attendance::kConnected; });
  if (waiting == tasks_.end()) return;
  note(task_text(*absent_task_) + " ended (status 0) before LAPI_Init, in which " +
       task_text(static_cast<std::uint32_t>(waiting - tasks_.begin())) + " waits for every task: ending the job");
  record_failure(kExitOwnFailure);
  end_tasks();
}

void UniverseJob::take_timeout() {
  timeout_at_.reset();
  note("the time of --timeout is over; ending the tasks");
  record_failure(kExitTimeout);
  if (!belong_together()) return end_tasks();
  tell_standings_at_ = Clock::now() + kStandingsTime;
  tell_all(AskStandings{});
}

void UniverseJob::take_standings(std::size_t node, const TaskStandings& standings) {
  if (!tell_standings_at_ || std::exchange(nodes_[node].has_told_standings, true)) return;
  for (const TaskStandings::Task& task : standings.tasks) {
    const bool timed = task.seconds != TaskStandings::kNoTime;
    standings_.push_back({task.task, task.process, task.where, timed ? std::optional(task.seconds) : std::nullopt,
                          task.why, name_of(node)});
  }
  if (std::ranges::all_of(nodes_, [](const Node& each) { return each.gone || each.has_told_standings; }))
    tell_standings();
}

void UniverseJob::tell_standings() {
  tell_standings_at_.reset();
  for (std::uint32_t task = 0; task < tasks_.size(); ++task) {
    const Node& node = nodes_[tasks_[task].node];
    if (node.has_told_standings) continue;
    const char* where = tasks_[task].ended ? "has ended"
                        : node.started     ? "no answer from there: the daemon (lamd) or lamtasks hangs or is stopped"
                                           : "not started";
    standings_.push_back({task, 0, where, {}, {}, name_of(tasks_[task].node)});
  }
  std::ranges::sort(standings_, {}, &TaskStanding::task);
  for (const std::string& line : standing_lines(standings_)) note(line);
  end_tasks();
}

void UniverseJob::take_abort(const TaskAborted& aborted) {
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

void UniverseJob::take_signals() {
  while (const int signal = signals_.next()) {
    switch (signal) {
      case SIGTSTP:
        tell_all(TaskSignal{SIGTSTP});
        connection_.flush();
        raise(SIGSTOP);
        break;
      case SIGCONT:  // what nodes have answered while this process was stopped may not have been read
        if (present_by_) ask_presence();
        if (give_up_at_) give_up_at_ = Clock::now() + kEndTime;
        [[fallthrough]];
      case SIGUSR1:
      case SIGUSR2:
        tell_all(TaskSignal{static_cast<std::uint32_t>(signal)});
        break;
      default:
        take_ending_signal(signal);
    }
  }
}

// The first is the tasks' to handle, the second ends them, the third does not wait for nodes.
void UniverseJob::take_ending_signal(int signal) {
  last_ending_signal_ = signal;
  ++ending_signals_;
  if (ending_signals_ == 1) {
    tell_all(TaskSignal{static_cast<std::uint32_t>(signal)});
    return ask_presence();
  }
  record_failure(kExitSignalBase + signal);
  if (ending_signals_ > 2) return break_off(kExitSignalBase + signal, "");
  tell_all(TaskSignal{SIGKILL});
  give_up_at_ = Clock::now() + kEndTime;
}

// Tasks may take as long as they like to end by the first signal; nodes have to be there all the while.
void UniverseJob::ask_presence() {
  for (Node& node : nodes_) node.owes_answer = true;
  tell_all(AskPresence{});
  present_by_ = Clock::now() + kEndTime;
}

void UniverseJob::check_presence() {
  present_by_.reset();
  const std::string silent = busy_nodes([](const Node& node) { return node.owes_answer; });
  if (silent.empty()) return ask_presence();
  record_failure(kExitSignalBase + last_ending_signal_);
  give_up(silent);
}

// Said whatever was said before: what there is to look after.
void UniverseJob::give_up(const std::string& silent) {
  give_up_at_.reset();
  if (silent.empty()) return;
  note("no answer within " + std::to_string(kEndTime.count()) + " s from " + silent +
       ": the daemon there (lamd) or lamtasks hangs or is stopped; its tasks may go on");
  break_off(kExitOwnFailure, "");
}

void UniverseJob::end_tasks() {
  if (ending_) return;
  ending_ = true;
  tell_all(EndTasks{});
  give_up_at_ = Clock::now() + kEndTime;
}

void UniverseJob::record_failure(int status) {
  if (!failure_) failure_ = status;
}

}  // namespace openlapi::jobs
