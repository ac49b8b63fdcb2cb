#include "control/job/node/node_service.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "control/daemon/session/session_folder.h"
#include "control/job/options/job_options.h"
#include "control/job/options/program_path.h"

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
  TasksRefused refused;
  prepare(refused) ? tasks_.start() : send({}, refused);
  while (connected_) wait_once();
  if (job_.tasks.outlive_daemons != 0 && !over_) live_on();
  tasks_.end_job();
}

// The environment of this process is the daemon's; what the job's says to libpmix is for the server too.
bool NodeService::prepare(TasksRefused& refused) {
  const std::vector<std::string> entries = unpack_words(job_.tasks.environment);
  for (const std::string& entry : entries) job_.environment.set_entry(entry);
  if (!find_program(refused)) return false;
  forget_other_job();
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (entry.starts_with("PMIX_MCA_") && equals != std::string::npos)
      setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
  refused.status = kExitOwnFailure;
  return signals_.open(refused.why);
}

bool NodeService::find_program(TasksRefused& refused) {
  if (chdir(job_.tasks.directory.c_str()) != 0) {
    const int reason = errno;
    const bool is_mistake = reason == ENOENT || reason == ENOTDIR;
    refused.status = static_cast<std::uint32_t>(is_mistake ? kExitUsage : kExitOwnFailure);
    refused.why = "cannot change to '" + job_.tasks.directory + "': " + std::strerror(reason);
    return false;
  }
  const std::vector<std::string> arguments = unpack_words(job_.tasks.arguments);
  const ProgramPath found = openlapi::find_program(arguments[0], job_.environment.get("PATH"), "");
  job_.program = found.path;
  refused.status = static_cast<std::uint32_t>(found.status);
  refused.why = found.error;
  return found.status == 0;
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
