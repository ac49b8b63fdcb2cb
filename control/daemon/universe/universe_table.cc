#include "control/daemon/universe/universe_table.h"

#include <arpa/inet.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "control/boot/include/lamnet.h"
#include "control/boot/include/net.h"

namespace openlapi::daemon {

namespace {

constexpr std::size_t kMostNamed = 5;

}  // namespace

UniverseNode universe_node_of(const lamnode& node) {
  UniverseNode result;
  if (node.lnd_nodeid == NOTNODEID) return result;
  result.state = NodeState::kMember;
  result.address = ntohl(node.lnd_addr.sin_addr.s_addr);
  result.port = ntohs(node.lnd_addr.sin_port);
  result.type = static_cast<std::uint32_t>(node.lnd_type & NT_WASTE);
  result.cpus = static_cast<std::uint32_t>(node.lnd_ncpus < 1 ? 1 : node.lnd_ncpus);
  result.host = node.lnd_hname == nullptr ? "" : node.lnd_hname;
  return result;
}

std::string name_of(std::uint32_t number, const std::vector<UniverseNode>& nodes) {
  const std::string& host = nodes[number].host;
  return "n" + std::to_string(number) + (host.empty() ? "" : " (" + host + ")");
}

std::string names_of(const std::vector<std::uint32_t>& numbers, const std::vector<UniverseNode>& nodes) {
  std::string names;
  const std::size_t named = std::min(numbers.size(), kMostNamed);
  for (std::size_t n = 0; n < named; ++n) names += (n == 0 ? "" : ", ") + name_of(numbers[n], nodes);
  return names + (named == numbers.size() ? "" : " and " + std::to_string(numbers.size() - named) + " more");
}

bool is_newer(const UniverseNode& left, const UniverseNode& right) {
  return std::tie(left.stamp, left.state, left.address, left.port) >
         std::tie(right.stamp, right.state, right.address, right.port);
}

UniverseTable::UniverseTable(std::vector<UniverseNode> nodes, std::uint32_t origin, std::uint32_t here,
                             std::uint32_t degree)
    : nodes_(std::move(nodes)), origin_(origin), here_(here), degree_(degree) {
  if (degree == 0 || nodes_.size() > kMostNodes || origin >= nodes_.size() || !is_member(here)) {
    throw std::invalid_argument("a universe of " + std::to_string(nodes_.size()) + " nodes with origin n" +
                                std::to_string(origin) + ", seen from n" + std::to_string(here) +
                                ": these are not nodes of it");
  }
  sort();
  link();
}

void UniverseTable::sort() {
  const auto add_booted = [&](std::uint32_t node) {
    const bool was_booted = nodes_[node].stamp == 0 && nodes_[node].state != NodeState::kInvalid;
    order_.push_back(was_booted ? node : kNobody);
  };
  std::vector<std::uint32_t> joined;
  order_.clear();
  add_booted(origin_);
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    if (node != origin_) add_booted(node);
    if (nodes_[node].stamp != 0) joined.push_back(node);
  }
  std::ranges::stable_sort(joined, {}, [&](std::uint32_t node) { return nodes_[node].stamp; });
  order_.insert(order_.end(), joined.begin(), joined.end());
  positions_.assign(nodes_.size(), kNobody);
  for (std::uint32_t position = 0; position < order_.size(); ++position) {
    if (order_[position] != kNobody) positions_[order_[position]] = position;
  }
}

bool UniverseTable::apply(const NodeRecord& record) {
  if (record.number >= kMostNodes) return false;
  if (record.number >= nodes_.size()) nodes_.resize(record.number + 1);
  UniverseNode& node = nodes_[record.number];
  if (!is_newer(record.node, node)) return false;
  node = record.node;
  sort();
  link();
  return true;
}

bool UniverseTable::set_state(std::uint32_t node, std::uint8_t state) {
  if (node >= nodes_.size() || nodes_[node].state == NodeState::kInvalid) return false;
  NodeRecord record{node, nodes_[node]};
  record.node.state = state;
  return apply(record);
}

std::vector<NodeRecord> UniverseTable::changes() const {
  std::vector<NodeRecord> changes;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].stamp != 0 || nodes_[node].state > NodeState::kMember) changes.push_back({node, nodes_[node]});
  }
  return changes;
}

std::uint32_t UniverseTable::next_stamp() const { return std::ranges::max(nodes_, {}, &UniverseNode::stamp).stamp + 1; }

// A parent's position is always lower, so the links have no circle.
std::optional<std::size_t> UniverseTable::parent_of(std::size_t position) const {
  const std::uint32_t node = order_[position];
  if (node != kNobody && nodes_[node].stamp != 0) {
    const std::uint32_t sponsor = nodes_[node].sponsor;
    if (is_member(sponsor) && position_of(sponsor) < position) return position_of(sponsor);
  } else {
    for (std::size_t above = position; above > 0;) {
      above = (above - 1) / degree_;
      if (lives(above)) return above;
    }
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

std::vector<std::uint32_t> UniverseTable::parents() const {
  std::vector<std::uint32_t> parents(nodes_.size());
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    const auto above = is_member(node) ? parent_of(position_of(node)) : std::nullopt;
    parents[node] = above ? order_[*above] : node;
  }
  return parents;
}

// From both ends upwards, whoever is lower, until they meet.
std::vector<std::uint32_t> UniverseTable::path(std::uint32_t from, std::uint32_t to) const {
  if (!is_member(from) || !is_member(to)) return {};
  std::vector<std::uint32_t> begin, end;
  for (std::size_t left = position_of(from), right = position_of(to);;) {
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
