#include "control/job/origin/job.h"

#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace openlapi::jobs {

Job::Job(JobOptions options, std::vector<JobNode> nodes, SignalSource& signals, NodeLink& link)
    : options_(std::move(options)),
      map_(std::move(nodes)),
      signals_(signals),
      link_(link),
      output_(STDOUT_FILENO, STDERR_FILENO, options_.tag_output),
      nodes_(map_.size()),
      tasks_(task_count(map_)),
      running_(tasks_.size()) {
  for (std::size_t node = 0; node < map_.size(); ++node) {
    for (const std::uint32_t task : map_[node].tasks) tasks_[task].node = node;
  }
}

int Job::run(const TaskEnvironment& environment, const std::string& directory) {
  std::string error;
  if (!start(environment, directory, error)) {
    note(error);
    flush_output();
    return kExitOwnFailure;
  }
  while (!broken_off_ && !stop_reading_ && !all(&Node::finished)) {
    wait_once(milliseconds_until(deadline()));
    check_deadlines();
  }
  report_phase("tasks ended");
  if (broken_off_) leave();  // whoever reads slowly does not keep the tasks of a job that has failed
  flush_output();
  if (!broken_off_) leave();
  return failure_.value_or(cut_off_ ? kExitOwnFailure : 0);
}

bool Job::start(const TaskEnvironment& environment, const std::string& directory, std::string& error) {
  std::uint64_t random[4];
  if (!signals_.open(error)) return false;
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    error = std::string("getrandom: ") + std::strerror(errno);
    return false;
  }
  char name_space[64];
  std::snprintf(name_space, sizeof name_space, "lapirun-%016" PRIx64 "%016" PRIx64, random[0], random[1]);
  StartTasks job;
  job.name_space = name_space;
  job.cookie = random[2];
  job.packet_key = random[3];
  job.bind = options_.binding == Binding::kCore ? 1 : 0;
  job.report_bindings = options_.report_bindings ? 1 : 0;
  job.outlive_daemons = options_.outlive_daemons ? 1 : 0;
  job.is_of_lamexec = options_.launcher == Launcher::kLamexec ? 1 : 0;
  job.directory = directory;
  job.arguments = pack_words(options_.command);
  job.environment = pack_words(environment.entries());
  job.nodes = map_;
  if (!link_.start(std::move(job), *this, error)) return false;
  if (options_.timeout) timeout_at_ = Clock::now() + *options_.timeout;
  return true;
}

void Job::wait_once(int milliseconds_at_most) {
  PollSet poll_set;
  poll_set.add(signals_.fd(), POLLIN, [this] { take_signals(); });
  link_.watch(poll_set);
  output_.watch(poll_set);
  // A terminal is read only in the foreground: else this process would be stopped.
  if (input_wanted_ && running_ > 0 && (isatty(STDIN_FILENO) == 0 || tcgetpgrp(STDIN_FILENO) == getpgrp()))
    poll_set.add(STDIN_FILENO, POLLIN, [this] { read_input(); });
  poll_set.wait(milliseconds_at_most);
  check_output();
  acknowledge_output();
}

void Job::check_deadlines() {
  take_signals();  // one that this process goes on with puts off what has passed while it was stopped
  const Clock::time_point now = Clock::now();
  if (timeout_at_ && now >= *timeout_at_) take_timeout();
  if (tell_standings_at_ && now >= *tell_standings_at_) tell_standings();
  link_.check();
}

// A job whose output is lost has failed, whatever its tasks do.
void Job::check_output() {
  const std::string name = program_name(options_.launcher);
  if (!output_.note_lost(name + ": ", running_ > 0 ? "; ending the job" : "")) return;
  record_failure(kExitOwnFailure);
  end_tasks();
}

void Job::read_input() {
  MessageBytes bytes(kInputPiece);
  const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  input_wanted_ = false;
  link_.tell(tasks_[0].node, TaskInput{std::move(bytes)});
}

// What has been written (or dropped, as its reader is gone) makes room for more.
void Job::acknowledge_output() {
  for (const bool errors : {false, true}) {
    if (!output_.reader_gone(errors) || reader_told_[errors]) continue;
    reader_told_[errors] = true;
    link_.tell_all(OutputClosed{static_cast<std::uint8_t>(errors)});
  }
  // Each stream by itself: whoever reads one of them first gets all of it.
  for (const bool errors : {false, true}) {
    if (!output_.written_all(errors)) continue;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      const std::size_t bytes = std::exchange(nodes_[node].output_taken[errors], 0);
      if (bytes > 0) link_.tell(node, OutputTaken{static_cast<std::uint32_t>(bytes), errors});
    }
  }
}

// Waits for a slow reader as long as it takes, unless the user says stop. No deadline is for what is left.
void Job::flush_output() {
  const int signals_before = ending_signals_;
  while (!output_.written_all() && ending_signals_ == signals_before && !stop_reading_) wait_once(-1);
}

// When lapirun has ended nothing of the job is left on the nodes.
void Job::leave() {
  timeout_at_.reset();
  tell_standings_at_.reset();
  link_.leave(!broken_off_);
  while (!link_.has_left()) wait_once(milliseconds_until(deadline()));
}

void Job::take(std::size_t node, JobBody body) {
  if (const auto* output = std::get_if<TaskOutput>(&body)) return take_output(node, *output);
  if (const auto* attended = std::get_if<TaskAttended>(&body)) return take_attendance(*attended);
  if (const auto* ended = std::get_if<TaskEnded>(&body)) return take_ended(*ended);
  if (const auto* aborted = std::get_if<TaskAborted>(&body)) return take_abort(*aborted);
  if (const auto* line = std::get_if<HelperNote>(&body)) return note(line->text);
  if (const auto* standings = std::get_if<TaskStandings>(&body)) return take_standings(node, *standings);
  if (std::holds_alternative<InputTaken>(body)) input_wanted_ = true;
  if (std::holds_alternative<TasksStarted>(body)) take_started(node);
  if (std::holds_alternative<TasksFinished>(body)) nodes_[node].finished = true;
  if (const auto* refused = std::get_if<TasksRefused>(&body)) {
    const std::string name = link_.name_of(node);
    break_off(static_cast<int>(refused->status), (name.empty() ? "" : name + ": ") + refused->why);
  }
}

void Job::take_output(std::size_t node, const TaskOutput& output) {
  nodes_[node].output_taken[output.is_errors != 0] += output.bytes.size();
  const std::string_view text(reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size());
  output_.take(output.task, output.is_errors != 0, text);
}

void Job::take_started(std::size_t node) {
  nodes_[node].started = true;
  if (map_[node].tasks.front() == 0) input_wanted_ = link_.carries_input();
  if (all(&Node::started)) report_phase("tasks started");
}

void Job::take_cut_off(std::size_t node) {
  nodes_[node].output_taken[0] = nodes_[node].output_taken[1] = 0;
  nodes_[node].finished = true;
  cut_off_ = true;
  note(link_.name_of(node) +
       " is cut off, as a daemon is lost: its tasks go on by themselves, and what they print is lost");
  for (Task& task : tasks_) {
    if (task.node != node || task.ended) continue;
    count_out(task);
  }
  input_wanted_ = input_wanted_ && tasks_[0].node != node;
}

bool Job::all(bool Node::*state) const {
  return std::ranges::all_of(nodes_, [state](const Node& node) { return node.*state; });
}

void Job::report_phase(const char* what) {
  const Clock::time_point now = Clock::now();
  const double milliseconds = std::chrono::duration<double, std::milli>(now - phase_start_).count();
  phase_start_ = now;
  if (!options_.verbose) return;
  char line[128];
  std::snprintf(line, sizeof line, "%s (%.1f ms)", what, milliseconds);
  note(line);
}

}  // namespace openlapi::jobs
