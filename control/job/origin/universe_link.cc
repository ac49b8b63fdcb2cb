#include "control/job/origin/universe_link.h"

#include <signal.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "control/job/messages/message_to.h"
#include "control/job/messages/return_way.h"
#include "control/job/node/signal_source.h"
#include "control/job/options/job_options.h"

namespace openlapi::jobs {
namespace {

constexpr std::chrono::seconds kLeaveTime{2};
constexpr std::chrono::seconds kStartTime{10};  // after which the user wants to know what lapirun waits for

constexpr auto kIsAwaited = [](const auto& node) { return node.return_by.has_value(); };

}  // namespace

bool UniverseLink::start(StartTasks job, Listener& listener, std::string& error) {
  listener_ = &listener;
  outlive_daemons_ = job.outlive_daemons != 0;
  for (const JobNode& node : job.nodes) nodes_.push_back({node.node, node.host});
  if (returns_.open(address_)) job.return_to = returns_.address();
  const std::size_t bytes = encode(job).size();
  if (bytes > kLongestBody) {
    error = "the program's arguments and the environment have " + std::to_string(bytes) +
            " bytes with the list of tasks; allowed over a universe: at most " + std::to_string(kLongestBody);
    return false;
  }
  std::vector<std::uint32_t> numbers;
  for (const Node& node : nodes_) numbers.push_back(node.number);
  send(daemon::JobAction::kStart, numbers, encode(job));
  listener.report_phase("job sent to the nodes");
  complain_at_ = now_() + kStartTime;
  return true;
}

// Tasks may take as long as they like to end by a signal that they handle; nodes have to be there all the while.
void UniverseLink::signal(int signal) {
  if (signal == SIGCONT) {  // what nodes have answered while this process was stopped may not have been read
    if (present_by_) ask_presence();
    if (give_up_at_) give_up_at_ = now_() + kEndTime;
    for (Node& node : nodes_) {
      if (node.return_by) node.return_by = std::max(*node.return_by, now_() + kReturnTime);
    }
  }
  tell_all(TaskSignal{static_cast<std::uint32_t>(signal)});
  if (signal == SIGTSTP) {  // this process stops next
    connection_.flush();
    for (Node& node : nodes_) {
      if (node.own_way.is_open()) node.own_way.flush();
    }
  }
  if (signal == SIGKILL) give_up_at_ = now_() + kEndTime;
  if (!is_ending_signal(signal)) return;
  ending_signal_ = signal;
  ask_presence();
}

void UniverseLink::end_tasks() {
  tell_all(EndTasks{});
  give_up_at_ = now_() + kEndTime;
}

void UniverseLink::tell(std::size_t node, const JobBody& body) { tell_nodes({node}, body); }

void UniverseLink::tell_all(const JobBody& body) { tell_nodes(all_places(), body); }

// Kept for each until it has confirmed it; to those that daemons reach it goes as one message.
void UniverseLink::tell_nodes(const std::vector<std::size_t>& places, const JobBody& body) {
  const MessageBytes bytes = encode(body);
  std::vector<std::uint32_t> by_daemons;
  for (const std::size_t place : places) {
    Node& node = nodes_[place];
    if (node.gone) continue;
    node.counted.sent(bytes);
    if (node.own_way.is_open()) {
      node.own_way.send(message_to({node.number}, bytes));
    } else if (!node.has_lost_daemon) {
      by_daemons.push_back(node.number);
    }
  }
  if (!by_daemons.empty()) send(daemon::JobAction::kData, by_daemons, bytes);
}

// Not counted.
void UniverseLink::answer(Node& node, const JobBody& body) {
  const daemon::JobMessage message = message_to({node.number}, encode(body));
  if (node.own_way.is_open()) return node.own_way.send(message);
  if (connected_ && !node.has_lost_daemon) connection_.send(message);
}

// Whoever does not answer is not waited for long.
void UniverseLink::leave(bool in_order) {
  leaving_ = true;
  for (Deadline* deadline : {&present_by_, &give_up_at_, &complain_at_}) deadline->reset();
  for (Node& node : nodes_) node.return_by.reset();
  end_helpers();
  leave_by_ = now_() + (in_order ? kLeaveTime : kLeaveTime / 4);
}

void UniverseLink::end_helpers() {
  std::vector<std::uint32_t> by_daemons;
  for (Node& node : nodes_) {
    if (node.own_way.is_open()) {
      node.own_way.send(message_to({node.number}, encode(EndTasks{}), daemon::JobAction::kEnd));
    } else if (!node.gone && !node.has_lost_daemon) {
      by_daemons.push_back(node.number);
    }
  }
  if (!by_daemons.empty()) send(daemon::JobAction::kEnd, by_daemons, encode(EndTasks{}));
}

// A helper that is on its way here is awaited, too; one whose daemon has ended the job will not come.
bool UniverseLink::has_left() const {
  return now_() >= leave_by_ || std::ranges::all_of(nodes_, [this](const Node& node) {
           return node.gone || (!connected_ && broken_ && !node.own_way.is_open());
         });
}

std::string UniverseLink::name_of(std::size_t node) const {
  return "n" + std::to_string(nodes_[node].number) + " (" + nodes_[node].host + ")";
}

void UniverseLink::watch(PollSet& poll_set) {
  if (connected_) poll_set.add(connection_.fd(), connection_.events(), [this] { serve_connection(); });
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    daemon::Connection& way = nodes_[node].own_way;
    if (way.is_open()) poll_set.add(way.fd(), way.events(), [this, node] { serve_way(node); });
  }
  returns_.watch(poll_set, returned_);
}

Deadline UniverseLink::deadline() const {
  Deadline next = earliest({present_by_, give_up_at_, complain_at_, leave_by_, returns_.deadline()});
  for (const Node& node : nodes_) next = earliest({next, node.return_by});
  return next;
}

void UniverseLink::check() {
  const Clock::time_point now = now_();
  give_up_returns();
  if (complain_at_ && now >= *complain_at_) name_late_nodes();
  if (present_by_ && now >= *present_by_) check_presence();
  if (give_up_at_ && now >= *give_up_at_) check_end();
}

void UniverseLink::take_body(std::size_t node, const MessageBytes& bytes) {
  Node& state = nodes_[node];
  auto body = decode_body(bytes);
  if (!body) return;
  if (const auto* confirmed = std::get_if<Confirmed>(&*body)) return state.counted.confirm(confirmed->taken);
  if (state.counted.took(bytes.size())) answer(state, Confirmed{state.counted.taken()});
  if (auto* passed = std::get_if<Passed>(&*body)) return pass(node, std::move(*passed));
  if (std::holds_alternative<TasksStarted>(*body)) state.started = true;
  if (std::holds_alternative<TasksFinished>(*body)) state.finished = true;
  if (std::holds_alternative<Present>(*body)) state.owes_answer = false;
  listener_->take(node, std::move(*body));
}

void UniverseLink::take_end_of_node(std::size_t node, const std::string& why) {
  nodes_[node].gone = true;
  nodes_[node].return_by.reset();
  if (nodes_[node].finished) return;
  listener_->break_off(kExitOwnFailure,
                       name_of(node) + ": " + (why.empty() ? "lamtasks has ended, and its tasks with it" : why));
}

void UniverseLink::ask_presence() {
  for (Node& node : nodes_) node.owes_answer = true;
  tell_all(AskPresence{});
  present_by_ = now_() + kEndTime;
}

void UniverseLink::check_presence() {
  present_by_.reset();
  const std::string silent = busy_nodes([](const Node& node) { return node.owes_answer && !node.return_by; });
  silent.empty() ? ask_presence() : give_up(kExitSignalBase + ending_signal_, silent);
}

// Whoever is awaited may not have heard of the end yet, nor that it has to come here.
void UniverseLink::check_end() {
  give_up_at_.reset();
  const std::string silent = busy_nodes([](const Node& node) { return !node.return_by; });
  if (!silent.empty()) return give_up(kExitOwnFailure, silent);
  if (!busy_nodes(kIsAwaited).empty()) give_up_at_ = now_() + kEndTime;
}

// Said whatever was said before: what there is to look after.
void UniverseLink::give_up(int status, const std::string& silent) {
  give_up_at_.reset();
  listener_->note("no answer within " + std::to_string(kEndTime.count()) + " s from " + silent +
                  ": the daemon there (lamd) or lamtasks hangs or is stopped; its tasks may go on");
  const std::string awaited = busy_nodes(kIsAwaited);
  if (!awaited.empty()) listener_->note("not reached, as a daemon is lost: " + awaited + "; its tasks may go on");
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

std::vector<std::size_t> UniverseLink::all_places() const {
  std::vector<std::size_t> places(nodes_.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

std::optional<std::size_t> UniverseLink::place_of(std::uint32_t number) const {
  const auto found = std::ranges::find(nodes_, number, &Node::number);
  if (found == nodes_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - nodes_.begin());
}

void UniverseLink::send(std::uint8_t action, const std::vector<std::uint32_t>& to, const MessageBytes& body) {
  if (connected_) connection_.send(message_to(to, body, action));
}

}  // namespace openlapi::jobs
