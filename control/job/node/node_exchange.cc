#include "control/job/node/node_exchange.h"

#include <algorithm>
#include <string>
#include <utility>

#include "control/job/options/job_options.h"

namespace openlapi::jobs {

void NodeExchange::begin(std::uint32_t here) { collector_.emplace(nodes_, here); }

// One fence of the same tasks at a time: none of them can come to the next before it has left this one.
void NodeExchange::fence(const std::vector<std::uint32_t>& tasks, PmixBytes data, std::function<void(PmixBytes)> done) {
  const std::uint32_t round = rounds_[tasks]++;
  fences_[tasks] = {round, std::move(done)};
  collect(collector_->here(), {tasks, std::move(data), round});
}

void NodeExchange::take(FenceData message, std::uint32_t from) { collect(from, std::move(message)); }

void NodeExchange::collect(std::uint32_t from, FenceData data) {
  auto step = collector_->add(from, std::move(data));
  if (!step) return;
  if (const std::size_t bytes = step->data.data.size(); bytes > kLongestBody) {
    return send_({}, TasksRefused{kExitOwnFailure, "the tasks have put " + std::to_string(bytes) +
                                                       " bytes for an exchange; allowed: at most " +
                                                       std::to_string(kLongestBody)});
  }
  if (step->all_have_come) {
    return send_(step->to, FenceDone{std::move(step->data.tasks), std::move(step->data.data), step->data.round});
  }
  send_(step->to, step->data);
}

void NodeExchange::take(FenceDone message) {
  if (const auto waiting = collector_->finish(message); !waiting.empty()) send_(waiting, message);
  end_fence(message);
}

// It may be told twice.
void NodeExchange::end_fence(const FenceDone& message) {
  const auto found = fences_.find(message.tasks);
  if (found == fences_.end() || found->second.round != message.round) return;
  const auto done = std::move(found->second.done);
  fences_.erase(found);
  done(message.data);
}

// A node that has ended a fence for all may have been told so in vain, too.
void NodeExchange::ask_again() {
  for (FenceStep& step : collector_->unanswered()) send_(step.to, std::move(step.data));
  for (const auto& [number, request] : requests_) send_({request.node}, ModexRequest{number, request.task});
  std::vector<FenceDone> ended;
  for (const auto& [tasks, fence] : fences_) {
    const MessageBytes* result = collector_->result_of(tasks, fence.round);
    if (result != nullptr) ended.push_back({tasks, *result, fence.round});
  }
  for (const FenceDone& message : ended) end_fence(message);
}

void NodeExchange::fetch(std::uint32_t task, std::function<void(int, PmixBytes)> done) {
  const auto node = std::ranges::find_if(
      nodes_, [task](const JobNode& candidate) { return std::ranges::binary_search(candidate.tasks, task); });
  // libpmix itself says what is wrong with a task that there is not.
  if (node == nodes_.end()) return server_.fetch_here(task, std::move(done));
  requests_[++last_request_] = {node->node, task, std::move(done)};
  send_({node->node}, ModexRequest{last_request_, task});
}

void NodeExchange::take(const ModexRequest& message, std::uint32_t from) {
  server_.fetch_here(message.task, [this, from, request = message.request](int status, PmixBytes data) {
    send_({from}, ModexAnswer{request, static_cast<std::uint32_t>(status), std::move(data)});
  });
}

void NodeExchange::take(ModexAnswer message) {
  const auto found = requests_.find(message.request);
  if (found == requests_.end()) return;
  const auto done = std::move(found->second.done);
  requests_.erase(found);
  done(static_cast<int>(message.status), std::move(message.data));
}

void NodeExchange::spread(std::uint32_t task, const AdapterEvent& event) {
  std::vector<std::uint32_t> others;
  for (const JobNode& node : nodes_) {
    if (node.node != collector_->here()) others.push_back(node.node);
  }
  if (!others.empty()) send_(others, TaskEvent{task, encode(event)});
}

// A node speaks for its own tasks alone.
void NodeExchange::take(const TaskEvent& message, std::uint32_t from) {
  const auto node = std::ranges::find(nodes_, from, &JobNode::node);
  if (node == nodes_.end() || !std::ranges::binary_search(node->tasks, message.task)) return;
  if (const auto event = decode_adapter_event(message.event)) server_.deliver(message.task, *event);
}

}  // namespace openlapi::jobs
