#include "control/job/messages/fence_collector.h"

#include <algorithm>
#include <utility>

#include "control/job/messages/fence_tree.h"

namespace openlapi::jobs {

FenceCollector::FenceCollector(const std::vector<JobNode>& nodes, std::uint32_t here)
    : nodes_(nodes), above_(places_above(nodes)) {
  here_ = static_cast<std::size_t>(std::ranges::find(nodes_, here, &JobNode::node) - nodes_.begin());
}

bool FenceCollector::takes_part(const JobNode& node, const std::vector<std::uint32_t>& tasks) const {
  return tasks.empty() ||
         std::ranges::any_of(tasks, [&](std::uint32_t task) { return std::ranges::binary_search(node.tasks, task); });
}

std::vector<std::uint32_t> FenceCollector::nodes_of(const std::vector<std::uint32_t>& tasks) const {
  std::vector<std::uint32_t> nodes;
  for (const JobNode& node : nodes_) {
    if (takes_part(node, tasks)) nodes.push_back(node.node);
  }
  return nodes;
}

// This node, and those reporting to it, if they take part or anybody below them does.
std::set<std::uint32_t> FenceCollector::awaited(const std::vector<std::uint32_t>& tasks) const {
  std::set<std::uint32_t> nodes;
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    if (!takes_part(nodes_[place], tasks)) continue;
    std::size_t at = place;
    while (at != here_ && above_[at] != here_ && above_[at] != at) at = above_[at];
    if (at == here_ || above_[at] == here_) nodes.insert(nodes_[at].node);
  }
  return nodes;
}

FenceStep FenceCollector::step_of(const Tasks& tasks, std::uint32_t round, MessageBytes data) const {
  return {above_[here_] == here_, {nodes_[here_].reports_to}, {tasks, std::move(data), round}};
}

std::optional<FenceStep> FenceCollector::add(std::uint32_t node, FenceData data) {
  const std::set<std::uint32_t> nodes = awaited(data.tasks);
  if (!nodes.contains(node)) return std::nullopt;
  if (const MessageBytes* result = result_of(data.tasks, data.round)) {
    return FenceStep{true, {node}, {std::move(data.tasks), *result, data.round}};
  }
  auto& rounds = fences_[data.tasks];
  Fence& fence = rounds[data.round];
  if (fence.sent) {
    fence.asked_again.insert(node);
    return std::nullopt;
  }
  fence.parts[node] = std::move(data.data);
  if (fence.parts.size() < nodes.size()) return std::nullopt;
  rounds.erase(rounds.begin(), rounds.find(data.round));  // over for all, or nobody had come to this one
  MessageBytes all;
  for (const auto& [from, part] : fence.parts) all.insert(all.end(), part.begin(), part.end());
  fence.parts.clear();
  FenceStep step = step_of(data.tasks, data.round, all);
  if (!step.all_have_come) {
    fence.sent = std::move(all);
    return step;
  }
  step.to = nodes_of(data.tasks);
  finish({std::move(data.tasks), std::move(all), data.round});
  return step;
}

// Of a later round some may have come already.
std::vector<std::uint32_t> FenceCollector::finish(const FenceDone& done) {
  std::vector<std::uint32_t> waiting;
  auto& rounds = fences_[done.tasks];
  if (const auto fence = rounds.find(done.round); fence != rounds.end()) {
    waiting.assign(fence->second.asked_again.begin(), fence->second.asked_again.end());
    rounds.erase(fence);
  }
  if (rounds.empty()) fences_.erase(done.tasks);
  const auto [result, is_first] = results_.try_emplace(done.tasks, Result{done.round, done.data});
  if (!is_first && result->second.round < done.round) result->second = {done.round, done.data};
  return waiting;
}

std::vector<FenceStep> FenceCollector::unanswered() const {
  std::vector<FenceStep> steps;
  for (const auto& [tasks, rounds] : fences_) {
    for (const auto& [round, fence] : rounds) {
      if (fence.sent) steps.push_back(step_of(tasks, round, *fence.sent));
    }
  }
  return steps;
}

// Nobody asks for one before the last: he has had the end of it.
const MessageBytes* FenceCollector::result_of(const std::vector<std::uint32_t>& tasks, std::uint32_t round) const {
  const auto result = results_.find(tasks);
  return result != results_.end() && result->second.round == round ? &result->second.data : nullptr;
}

}  // namespace openlapi::jobs
