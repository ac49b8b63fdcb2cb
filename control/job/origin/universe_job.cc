#include "control/job/origin/universe_job.h"

#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace openlapi::jobs {
namespace {

constexpr std::chrono::seconds kLeaveTime{2};
constexpr std::chrono::seconds kStartTime{10};  // after which the user wants to know what lapirun waits for

}  // namespace

UniverseJob::UniverseJob(JobOptions options, std::vector<JobNode> nodes, bool shares_machine,
                         daemon::Connection connection)
    : options_(std::move(options)),
      map_(std::move(nodes)),
      shares_machine_(shares_machine),
      connection_(std::move(connection)),
      output_(STDOUT_FILENO, STDERR_FILENO, options_.tag_output),
      nodes_(map_.size()),
      tasks_(task_count(map_)),
      running_(tasks_.size()) {
  for (std::size_t node = 0; node < map_.size(); ++node) {
    for (const std::uint32_t task : map_[node].tasks) tasks_[task].node = node;
  }
}

int UniverseJob::run(const TaskEnvironment& environment, const std::string& directory) {
  if (!start(environment, directory)) {
    flush_output();
    return kExitOwnFailure;
  }
  while (!broken_off_ && !all(&Node::finished)) {
    wait_once(milliseconds_to_deadline());
    check_deadlines();
  }
  report_phase("tasks ended");
  flush_output();
  leave();
  return failure_.value_or(cut_off_ ? kExitOwnFailure : 0);
}

bool UniverseJob::start(const TaskEnvironment& environment, const std::string& directory) {
  std::string error;
  std::uint64_t random[4];
  if (!signals_.open(error) || getrandom(random, sizeof random, 0) != sizeof random) {
    note(error.empty() ? std::string("getrandom: ") + std::strerror(errno) : error);
    return false;
  }
  char name_space[64];
  std::snprintf(name_space, sizeof name_space, "lapirun-%016" PRIx64 "%016" PRIx64, random[0], random[1]);
  StartTasks job;
  job.name_space = name_space;
  job.cookie = random[2];
  job.packet_key = random[3];
  job.bind = options_.binding == Binding::kCore && !shares_machine_ ? 1 : 0;
  job.report_bindings = options_.report_bindings ? 1 : 0;
  job.outlive_daemons = options_.outlive_daemons ? 1 : 0;
  job.is_of_lamexec = options_.launcher == Launcher::kLamexec ? 1 : 0;
  job.directory = directory;
  job.arguments = pack_words(options_.command);
  job.environment = pack_words(environment.entries());
  job.nodes = map_;
  const MessageBytes bytes = encode(job);
  if (bytes.size() > kLongestBody) {
    note("the program's arguments and the environment have " + std::to_string(bytes.size()) +
         " bytes with the list of tasks; allowed over a universe: at most " + std::to_string(kLongestBody));
    return false;
  }
  send(daemon::JobAction::kStart, all_nodes(), job);
  report_phase("job sent to the nodes");
  if (options_.timeout) timeout_at_ = Clock::now() + *options_.timeout;
  complain_at_ = Clock::now() + kStartTime;
  return true;
}

// -1: there is none.
int UniverseJob::milliseconds_to_deadline() const {
  int least = -1;
  for (const auto& deadline : {timeout_at_, tell_standings_at_, present_by_, give_up_at_, complain_at_}) {
    if (!deadline) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
    const int wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
    least = least < 0 ? wait : std::min(least, wait);
  }
  return least;
}

void UniverseJob::wait_once(int milliseconds_at_most) {
  PollSet poll_set;
  poll_set.add(signals_.fd(), POLLIN, [this] { take_signals(); });
  if (connected_) poll_set.add(connection_.fd(), connection_.events(), [this] { serve_connection(); });
  output_.watch(poll_set);
  // A terminal is read only in the foreground: else this process would be stopped.
  if (input_wanted_ && running_ > 0 && (isatty(STDIN_FILENO) == 0 || tcgetpgrp(STDIN_FILENO) == getpgrp()))
    poll_set.add(STDIN_FILENO, POLLIN, [this] { read_input(); });
  poll_set.wait(milliseconds_at_most);
  check_output();
  acknowledge_output();
}

// A job whose output is lost has failed, whatever its tasks do.
void UniverseJob::check_output() {
  const std::string name = program_name(options_.launcher);
  if (!output_.note_lost(name + ": ", running_ > 0 ? "; ending the job" : "")) return;
  record_failure(kExitOwnFailure);
  end_tasks();
}

void UniverseJob::serve_connection() {
  connected_ = connection_.serve();
  while (const auto bytes = connection_.stream().next()) {
    const auto message = daemon::decode(*bytes);
    if (const auto* of_job = message ? std::get_if<daemon::JobMessage>(&*message) : nullptr) take(*of_job);
  }
  if (connected_) return;
  break_off(kExitOwnFailure, std::string("the daemon here (lamd) has ended: ") +
                                 (options_.outlive_daemons ? "its tasks go on by themselves, unless it was told to end"
                                                           : "the job ends with it"));
}

void UniverseJob::take(const daemon::JobMessage& message) {
  const std::string text(message.body.begin(), message.body.end());
  if (message.action == daemon::JobAction::kBroken) return break_off(kExitOwnFailure, text);
  const auto found = std::ranges::find(map_, message.from, &JobNode::node);
  if (found == map_.end()) return;
  const auto node = static_cast<std::size_t>(found - map_.begin());
  if (message.action == daemon::JobAction::kGone) return take_end_of_node(node, text);
  if (message.action == daemon::JobAction::kCutOff) return take_cut_off(node, text);
  auto body = decode_body(message.body);
  if (body && message.action == daemon::JobAction::kData) take_body(node, std::move(*body));
}

void UniverseJob::take_body(std::size_t node, JobBody body) {
  if (const auto* output = std::get_if<TaskOutput>(&body)) return take_output(node, *output);
  if (const auto* attended = std::get_if<TaskAttended>(&body)) return take_attendance(*attended);
  if (const auto* ended = std::get_if<TaskEnded>(&body)) return take_ended(*ended);
  if (const auto* aborted = std::get_if<TaskAborted>(&body)) return take_abort(*aborted);
  if (const auto* line = std::get_if<HelperNote>(&body)) return note(line->text);
  if (const auto* standings = std::get_if<TaskStandings>(&body)) return take_standings(node, *standings);
  if (std::holds_alternative<InputTaken>(body)) input_wanted_ = true;
  if (std::holds_alternative<TasksStarted>(body)) take_started(node);
  if (std::holds_alternative<Present>(body)) nodes_[node].owes_answer = false;
  if (std::holds_alternative<TasksFinished>(body)) nodes_[node].finished = true;
  if (const auto* refused = std::get_if<TasksRefused>(&body)) {
    break_off(static_cast<int>(refused->status), name_of(node) + ": " + refused->why);
  }
}

// Line by line: each may get a tag.
void UniverseJob::take_output(std::size_t node, const TaskOutput& output) {
  nodes_[node].output_taken += output.bytes.size();
  std::string_view text(reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size());
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline == std::string_view::npos ? newline : newline + 1);
    output_.take(output.task, output.is_errors != 0, line);
    text.remove_prefix(line.size());
  }
}

void UniverseJob::take_started(std::size_t node) {
  nodes_[node].started = true;
  if (map_[node].tasks.front() == 0) input_wanted_ = true;
  if (all(&Node::started)) report_phase("tasks started");
}

void UniverseJob::take_end_of_node(std::size_t node, const std::string& why) {
  nodes_[node].gone = true;
  if (nodes_[node].finished) return;
  break_off(kExitOwnFailure, name_of(node) + ": " + (why.empty() ? "lamtasks has ended, and its tasks with it" : why));
}

void UniverseJob::take_cut_off(std::size_t node, const std::string& why) {
  Node& lost = nodes_[node];
  const bool was_over = lost.finished || lost.gone;
  lost = {0, lost.started, true, true, false, false};
  if (was_over) return;
  if (!options_.outlive_daemons) return break_off(kExitOwnFailure, why);
  cut_off_ = true;
  note(name_of(node) + " is cut off, as a daemon is lost: its tasks go on by themselves, and what they print is lost");
  for (Task& task : tasks_) {
    if (task.node != node || task.ended) continue;
    task.ended = true;
    --running_;
  }
  input_wanted_ = input_wanted_ && tasks_[0].node != node;
}

void UniverseJob::read_input() {
  MessageBytes bytes(kInputPiece);
  const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  input_wanted_ = false;
  send(daemon::JobAction::kData, {map_[tasks_[0].node].node}, TaskInput{std::move(bytes)});
}

// What has been written (or dropped, as its reader is gone) makes room for more.
void UniverseJob::acknowledge_output() {
  for (const bool errors : {false, true}) {
    if (!output_.reader_gone(errors) || reader_told_[errors]) continue;
    reader_told_[errors] = true;
    tell_all(OutputClosed{static_cast<std::uint8_t>(errors)});
  }
  if (!output_.written_all()) return;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const std::size_t bytes = std::exchange(nodes_[node].output_taken, 0);
    if (bytes > 0) send(daemon::JobAction::kData, {map_[node].node}, OutputTaken{static_cast<std::uint32_t>(bytes)});
  }
}

void UniverseJob::check_deadlines() {
  take_signals();  // one that this process goes on with puts off what has passed while it was stopped
  const Clock::time_point now = Clock::now();
  if (timeout_at_ && now >= *timeout_at_) take_timeout();
  if (tell_standings_at_ && now >= *tell_standings_at_) tell_standings();
  if (complain_at_ && now >= *complain_at_) name_late_nodes();
  if (present_by_ && now >= *present_by_) check_presence();
  if (give_up_at_ && now >= *give_up_at_) give_up(busy_nodes([](const Node&) { return true; }));
}

// A daemon that hangs, or is stopped, is not lost, and may go on: nothing else would be said for as long as it takes.
void UniverseJob::name_late_nodes() {
  complain_at_.reset();
  const std::string late = busy_nodes([](const Node& node) { return !node.started; });
  if (late.empty()) return;
  note("no answer after " + std::to_string(kStartTime.count()) + " s from " + late +
       ": the daemon there (lamd), or one on the way, hangs or is stopped; waiting for it");
}

void UniverseJob::break_off(int status, const std::string& why) {
  if (broken_off_) return;
  broken_off_ = true;
  // What was ended on request, and what follows the first failure, needs no further words.
  if (!failure_) note(why);
  record_failure(status);
}

// Waits for a slow reader as long as it takes, unless the user says stop. No deadline is for what is left.
void UniverseJob::flush_output() {
  const int signals_before = ending_signals_;
  while (!output_.written_all() && ending_signals_ == signals_before) wait_once(-1);
}

// When lapirun has ended nothing of the job is left on the nodes; who does not answer is not waited for long.
void UniverseJob::leave() {
  for (auto* deadline : {&timeout_at_, &tell_standings_at_, &present_by_, &complain_at_}) deadline->reset();
  send(daemon::JobAction::kEnd, all_nodes(), EndTasks{});
  give_up_at_ = Clock::now() + (broken_off_ ? kLeaveTime / 4 : kLeaveTime);
  while (connected_ && !all(&Node::gone) && Clock::now() < *give_up_at_) wait_once(milliseconds_to_deadline());
}

bool UniverseJob::all(bool Node::*state) const {
  return std::ranges::all_of(nodes_, [state](const Node& node) { return node.*state; });
}

std::vector<std::uint32_t> UniverseJob::all_nodes() const {
  std::vector<std::uint32_t> numbers;
  for (std::size_t node = 0; node < map_.size(); ++node) {
    if (!nodes_[node].gone) numbers.push_back(map_[node].node);
  }
  return numbers;
}

// Those that are not over and of which this is true.
std::string UniverseJob::busy_nodes(bool (*are)(const Node&)) const {
  std::string names;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const Node& state = nodes_[node];
    if (!state.finished && !state.gone && are(state)) names += (names.empty() ? "" : ", ") + name_of(node);
  }
  return names;
}

std::string UniverseJob::name_of(std::size_t node) const {
  return "n" + std::to_string(map_[node].node) + " (" + map_[node].host + ")";
}

void UniverseJob::send(std::uint8_t action, const std::vector<std::uint32_t>& to, const JobBody& body) {
  if (connected_) connection_.send(daemon::JobMessage{0, 0, 0, action, to, encode(body)});
}

void UniverseJob::report_phase(const char* what) {
  const Clock::time_point now = Clock::now();
  const double milliseconds = std::chrono::duration<double, std::milli>(now - phase_start_).count();
  phase_start_ = now;
  if (!options_.verbose) return;
  char line[128];
  std::snprintf(line, sizeof line, "%s (%.1f ms)", what, milliseconds);
  note(line);
}

}  // namespace openlapi::jobs
