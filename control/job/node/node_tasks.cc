#include "control/job/node/node_tasks.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "control/daemon/session/session_folder.h"
#include "control/job/node/task_standing.h"

namespace openlapi::jobs {
namespace {

constexpr std::chrono::seconds kKillGrace{2};  // between SIGTERM and SIGKILL
// After the last task: how long a process that left its task's group may keep the job by holding its output open.
constexpr std::chrono::milliseconds kStragglerTime{500};

}  // namespace

NodeTasks::NodeTasks(daemon::Connection connection, std::string session)
    : connection_(std::move(connection)),
      session_(std::move(session)),
      exchange_(job_.nodes, server_,
                [this](const std::vector<std::uint32_t>& to, const JobBody& body) { send(to, body); }),
      output_([this](TaskOutput output) { tell(std::move(output)); }) {}

// A task can end before another has been started; who ends is looked at only in the loop.
void NodeTasks::run() {
  if (!await_start()) return;
  start();
  while (connected_) {
    wait_once();
    check_finished();
  }
  if (job_.outlive_daemons != 0 && !over_) live_on();
  server_.freeze();
  send_to_running(SIGKILL);
  reap_all();
  guard_.close();
}

// Nobody hears of the tasks any more: their output goes nowhere, and input there is none. A folder beside the lost
// daemon's tells tkill of this process; without one the tasks end.
void NodeTasks::live_on() {
  daemon::SessionFolder session(session_ + "-t" + std::to_string(getpid()));
  session.write_process_number(getpid());
  input_waiting_.clear();
  input_.reset();
  while (running_ > 0 && !over_) {
    output_.taken(UINT32_MAX);
    wait_once();
  }
}

int NodeTasks::milliseconds_to_wait() const {
  std::optional<Clock::time_point> next = kill_at_;
  for (const auto& limit : {give_up_at_, look_for_deaf_at_, meeting_.look_at()}) {
    if (limit && (!next || *limit < *next)) next = limit;
  }
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 10'000));
}

void NodeTasks::wait_once() {
  PollSet poll_set;
  if (connected_) poll_set.add(connection_.fd(), connection_.events(), [this] { serve_connection(); });
  poll_set.add(mailbox_.fd(), POLLIN, [this] { mailbox_.run_letters(); });
  if (signals_.fd() >= 0) {
    poll_set.add(signals_.fd(), POLLIN, [this] {
      if (const int signal = signals_.next(); signal == SIGTERM || signal == SIGINT || signal == SIGHUP) {
        over_ = true;
        connected_ = false;
      }
    });
  }
  for (TaskProcess& task : tasks_) {
    if (!task.has_ended()) poll_set.add(task.fd(), POLLIN, [this, &task] { take_ended(task); });
  }
  output_.watch(poll_set);
  if (!input_waiting_.empty()) poll_set.add(input_.get(), POLLOUT, [this] { write_input(); });
  poll_set.wait(milliseconds_to_wait());
  if (meeting_.look_at() && Clock::now() >= *meeting_.look_at()) name_missing_tasks();
  if (look_for_deaf_at_ && Clock::now() >= *look_for_deaf_at_) end_deaf_tasks();
  if (kill_at_ && Clock::now() >= *kill_at_) {
    kill_at_.reset();
    send_to_running(SIGKILL);
  }
}

void NodeTasks::serve_connection() {
  const bool goes_on = connection_.serve();
  while (const auto bytes = connection_.stream().next()) {
    const auto message = daemon::decode(*bytes);
    if (const auto* of_job = message ? std::get_if<daemon::JobMessage>(&*message) : nullptr) take(*of_job);
  }
  if (!goes_on) connected_ = false;
}

void NodeTasks::take(const daemon::JobMessage& message) {
  over_ = over_ || message.action == daemon::JobAction::kEnd;
  auto body = decode_body(message.body);
  if (!body) return;
  if (const auto* signal = std::get_if<TaskSignal>(&*body)) return take_signal(static_cast<int>(signal->signal));
  if (std::holds_alternative<EndTasks>(*body)) return end_tasks();
  if (std::holds_alternative<AskStandings>(*body)) return tell_standings();
  if (std::holds_alternative<AskPresence>(*body)) return tell(Present{});
  if (auto* input = std::get_if<TaskInput>(&*body)) return take_input(std::move(input->bytes));
  if (const auto* taken = std::get_if<OutputTaken>(&*body)) return output_.taken(taken->bytes);
  if (const auto* closed = std::get_if<OutputClosed>(&*body)) return output_.close(closed->is_errors != 0);
  if (auto* data = std::get_if<FenceData>(&*body)) return exchange_.take(std::move(*data), message.from);
  if (auto* fence = std::get_if<FenceDone>(&*body)) return exchange_.take(std::move(*fence));
  if (const auto* request = std::get_if<ModexRequest>(&*body)) return exchange_.take(*request, message.from);
  if (auto* answer = std::get_if<ModexAnswer>(&*body)) return exchange_.take(std::move(*answer));
}

// What ends all tasks at once must not meet a libpmix that still serves them (PmixServer::freeze).
void NodeTasks::take_signal(int signal) {
  const bool ends = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
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
  tell(HelperNote{late + ", on n" + std::to_string(own().node) + " (" + own().host + ")"});
}

// As Job::end_deaf_tasks: who has not even taken the signal will not end by it. To lapirun it has ended by that signal.
void NodeTasks::end_deaf_tasks() {
  look_for_deaf_at_.reset();
  for (const TaskProcess& task : tasks_) {
    if (task.has_ended() || !task.has_pending(first_signal_)) continue;
    if (deaf_.empty()) {
      tell(HelperNote{"task " + std::to_string(task.rank()) + " on n" + std::to_string(own().node) + " (" + own().host +
                      ") has not taken signal " + std::to_string(first_signal_) + " within " +
                      std::to_string(kKillGrace.count()) + " s: ending the job"});
    }
    deaf_.insert(task.rank());
    server_.freeze();
    task.send(SIGKILL);
  }
}

void NodeTasks::take_ended(TaskProcess& task) {
  if (!task.check_ended()) return;
  mailbox_.run_letters();  // what the task did before it ended comes before its end
  --running_;
  const int status = task.exit_status();
  const int signal = task.signal() == SIGKILL && deaf_.contains(task.rank()) ? first_signal_ : task.signal();
  tell(TaskEnded{task.rank(), static_cast<std::uint32_t>(task.pid()),
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
    guard_.remove_group(task.pid());
    task.reap();
  }
}

void NodeTasks::check_finished() {
  if (finished_ || tasks_.empty() || running_ > 0) return;
  if (give_up_at_ && Clock::now() >= *give_up_at_) {
    const bool more_comes = output_.must_wait() || output_.bytes_read() != read_before_;
    read_before_ = output_.bytes_read();
    give_up_at_ = Clock::now() + kStragglerTime;
    if (!more_comes) output_.give_up_reading();
  }
  if (!output_.read_all()) return;
  finished_ = true;
  give_up_at_.reset();
  tell(TasksFinished{});
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
  if (input_waiting_.empty()) tell(InputTaken{});
}

void NodeTasks::tell_standings() {
  TaskStandings standings;
  ContainerNumbers elsewhere;
  for (std::size_t place = 0; place < tasks_.size(); ++place) {
    const TaskProcess& task = tasks_[place];
    TaskStanding standing = standing_of(task, pages_.read(place), in_pmix_.contains(task.rank()), elsewhere);
    standings.tasks.push_back({standing.task, standing.process, standing.seconds.value_or(TaskStandings::kNoTime),
                               std::move(standing.where), std::move(standing.why)});
  }
  tell(std::move(standings));
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

void NodeTasks::send(const std::vector<std::uint32_t>& to, const JobBody& body) {
  if (connected_) connection_.send(daemon::JobMessage{0, 0, 0, daemon::JobAction::kData, to, encode(body)});
}

}  // namespace openlapi::jobs
