#include "control/job/origin/universe_link.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "control/job/node/signal_source.h"
#include "control/job/options/job_options.h"

namespace openlapi::jobs {
namespace {

constexpr std::chrono::seconds kLeaveTime{2};
constexpr std::chrono::seconds kStartTime{10};  // after which the user wants to know what lapirun waits for
constexpr std::chrono::seconds kEndTime{10};    // nodes end their tasks within 2 s; whoever needs longer hangs

}  // namespace

bool UniverseLink::start(StartTasks job, Listener& listener, std::string& error) {
  listener_ = &listener;
  outlive_daemons_ = job.outlive_daemons != 0;
  for (const JobNode& node : job.nodes) nodes_.push_back({node.node, node.host});
  const std::size_t bytes = encode(job).size();
  if (bytes > kLongestBody) {
    error = "the program's arguments and the environment have " + std::to_string(bytes) +
            " bytes with the list of tasks; allowed over a universe: at most " + std::to_string(kLongestBody);
    return false;
  }
  send(daemon::JobAction::kStart, all_nodes(), std::move(job));
  listener.report_phase("job sent to the nodes");
  complain_at_ = Clock::now() + kStartTime;
  return true;
}

// Tasks may take as long as they like to end by a signal that they handle; nodes have to be there all the while.
void UniverseLink::signal(int signal) {
  if (signal == SIGCONT) {  // what nodes have answered while this process was stopped may not have been read
    if (present_by_) ask_presence();
    if (give_up_at_) give_up_at_ = Clock::now() + kEndTime;
  }
  tell_all(TaskSignal{static_cast<std::uint32_t>(signal)});
  if (signal == SIGTSTP) connection_.flush();  // this process stops next
  if (signal == SIGKILL) give_up_at_ = Clock::now() + kEndTime;
  if (!is_ending_signal(signal)) return;
  ending_signal_ = signal;
  ask_presence();
}

void UniverseLink::end_tasks() {
  tell_all(EndTasks{});
  give_up_at_ = Clock::now() + kEndTime;
}

void UniverseLink::tell(std::size_t node, const JobBody& body) {
  if (!nodes_[node].gone) send(daemon::JobAction::kData, {nodes_[node].number}, body);
}

void UniverseLink::tell_all(const JobBody& body) { send(daemon::JobAction::kData, all_nodes(), body); }

// Whoever does not answer is not waited for long.
void UniverseLink::leave(bool in_order) {
  for (Deadline* deadline : {&present_by_, &give_up_at_, &complain_at_}) deadline->reset();
  send(daemon::JobAction::kEnd, all_nodes(), EndTasks{});
  leave_by_ = Clock::now() + (in_order ? kLeaveTime : kLeaveTime / 4);
}

bool UniverseLink::has_left() const {
  return !connected_ || std::ranges::all_of(nodes_, &Node::gone) || Clock::now() >= leave_by_;
}

std::string UniverseLink::name_of(std::size_t node) const {
  return "n" + std::to_string(nodes_[node].number) + " (" + nodes_[node].host + ")";
}

void UniverseLink::watch(PollSet& poll_set) {
  if (connected_) poll_set.add(connection_.fd(), connection_.events(), [this] { serve_connection(); });
}

void UniverseLink::check() {
  const Clock::time_point now = Clock::now();
  if (complain_at_ && now >= *complain_at_) name_late_nodes();
  if (present_by_ && now >= *present_by_) check_presence();
  if (give_up_at_ && now >= *give_up_at_) give_up(kExitOwnFailure, busy_nodes([](const Node&) { return true; }));
}

void UniverseLink::serve_connection() {
  connected_ = connection_.serve();
  while (const auto bytes = connection_.stream().next()) {
    const auto message = daemon::decode(*bytes);
    if (const auto* of_job = message ? std::get_if<daemon::JobMessage>(&*message) : nullptr) take(*of_job);
  }
  if (connected_) return;
  listener_->break_off(
      kExitOwnFailure,
      std::string("the daemon here (lamd) has ended: ") +
          (outlive_daemons_ ? "its tasks go on by themselves, unless it was told to end" : "the job ends with it"));
}

void UniverseLink::take(const daemon::JobMessage& message) {
  const std::string text(message.body.begin(), message.body.end());
  if (message.action == daemon::JobAction::kBroken) return listener_->break_off(kExitOwnFailure, text);
  const auto found = std::ranges::find(nodes_, message.from, &Node::number);
  if (found == nodes_.end()) return;
  const auto node = static_cast<std::size_t>(found - nodes_.begin());
  if (message.action == daemon::JobAction::kGone) return take_end_of_node(node, text);
  if (message.action == daemon::JobAction::kCutOff) return take_cut_off(node, text);
  auto body = decode_body(message.body);
  if (body && message.action == daemon::JobAction::kData) take_body(node, std::move(*body));
}

void UniverseLink::take_body(std::size_t node, JobBody body) {
  if (std::holds_alternative<TasksStarted>(body)) nodes_[node].started = true;
  if (std::holds_alternative<TasksFinished>(body)) nodes_[node].finished = true;
  if (std::holds_alternative<Present>(body)) nodes_[node].owes_answer = false;
  listener_->take(node, std::move(body));
}

void UniverseLink::take_end_of_node(std::size_t node, const std::string& why) {
  nodes_[node].gone = true;
  if (nodes_[node].finished) return;
  listener_->break_off(kExitOwnFailure,
                       name_of(node) + ": " + (why.empty() ? "lamtasks has ended, and its tasks with it" : why));
}

void UniverseLink::take_cut_off(std::size_t node, const std::string& why) {
  Node& lost = nodes_[node];
  const bool was_over = lost.finished || lost.gone;
  lost.finished = lost.gone = true;
  lost.owes_answer = false;
  if (was_over) return;
  outlive_daemons_ ? listener_->take_cut_off(node) : listener_->break_off(kExitOwnFailure, why);
}

void UniverseLink::ask_presence() {
  for (Node& node : nodes_) node.owes_answer = true;
  tell_all(AskPresence{});
  present_by_ = Clock::now() + kEndTime;
}

void UniverseLink::check_presence() {
  present_by_.reset();
  const std::string silent = busy_nodes([](const Node& node) { return node.owes_answer; });
  silent.empty() ? ask_presence() : give_up(kExitSignalBase + ending_signal_, silent);
}

// Said whatever was said before: what there is to look after.
void UniverseLink::give_up(int status, const std::string& silent) {
  give_up_at_.reset();
  if (silent.empty()) return;
  listener_->note("no answer within " + std::to_string(kEndTime.count()) + " s from " + silent +
                  ": the daemon there (lamd) or lamtasks hangs or is stopped; its tasks may go on");
  listener_->break_off(status, "");
}

// A daemon that hangs, or is stopped, is not lost, and may go on: nothing else would be said for as long as it takes.
void UniverseLink::name_late_nodes() {
  complain_at_.reset();
  const std::string late = busy_nodes([](const Node& node) { return !node.started; });
  if (late.empty()) return;
  listener_->note("no answer after " + std::to_string(kStartTime.count()) + " s from " + late +
                  ": the daemon there (lamd), or one on the way, hangs or is stopped; waiting for it");
}

// Those that are not over and of which this is true.
std::string UniverseLink::busy_nodes(bool (*are)(const Node&)) const {
  std::string names;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const Node& state = nodes_[node];
    if (!state.finished && !state.gone && are(state)) names += (names.empty() ? "" : ", ") + name_of(node);
  }
  return names;
}

std::vector<std::uint32_t> UniverseLink::all_nodes() const {
  std::vector<std::uint32_t> numbers;
  for (const Node& node : nodes_) {
    if (!node.gone) numbers.push_back(node.number);
  }
  return numbers;
}

void UniverseLink::send(std::uint8_t action, const std::vector<std::uint32_t>& to, const JobBody& body) {
  if (connected_) connection_.send(daemon::JobMessage{0, 0, 0, action, to, encode(body)});
}

}  // namespace openlapi::jobs
