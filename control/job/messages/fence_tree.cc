#include "control/job/messages/fence_tree.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace openlapi::jobs {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};

// The deepest first. What is no tree ends where it cannot be deeper.
std::vector<std::uint32_t> upwards(const std::vector<std::uint32_t>& parents) {
  std::vector<std::size_t> depths(parents.size());
  for (std::uint32_t node = 0; node < parents.size(); ++node) {
    for (std::uint32_t at = node; parents[at] != at && depths[node] < parents.size(); at = parents[at]) ++depths[node];
  }
  std::vector<std::uint32_t> order(parents.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::uint32_t node) { return depths[node]; });
  return order;
}

}  // namespace

void link_nodes(std::vector<JobNode>& nodes, const std::vector<std::uint32_t>& parents) {
  std::vector<std::uint32_t> speakers(parents.size(), kNobody);  // who speaks for a daemon and all below it
  std::map<std::uint32_t, std::uint32_t> reports_to;
  for (const JobNode& node : nodes) speakers[node.node] = node.node;
  std::uint32_t first = kNobody;
  for (const std::uint32_t node : upwards(parents)) {
    if (speakers[node] == kNobody) continue;
    std::uint32_t& above = parents[node] == node ? first : speakers[parents[node]];
    if (above == kNobody) above = speakers[node];
    if (above != speakers[node]) reports_to[speakers[node]] = above;
  }
  for (JobNode& node : nodes) {
    const auto found = reports_to.find(node.node);
    node.reports_to = found == reports_to.end() ? node.node : found->second;
  }
}

std::vector<std::size_t> places_above(const std::vector<JobNode>& nodes) {
  std::map<std::uint32_t, std::size_t> places;
  for (std::size_t place = 0; place < nodes.size(); ++place) places[nodes[place].node] = place;
  std::vector<std::size_t> above;
  for (const JobNode& node : nodes) {
    const auto found = places.find(node.reports_to);
    above.push_back(found == places.end() ? kNoPlace : found->second);
  }
  return above;
}

bool is_fence_tree(const std::vector<JobNode>& nodes) {
  const std::vector<std::size_t> above = places_above(nodes);
  if (std::ranges::find(above, kNoPlace) != above.end()) return false;
  // Paths are looked at once: beyond a place that was found to lead to the root nothing is new.
  std::vector<std::size_t> walks(nodes.size(), kNoPlace);
  std::size_t roots = 0;
  for (std::size_t start = 0; start < nodes.size(); ++start) {
    std::size_t at = start;
    for (; walks[at] == kNoPlace; at = above[at]) walks[at] = start;
    if (above[at] == at) {
      roots += walks[at] == start ? 1 : 0;
    } else if (walks[at] == start) {
      return false;  // back where this walk has been
    }
  }
  return roots == 1;
}

}  // namespace openlapi::jobs
