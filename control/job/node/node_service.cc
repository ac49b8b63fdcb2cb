#include "control/job/node/node_service.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "control/job/messages/message_to.h"
#include "control/job/options/job_options.h"

namespace openlapi::jobs {
namespace {

constexpr std::chrono::seconds kLastWord{1};  // until lapirun is reached, and has taken it

}  // namespace

std::optional<NodeJob> await_job(daemon::Connection& connection) {
  do {
    if (const auto bytes = connection.stream().next()) {
      const auto message = daemon::decode(*bytes);
      const auto* of_job = message ? std::get_if<daemon::JobMessage>(&*message) : nullptr;
      auto body = of_job != nullptr ? decode_body(of_job->body) : std::nullopt;
      auto* start = body ? std::get_if<StartTasks>(&*body) : nullptr;
      if (start == nullptr || of_job->to.empty()) return std::nullopt;
      const auto this_node = std::ranges::find(start->nodes, of_job->to.front(), &JobNode::node);
      if (this_node == start->nodes.end() || this_node->tasks.empty()) return std::nullopt;
      NodeJob job;
      job.here = static_cast<std::size_t>(this_node - start->nodes.begin());
      job.place = " on n" + std::to_string(this_node->node) + " (" + this_node->host + ")";
      job.tasks = std::move(*start);
      return job;
    }
    pollfd wait{connection.fd(), POLLIN, 0};
    poll(&wait, 1, -1);
  } while (connection.serve());
  return std::nullopt;
}

NodeService::NodeService(NodeJob job, daemon::Connection connection, std::string session)
    : job_(std::move(job)),
      connection_(std::move(connection)),
      session_(std::move(session)),
      tasks_(job_, signals_, &exchange_,
             [this](const JobBody& body) {
               send({}, body);
               aborted_ = aborted_ || std::holds_alternative<TaskAborted>(body);
             }),
      exchange_(job_.tasks.nodes, tasks_.server(),
                [this](const std::vector<std::uint32_t>& to, const JobBody& body) { send(to, body); }) {}

// A task can end before another has been started; whoever ends is looked at only in the loop.
void NodeService::run() {
  exchange_.begin(job_.this_node().node);
  TasksRefused refused{kExitOwnFailure, {}};
  signals_.open(refused.why) ? tasks_.start() : send({}, refused);
  while (way_ != Way::kNone) wait_once();
  if (job_.tasks.outlive_daemons != 0 && !over_) live_on();
  tasks_.end_job();
  folder_.reset();
}

// Nobody hears of the tasks any more, nor ends the job for one that has aborted it, perhaps before.
void NodeService::live_on() {
  tasks_.close_input();
  while (tasks_.are_running() && !over_) {
    if (aborted_) tasks_.end_tasks();
    tasks_.drop_output();
    wait_once();
  }
}

void NodeService::wait_once() {
  PollSet poll_set;
  const bool connects = way_ == Way::kConnects, has_last_word = over_ && way_ != Way::kDaemon;
  if (connects) {
    if (connection_.fd() >= 0) poll_set.add(connection_.fd(), POLLOUT, [this] { finish_connect(); });
  } else if (way_ != Way::kNone) {
    poll_set.add(connection_.fd(), connection_.events(), [this] { serve_connection(); });
  }
  if (signals_.fd() >= 0) poll_set.add(signals_.fd(), POLLIN, [this] { take_signals(); });
  tasks_.watch(poll_set);
  poll_set.wait(milliseconds_until(earliest({tasks_.deadline(), connects || has_last_word ? return_by_ : Deadline(),
                                             connects ? try_again_at_ : Deadline()})));
  tasks_.check();
  go_on_with_return();
}

void NodeService::take_signals() {
  const int signal = signals_.next();
  if (signal != SIGTERM && signal != SIGINT && signal != SIGHUP) return;
  const bool is_first = !std::exchange(over_, true);
  if (way_ == Way::kDaemon) way_ = Way::kNone;  // it tells by itself that this process has ended
  if (way_ == Way::kNone || !is_first) return;
  send({}, TasksRefused{kExitOwnFailure, "lamtasks was told to end, and its tasks with it"});
  return_by_ = std::chrono::steady_clock::now() + kLastWord;
  tasks_.end_tasks();
}

void NodeService::serve_connection() {
  const bool goes_on = connection_.serve();
  while (const auto bytes = connection_.stream().next()) {
    const auto message = daemon::decode(*bytes);
    if (const auto* of_job = message ? std::get_if<daemon::JobMessage>(&*message) : nullptr) take(*of_job);
  }
  if (!goes_on) lose_way();
}

void NodeService::take(const daemon::JobMessage& message) {
  const bool ends = message.action == daemon::JobAction::kEnd;
  over_ = over_ || ends;
  if (ends && way_ != Way::kDaemon) way_ = Way::kNone;
  auto body = decode_body(message.body);
  if (!body || message.action != daemon::JobAction::kData) return;
  is_among_helpers(*body) ? take_from_helper(std::move(*body), message.from)
                          : take_from_lapirun(std::move(*body), message.body.size());
}

void NodeService::take_from_lapirun(JobBody body, std::size_t bytes) {
  if (const auto* confirmed = std::get_if<Confirmed>(&body)) return counted_.confirm(confirmed->taken);
  if (const auto* returned = std::get_if<Returned>(&body)) return take_returned(*returned);
  if (counted_.took(bytes)) send_bytes({}, encode(Confirmed{counted_.taken()}));
  if (std::holds_alternative<ThroughLapirun>(body)) return go_through_lapirun();
  if (const auto* passed = std::get_if<Passed>(&body)) {
    auto inner = decode_body(passed->body);
    if (inner && is_among_helpers(*inner) && !passed->nodes.empty()) {
      take_from_helper(std::move(*inner), passed->nodes.front());
    }
    return;
  }
  tasks_.take(std::move(body));
}

void NodeService::take_from_helper(JobBody body, std::uint32_t from) {
  if (auto* data = std::get_if<FenceData>(&body)) return exchange_.take(std::move(*data), from);
  if (auto* fence = std::get_if<FenceDone>(&body)) return exchange_.take(std::move(*fence));
  if (const auto* request = std::get_if<ModexRequest>(&body)) return exchange_.take(*request, from);
  if (auto* answer = std::get_if<ModexAnswer>(&body)) return exchange_.take(std::move(*answer));
  if (const auto* told = std::get_if<TaskEvent>(&body)) return exchange_.take(*told, from);
}

// For lapirun it is kept until it is confirmed, and so is what lapirun passes on.
void NodeService::send(const std::vector<std::uint32_t>& to, const JobBody& body) {
  MessageBytes bytes = encode(body);
  if (!to.empty() && !goes_through_lapirun_) return send_bytes(to, std::move(bytes));
  if (!to.empty()) bytes = encode(Passed{to, std::move(bytes)});
  counted_.sent(bytes);
  send_bytes({}, std::move(bytes));
}

void NodeService::send_bytes(const std::vector<std::uint32_t>& to, MessageBytes bytes) {
  if (way_ != Way::kDaemon && way_ != Way::kLapirun) return;
  connection_.send(message_to(to, std::move(bytes)));
}

}  // namespace openlapi::jobs
