#include "control/jobs/fence_collector.h"

#include <algorithm>
#include <utility>

namespace openlapi::jobs {

std::vector<std::uint32_t> FenceCollector::nodes_of(const std::vector<std::uint32_t>& tasks) const {
  std::vector<std::uint32_t> nodes;
  for (const JobNode& node : nodes_) {
    const bool takes_part = tasks.empty() || std::ranges::any_of(tasks, [&](std::uint32_t task) {
                              return std::ranges::binary_search(node.tasks, task);
                            });
    if (takes_part) nodes.push_back(node.node);
  }
  return nodes;
}

std::optional<FenceResult> FenceCollector::add(std::uint32_t node, FenceData data) {
  const std::vector<std::uint32_t> awaited = nodes_of(data.tasks);
  if (std::ranges::find(awaited, node) == awaited.end()) return std::nullopt;
  auto& parts = fences_[data.tasks];
  parts[node] = std::move(data.data);
  if (parts.size() < awaited.size()) return std::nullopt;
  FenceResult result{awaited, {data.tasks, {}}};
  for (const auto& [from, part] : parts) result.done.data.insert(result.done.data.end(), part.begin(), part.end());
  fences_.erase(data.tasks);
  return result;
}

}  // namespace openlapi::jobs
