#include "control/daemon/universe_table.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace openlapi::daemon {

UniverseTable::UniverseTable(std::vector<UniverseNode> nodes, std::uint32_t origin, std::uint32_t here,
                             std::uint32_t degree)
    : nodes_(std::move(nodes)), here_(here), degree_(degree) {
  if (degree == 0 || !is_member(origin) || !is_member(here)) {
    throw std::invalid_argument("a universe of " + std::to_string(nodes_.size()) + " nodes with origin n" +
                                std::to_string(origin) + ", seen from n" + std::to_string(here) +
                                ": these are not nodes of it");
  }
  order_.push_back(origin);
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    if (node != origin && nodes_[node].state != NodeState::kInvalid) order_.push_back(node);
  }
  link();
}

bool UniverseTable::set_lost(std::uint32_t node) {
  if (!is_member(node)) return false;
  nodes_[node].state = NodeState::kLost;
  link();
  return true;
}

std::vector<std::uint32_t> UniverseTable::lost() const {
  std::vector<std::uint32_t> lost;
  for (const std::uint32_t node : order_) {
    if (!is_member(node)) lost.push_back(node);
  }
  return lost;
}

// A parent's position is always lower, so the links have no circle.
std::optional<std::size_t> UniverseTable::parent_of(std::size_t position) const {
  for (std::size_t above = position; above > 0;) {
    above = (above - 1) / degree_;
    if (lives(above)) return above;
  }
  std::size_t first = 0;
  while (first < position && !lives(first)) ++first;
  return first < position ? std::optional(first) : std::nullopt;
}

void UniverseTable::link() {
  parent_.reset();
  children_.clear();
  for (std::size_t position = 0; position < order_.size(); ++position) {
    if (!lives(position) && order_[position] != here_) continue;
    const auto above = parent_of(position);
    if (!above) continue;
    if (order_[position] == here_) parent_ = order_[*above];
    if (order_[*above] == here_) children_.push_back(order_[position]);
  }
}

// From both ends upwards, whoever is lower, until they meet.
std::vector<std::uint32_t> UniverseTable::path(std::uint32_t from, std::uint32_t to) const {
  if (!is_member(from) || !is_member(to)) return {};
  const auto position = [&](std::uint32_t node) {
    return static_cast<std::size_t>(std::ranges::find(order_, node) - order_.begin());
  };
  std::vector<std::uint32_t> begin, end;
  for (std::size_t left = position(from), right = position(to);;) {
    if (left == right) {
      begin.push_back(order_[left]);
      break;
    }
    const bool left_climbs = left > right;
    const auto above = parent_of(left_climbs ? left : right);
    (left_climbs ? begin : end).push_back(order_[left_climbs ? left : right]);
    if (!above) return {};
    (left_climbs ? left : right) = *above;
  }
  begin.insert(begin.end(), end.rbegin(), end.rend());
  return begin;
}

}  // namespace openlapi::daemon
