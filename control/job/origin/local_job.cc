#include "control/job/origin/local_job.h"

#include <signal.h>

#include <algorithm>
#include <cstring>

#include "control/job/node/task_standing.h"

namespace openlapi {
namespace {

constexpr std::chrono::seconds kKillGrace{2};  // between SIGTERM and SIGKILL
// After the last task: how long a process that left its task's group may keep lapirun by holding its output open.
constexpr int kStragglerMilliseconds = 500;

}  // namespace

LocalJob::LocalJob(JobOptions options, std::string program, TaskEnvironment environment)
    : options_(std::move(options)),
      program_(std::move(program)),
      environment_(std::move(environment)),
      output_(STDOUT_FILENO, STDERR_FILENO, options_.tag_output) {}

int LocalJob::run() {
  if (!start()) {
    guard_.close();
    return kExitOwnFailure;
  }
  wait_for_tasks();
  reap_all();
  report_phase("tasks ended");
  flush_output();
  guard_.close();
  return failure_.value_or(0);
}

void LocalJob::wait_for_tasks() {
  while (running_ > 0) {
    wait_once(milliseconds_to_deadline());
    check_deadlines();
  }
}

// -1: there is none.
int LocalJob::milliseconds_to_deadline() const {
  int least = -1;
  for (const auto& deadline : {timeout_at_, kill_at_, look_for_deaf_at_, meeting_.look_at()}) {
    if (!deadline) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
    const int wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000 * 1000));
    least = least < 0 ? wait : std::min(least, wait);
  }
  return least;
}

void LocalJob::wait_once(int milliseconds_at_most) {
  PollSet poll_set;
  poll_set.add(signals_.fd(), POLLIN, [this] { take_signals(); });
  poll_set.add(mailbox_.fd(), POLLIN, [this] { mailbox_.run_letters(); });
  for (TaskProcess& task : tasks_)
    if (!task.has_ended()) poll_set.add(task.fd(), POLLIN, [this, &task] { take_ended(task); });
  output_.watch(poll_set);
  if (running_ > 0) input_.watch(poll_set);
  poll_set.wait(milliseconds_at_most);
  check_output();
}

// A job whose output is lost has failed, whatever its tasks do.
void LocalJob::check_output() {
  if (!output_.note_lost("lapirun: ", running_ > 0 ? "; ending the job" : "")) return;
  record_failure(kExitOwnFailure);
  end_tasks();
}

void LocalJob::take_signals() {
  while (const int signal = signals_.next()) take_signal(signal);
}

void LocalJob::take_signal(int signal) {
  switch (signal) {
    case SIGTSTP:
      send_to_running(SIGTSTP);
      raise(SIGSTOP);
      break;
    case SIGCONT:
    case SIGUSR1:
    case SIGUSR2:
      send_to_running(signal);
      break;
    default:
      take_ending_signal(signal);
  }
}

// The first is the tasks' to handle; the second ends them.
void LocalJob::take_ending_signal(int signal) {
  last_ending_signal_ = signal;
  if (++ending_signals_ == 1) {
    const bool all_will_die = std::none_of(tasks_.begin(), tasks_.end(), [signal](const TaskProcess& task) {
      return !task.has_ended() && task.handles(signal);
    });
    if (all_will_die) server_.freeze();
    send_to_running(signal);
    send_to_running(SIGCONT);
    look_for_deaf_at_ = Clock::now() + kKillGrace;
    return;
  }
  record_failure(kExitSignalBase + signal);
  server_.freeze();
  send_to_running(SIGKILL);
}

// A task that has not even taken the signal will not end by it: it waits with all signals blocked, in PMIx_Init for a
// server that has no memory left, for example.
void LocalJob::end_deaf_tasks() {
  const auto is_deaf = [this](const TaskProcess& task) {
    return !task.has_ended() && task.has_pending(last_ending_signal_);
  };
  const auto deaf = std::ranges::find_if(tasks_, is_deaf);
  if (deaf == tasks_.end()) return;
  output_.note("lapirun: task " + std::to_string(deaf->rank()) + " has not taken " + signal_text(last_ending_signal_) +
               " within " + std::to_string(kKillGrace.count()) + " s: ending the job");
  record_failure(kExitSignalBase + last_ending_signal_);
  server_.freeze();
  for (const TaskProcess& task : tasks_)
    if (is_deaf(task)) task.send(SIGKILL);
  end_tasks();
}

void LocalJob::take_ended(TaskProcess& task) {
  if (!task.check_ended()) return;
  --running_;
  if (!task.failed()) {
    take_success(task);
    return;
  }
  const bool first = !failure_.has_value();
  record_failure(task.exit_status());
  if (!first) return;
  const bool asked_for = task.signal() != 0 && task.signal() == last_ending_signal_;
  if (!asked_for) {
    output_.note("lapirun: task " + std::to_string(task.rank()) + " (process " + std::to_string(task.pid()) + ") " +
                 (task.signal() != 0 ? "was killed by " + signal_text(task.signal())
                                     : "exited with status " + std::to_string(task.exit_status())) +
                 (running_ > 0 ? "; ending the others" : ""));
  }
  end_tasks();
}

void LocalJob::take_success(const TaskProcess& task) {
  if (attendance_.empty() || absent_task_) return;
  mailbox_.run_letters();  // what the task did before it ended comes before its end
  if (attendance_[task.rank()] != Attendance::kNeverCame) return;
  absent_task_ = task.rank();
  check_attendance();
}

void LocalJob::take_connection(std::uint32_t rank, bool connected) {
  if (rank >= attendance_.size()) return;
  attendance_[rank] = connected ? Attendance::kConnected : Attendance::kLeft;
  if (!connected) return meeting_.take_over();
  meeting_.take_connected(rank);
  check_attendance();
}

// Every task has to come to the first LAPI_Init, where those that are connected wait for the others without a limit.
void LocalJob::check_attendance() {
  if (!absent_task_ || ending_) return;
  const auto waiting = std::find_if(tasks_.begin(), tasks_.end(), [this](const TaskProcess& task) {
    return !task.has_ended() && attendance_[task.rank()] == Attendance::kConnected;
  });
  if (waiting == tasks_.end()) return;
  output_.note("lapirun: task " + std::to_string(*absent_task_) + " ended (status 0) before LAPI_Init, in which task " +
               std::to_string(waiting->rank()) + " waits for every task: ending the job");
  record_failure(kExitOwnFailure);
  end_tasks();
}

void LocalJob::take_abort(std::uint32_t rank, int status, const std::string& message) {
  const int low_bits = status & 0xff;
  if (!failure_) {
    output_.note("lapirun: task " + std::to_string(rank) + " ends the job with status " + std::to_string(status) +
                 (message.empty() ? "" : ": " + message));
  }
  record_failure(low_bits == 0 && status != 0 ? kExitOwnFailure : low_bits);
  end_tasks();
}

void LocalJob::check_deadlines() {
  const TimePoint now = Clock::now();
  if (timeout_at_ && now >= *timeout_at_) take_timeout();
  if (meeting_.look_at() && now >= *meeting_.look_at()) {
    // On one node libpmix carries out a fence by itself.
    if (pages_.somebody_is_through()) meeting_.take_over();
    const std::string late = meeting_.look(tasks_);
    if (!late.empty() && !ending_) output_.note("lapirun: " + late);
  }
  if (look_for_deaf_at_ && now >= *look_for_deaf_at_) {
    look_for_deaf_at_.reset();
    end_deaf_tasks();
  }
  if (kill_at_ && now >= *kill_at_) {
    kill_at_.reset();
    send_to_running(SIGKILL);
  }
}

void LocalJob::take_timeout() {
  timeout_at_.reset();
  output_.note("lapirun: the time of --timeout is over; ending the tasks");
  std::vector<TaskStanding> standings;
  ContainerNumbers elsewhere;
  for (const TaskProcess& task : tasks_) {
    const bool in_pmix = !attendance_.empty() && attendance_[task.rank()] == Attendance::kConnected;
    standings.push_back(standing_of(task, pages_.read(task.rank()), in_pmix, elsewhere));
  }
  for (const std::string& line : standing_lines(standings)) output_.note("lapirun: " + line);
  record_failure(kExitTimeout);
  end_tasks();
}

void LocalJob::end_tasks() {
  if (ending_) return;
  ending_ = true;
  server_.freeze();
  send_to_running(SIGTERM);
  send_to_running(SIGCONT);
  kill_at_ = Clock::now() + kKillGrace;
}

void LocalJob::send_to_running(int signal) {
  for (const TaskProcess& task : tasks_)
    if (!task.has_ended()) task.send(signal);
}

// What tasks started and left running ends here. Until a task is reaped its group's number cannot be another's.
void LocalJob::reap_all() {
  for (TaskProcess& task : tasks_) {
    task.send(SIGKILL);
    guard_.remove_group(task.pid());
    task.reap();
  }
}

// Waits for a slow reader as long as it takes, unless the user says stop. No deadline is for what is left.
void LocalJob::flush_output() {
  const int signals_before = ending_signals_;
  while (!(output_.read_all() && output_.written_all()) && ending_signals_ == signals_before) {
    const bool only_reading = output_.written_all();
    const std::uint64_t read_before = output_.bytes_read();
    const TimePoint before = Clock::now();
    wait_once(only_reading ? kStragglerMilliseconds : -1);
    const bool idle = Clock::now() - before >= std::chrono::milliseconds(kStragglerMilliseconds);
    if (only_reading && idle && output_.bytes_read() == read_before) output_.give_up_reading();
  }
}

void LocalJob::record_failure(int status) {
  if (!failure_) failure_ = status;
}

}  // namespace openlapi
