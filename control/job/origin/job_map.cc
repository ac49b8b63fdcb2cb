#include "control/job/origin/job_map.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include "control/base/most_tasks.h"
#include "control/boot/include/lamnet.h"
#include "control/daemon/universe/node_words.h"
#include "control/job/options/this_host.h"

namespace openlapi::jobs {
namespace {

using daemon::NodeState;
using daemon::UniverseNode;

// A place for one task; several for the same node follow each other.
using Slots = std::vector<std::uint32_t>;

class SlotFinder {
 public:
  SlotFinder(const std::vector<UniverseNode>& nodes, std::uint32_t here) : nodes_(nodes), here_(here) {}

  void add_word(const std::string& word) {
    const bool all = word == "N" || word == "C";
    const bool by_processor = word[0] == 'c' || word == "C";
    for (const daemon::NodeChoice& choice : daemon::choose_nodes({word}, nodes_, here_)) {
      if (all && !is_for_jobs(choice.node)) continue;
      if (nodes_[choice.node].state == NodeState::kLost) refuse_lost(word, choice.node);
      slots_.insert(slots_.end(), by_processor ? choice.cpus : 1, choice.node);
    }
  }
  void add_host(const std::string& name) {
    const auto node = node_of(name);
    if (!node) throw std::invalid_argument("-host '" + name + "': the universe has no such host; lamnodes lists them");
    if (nodes_[*node].state == NodeState::kLost) refuse_lost("-host " + name, *node);
    slots_.push_back(*node);
  }
  Slots take() { return std::move(slots_); }

 private:
  // This host has other names than lamnodes prints; but that may be another node's.
  std::optional<std::uint32_t> node_of(const std::string& name) const {
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].state != NodeState::kInvalid && nodes_[node].host == name) return node;
    }
    const bool is_there = here_ < nodes_.size() && nodes_[here_].state != NodeState::kInvalid;
    return is_there && is_this_host(name) ? std::optional(here_) : std::nullopt;
  }
  bool is_for_jobs(std::uint32_t node) const {
    return nodes_[node].state == NodeState::kMember && (nodes_[node].type & NT_WASTE) == 0;
  }
  [[noreturn]] void refuse_lost(const std::string& word, std::uint32_t node) const {
    throw std::invalid_argument(word + ": the daemon of n" + std::to_string(node) + " (" + nodes_[node].host +
                                ") is lost");
  }
  const std::vector<UniverseNode>& nodes_;
  std::uint32_t here_;
  Slots slots_{};
};

// Each node once, so many tasks on it.
std::vector<std::uint32_t> fill_nodes(const JobPlacement& placement, const Slots& slots) {
  Slots nodes;
  for (const std::uint32_t node : slots) {
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  }
  const std::uint64_t room = std::uint64_t{placement.per_node} * nodes.size();
  const std::uint64_t wanted = placement.tasks == 0 ? room : placement.tasks;
  if (wanted > room) {
    throw std::invalid_argument("-n " + std::to_string(wanted) + " with -N " + std::to_string(placement.per_node) +
                                ": the " + std::to_string(nodes.size()) + " nodes chosen take " + std::to_string(room) +
                                " tasks");
  }
  std::vector<std::uint32_t> places;
  for (std::uint64_t task = 0; task < wanted && task <= kMostTasks; ++task) {
    places.push_back(nodes[task / placement.per_node]);
  }
  return places;
}

std::vector<std::uint32_t> go_round(const JobPlacement& placement, const Slots& slots) {
  const std::size_t wanted = placement.tasks != 0 ? placement.tasks : placement.names_places() ? slots.size() : 1;
  std::vector<std::uint32_t> places;
  for (std::size_t task = 0; task < wanted && task <= kMostTasks; ++task) places.push_back(slots[task % slots.size()]);
  return places;
}

}  // namespace

std::vector<JobNode> map_tasks(const JobPlacement& placement, const std::vector<UniverseNode>& nodes,
                               std::uint32_t here) {
  SlotFinder finder(nodes, here);
  for (const std::string& word : placement.words) finder.add_word(word);
  for (const std::string& host : placement.hosts) finder.add_host(host);
  if (!placement.names_places()) finder.add_word("C");
  const Slots slots = finder.take();
  if (slots.empty()) {
    throw std::invalid_argument("no node is left for tasks: all are lost, or not to be scheduled on (no_schedule)");
  }
  const auto places = placement.per_node != 0 ? fill_nodes(placement, slots) : go_round(placement, slots);
  if (places.size() > kMostTasks) {
    throw std::invalid_argument("more than " + std::to_string(kMostTasks) + " tasks");
  }
  std::map<std::uint32_t, JobNode> by_node;
  for (std::uint32_t task = 0; task < places.size(); ++task) {
    JobNode& node = by_node.try_emplace(places[task], JobNode{places[task], nodes[places[task]].host}).first->second;
    node.tasks.push_back(task);
  }
  std::vector<JobNode> result;
  for (auto& [number, node] : by_node) result.push_back(std::move(node));
  return result;
}

}  // namespace openlapi::jobs
