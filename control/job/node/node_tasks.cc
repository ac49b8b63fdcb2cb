#include "control/job/node/node_tasks.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "control/job/node/abort_order.h"
#include "control/job/node/task_standing.h"

namespace openlapi::jobs {
namespace {

constexpr std::chrono::seconds kKillGrace{2};  // between SIGTERM and SIGKILL
constexpr std::chrono::milliseconds kExitTime{500};  // the kernel's, to take processes' memory and files away
// After the last task: how long a process that left its task's group may keep the job by holding its output open.
constexpr std::chrono::milliseconds kStragglerTime{500};

}  // namespace

NodeTasks::NodeTasks(const NodeJob& job, const SignalSource& signals, PmixPeers* peers, Tell tell)
    : job_(job), signals_(signals), peers_(peers), tell_(std::move(tell)), output_([this](TaskOutput output) {
        tell_(std::move(output));
      }) {}

void NodeTasks::take(JobBody body) {
  if (const auto* signal = std::get_if<TaskSignal>(&body)) return take_signal(static_cast<int>(signal->signal));
  if (std::holds_alternative<EndTasks>(body)) return end_tasks();
  if (std::holds_alternative<AskStandings>(body)) return tell_standings();
  if (std::holds_alternative<AskPresence>(body)) return tell_(Present{});
  if (auto* input = std::get_if<TaskInput>(&body)) return take_input(std::move(input->bytes));
  if (const auto* taken = std::get_if<OutputTaken>(&body)) return take_room(taken->bytes, taken->is_errors != 0);
  if (const auto* closed = std::get_if<OutputClosed>(&body)) return output_.close(closed->is_errors != 0);
}

void NodeTasks::watch(PollSet& poll_set) {
  poll_set.add(mailbox_.fd(), POLLIN, [this] { read_letters(); });
  for (TaskProcess& task : tasks_) {
    if (!task.has_ended()) poll_set.add(task.fd(), POLLIN, [this, &task] { take_ended(task); });
  }
  output_.watch(poll_set);
  if (!input_waiting_.empty()) poll_set.add(input_.get(), POLLOUT, [this] { write_input(); });
}

Deadline NodeTasks::deadline() const {
  return earliest({kill_at_, give_up_at_, look_for_deaf_at_, meeting_.look_at()});
}

void NodeTasks::check() {
  if (meeting_.look_at() && Clock::now() >= *meeting_.look_at()) name_missing_tasks();
  if (look_for_deaf_at_ && Clock::now() >= *look_for_deaf_at_) end_deaf_tasks();
  if (kill_at_ && Clock::now() >= *kill_at_) {
    kill_at_.reset();
    send_to_running(SIGKILL);
  }
  check_finished();
}

void NodeTasks::close_input() {
  input_waiting_.clear();
  input_.reset();
}

void NodeTasks::end_job() {
  if (running_ > 0) server_.freeze();
  send_to_running(SIGKILL);
  reap_all();
  cleanup_.close();
}

// What ends all tasks at once must not meet a libpmix that still serves them (PmixServer::freeze).
void NodeTasks::take_signal(int signal) {
  const bool ends = is_ending_signal(signal);
  const bool somebody_lives_on = std::ranges::any_of(
      tasks_, [signal](const TaskProcess& task) { return !task.has_ended() && task.handles(signal); });
  if (signal == SIGKILL || (ends && !somebody_lives_on)) server_.freeze();
  send_to_running(signal);
  if (!ends) return;
  send_to_running(SIGCONT);
  if (first_signal_ != 0) return;
  first_signal_ = signal;
  look_for_deaf_at_ = Clock::now() + kKillGrace;
}

void NodeTasks::name_missing_tasks() {
  if (pages_.somebody_is_through()) meeting_.take_over();
  const std::string late = meeting_.look(tasks_);
  if (late.empty() || ending_) return;
  tell_(HelperNote{late + (job_.place.empty() ? "" : "," + job_.place)});
}

// Who has not even taken the signal will not end by it: it waits with all signals blocked, in PMIx_Init for a server
// that has no memory left, for example. To lapirun it has ended by that signal.
void NodeTasks::end_deaf_tasks() {
  look_for_deaf_at_.reset();
  for (const TaskProcess& task : tasks_) {
    if (task.has_ended() || !task.has_pending(first_signal_)) continue;
    if (deaf_.empty()) {
      tell_(HelperNote{task_text(task.number()) + " has not taken " + signal_text(first_signal_) + " within " +
                       std::to_string(kKillGrace.count()) + " s: ending the job"});
    }
    deaf_.insert(task.number());
    server_.freeze();
    task.send(SIGKILL);
  }
}

void NodeTasks::take_ended(TaskProcess& task) {
  if (!task.check_ended()) return;
  read_letters();  // what the task did before it ended comes before its end
  tell_ended(task);
}

void NodeTasks::read_letters() {
  mailbox_.run_letters();
  if (aborts_.empty()) return;
  const bool are_first = !std::exchange(told_abort_, true);
  tell_aborts(tasks_, std::exchange(aborts_, {}), Clock::now() + kExitTime, are_first,
              {.ended = [this](const TaskProcess& task) { tell_ended(task); },
               .aborted = [this](TaskAborted aborted) { tell_(std::move(aborted)); }});
  for (const TaskProcess& task : tasks_) {
    if (task.has_ended()) tell_ended(task);
  }
}

void NodeTasks::tell_ended(const TaskProcess& task) {
  if (!told_ended_.insert(task.number()).second) return;
  --running_;
  const int status = task.exit_status();
  const int signal = task.signal() == SIGKILL && deaf_.contains(task.number()) ? first_signal_ : task.signal();
  tell_(TaskEnded{task.number(), static_cast<std::uint32_t>(task.pid()),
                  static_cast<std::uint32_t>(task.signal() != 0 ? 0 : status), static_cast<std::uint32_t>(signal)});
  if (running_ > 0) return;
  kill_at_.reset();
  look_for_deaf_at_.reset();
  reap_all();
  give_up_at_ = Clock::now() + kStragglerTime;
  read_before_ = output_.bytes_read();
}

// What tasks started and left running ends here. Until a task is reaped its group's number cannot be another's.
void NodeTasks::reap_all() {
  for (TaskProcess& task : tasks_) {
    if (task.pid() == 0) continue;
    task.send(SIGKILL);
    cleanup_.remove_group(task.pid());
    task.reap();
  }
}

void NodeTasks::check_finished() {
  if (finished_ || tasks_.empty() || running_ > 0) return;
  if (give_up_at_ && Clock::now() >= *give_up_at_) {
    const bool waits = output_.must_wait(false) || output_.must_wait(true);
    const bool more_comes = waits || output_.bytes_read() != read_before_;
    read_before_ = output_.bytes_read();
    give_up_at_ = Clock::now() + kStragglerTime;
    if (!more_comes) output_.give_up_reading();
  }
  if (!output_.read_all()) return;
  finished_ = true;
  give_up_at_.reset();
  tell_(TasksFinished{});
}

// The time in which the pipes were not looked at, since there was no room, tells nothing of who still writes there.
void NodeTasks::take_room(std::uint32_t bytes, bool errors) {
  if (output_.must_wait(errors) && give_up_at_) give_up_at_ = Clock::now() + kStragglerTime;
  output_.taken(bytes, errors);
}

void NodeTasks::drop_output() {
  for (const bool errors : {false, true}) take_room(UINT32_MAX, errors);
}

void NodeTasks::take_input(MessageBytes bytes) {
  if (bytes.empty()) return input_.reset();
  input_waiting_ = std::move(bytes);
  write_input();
}

void NodeTasks::write_input() {
  const ssize_t count = input_.is_open() ? write(input_.get(), input_waiting_.data(), input_waiting_.size()) : -1;
  if (count > 0) {
    input_waiting_.erase(input_waiting_.begin(), input_waiting_.begin() + count);
  } else if (!input_.is_open() || (errno != EAGAIN && errno != EINTR)) {
    input_waiting_.clear();
    input_.reset();  // task 0 reads no more: no more is asked for
    return;
  }
  if (input_waiting_.empty()) tell_(InputTaken{});
}

void NodeTasks::tell_standings() {
  TaskStandings standings;
  ContainerNumbers elsewhere;
  for (std::size_t place = 0; place < tasks_.size(); ++place) {
    const TaskProcess& task = tasks_[place];
    TaskStanding standing = standing_of(task, pages_.read(place), in_pmix_.contains(task.number()), elsewhere);
    standings.tasks.push_back({standing.task, standing.process, standing.seconds.value_or(TaskStandings::kNoTime),
                               std::move(standing.where), std::move(standing.why)});
  }
  tell_(std::move(standings));
}

void NodeTasks::end_tasks() {
  if (ending_) return;
  ending_ = true;
  server_.freeze();
  send_to_running(SIGTERM);
  send_to_running(SIGCONT);
  kill_at_ = Clock::now() + kKillGrace;
}

void NodeTasks::send_to_running(int signal) {
  for (const TaskProcess& task : tasks_) {
    if (!task.has_ended()) task.send(signal);
  }
}

}  // namespace openlapi::jobs
