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

std::optional<FenceStep> FenceCollector::add(std::uint32_t node, FenceData data) {
  const std::set<std::uint32_t> nodes = awaited(data.tasks);
  if (!nodes.contains(node)) return std::nullopt;
  auto& parts = fences_[data.tasks];
  parts[node] = std::move(data.data);
  if (parts.size() < nodes.size()) return std::nullopt;
  FenceStep step{above_[here_] == here_, {nodes_[here_].reports_to}, {data.tasks, {}}};
  if (step.all_have_come) step.to = nodes_of(data.tasks);
  for (const auto& [from, part] : parts) step.data.data.insert(step.data.data.end(), part.begin(), part.end());
  fences_.erase(data.tasks);
  return step;
}

}  // namespace openlapi::jobs
