#include "control/job/node/node_service.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "control/daemon/session/session_folder.h"
#include "control/job/options/job_options.h"

namespace openlapi::jobs {

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
               // Without a daemon nobody else ends the job.
               if (!connected_ && std::holds_alternative<TaskAborted>(body)) tasks_.end_tasks();
             }),
      exchange_(job_.tasks.nodes, tasks_.server(),
                [this](const std::vector<std::uint32_t>& to, const JobBody& body) { send(to, body); }) {}

// A task can end before another has been started; whoever ends is looked at only in the loop.
void NodeService::run() {
  exchange_.begin(job_.this_node().node);
  TasksRefused refused{kExitOwnFailure, {}};
  signals_.open(refused.why) ? tasks_.start() : send({}, refused);
  while (connected_) wait_once();
  if (job_.tasks.outlive_daemons != 0 && !over_) live_on();
  tasks_.end_job();
}

// Nobody hears of the tasks any more. A folder beside the lost daemon's tells tkill of this process; without one the
// tasks end.
void NodeService::live_on() {
  daemon::SessionFolder session(session_ + "-t" + std::to_string(getpid()));
  session.write_process_number(getpid());
  tasks_.close_input();
  while (tasks_.are_running() && !over_) {
    tasks_.drop_output();
    wait_once();
  }
}

void NodeService::wait_once() {
  PollSet poll_set;
  if (connected_) poll_set.add(connection_.fd(), connection_.events(), [this] { serve_connection(); });
  if (signals_.fd() >= 0) poll_set.add(signals_.fd(), POLLIN, [this] { take_signals(); });
  tasks_.watch(poll_set);
  poll_set.wait(milliseconds_until(tasks_.deadline()));
  tasks_.check();
}

void NodeService::take_signals() {
  const int signal = signals_.next();
  if (signal != SIGTERM && signal != SIGINT && signal != SIGHUP) return;
  over_ = true;
  connected_ = false;
}

void NodeService::serve_connection() {
  const bool goes_on = connection_.serve();
  while (const auto bytes = connection_.stream().next()) {
    const auto message = daemon::decode(*bytes);
    if (const auto* of_job = message ? std::get_if<daemon::JobMessage>(&*message) : nullptr) take(*of_job);
  }
  if (!goes_on) connected_ = false;
}

void NodeService::take(const daemon::JobMessage& message) {
  over_ = over_ || message.action == daemon::JobAction::kEnd;
  auto body = decode_body(message.body);
  if (!body) return;
  if (auto* data = std::get_if<FenceData>(&*body)) return exchange_.take(std::move(*data), message.from);
  if (auto* fence = std::get_if<FenceDone>(&*body)) return exchange_.take(std::move(*fence));
  if (const auto* request = std::get_if<ModexRequest>(&*body)) return exchange_.take(*request, message.from);
  if (auto* answer = std::get_if<ModexAnswer>(&*body)) return exchange_.take(std::move(*answer));
  if (const auto* told = std::get_if<TaskEvent>(&*body)) return exchange_.take(*told, message.from);
  tasks_.take(std::move(*body));
}

void NodeService::send(const std::vector<std::uint32_t>& to, const JobBody& body) {
  if (connected_) connection_.send(daemon::JobMessage{0, 0, 0, daemon::JobAction::kData, to, encode(body)});
}

}  // namespace openlapi::jobs
