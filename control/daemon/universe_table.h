// The nodes of a universe as a daemon knows them, and the tree in which their daemons are linked.
//
// The tree is computed, never negotiated: all daemons have the same list. The origin is its root, the other nodes
// follow in the order of their numbers, each daemon has at most kTreeDegree below it. Where a daemon is lost, those
// below it belong to its nearest living ancestor; when the root and all ancestors are lost, to the first that lives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace openlapi::daemon {

// 256 nodes are two links away from the root, 4,096 three; a daemon has 17 connections to others at most, plus those of
// daemons whose parent was lost.
inline constexpr std::uint32_t kTreeDegree = 16;

struct NodeState {
  static constexpr std::uint8_t kInvalid = 0;  // no such node
  static constexpr std::uint8_t kMember = 1;
  static constexpr std::uint8_t kLost = 2;  // its daemon is gone
};

struct UniverseNode {
  std::uint8_t state = NodeState::kInvalid;
  std::uint32_t address = 0;  // IPv4, in this machine's order
  std::uint32_t port = 0;     // where its daemon listens
  std::uint32_t type = 0;     // NT_ flags of lamnet.h
  std::uint32_t cpus = 0;
  std::string host{};
  bool operator==(const UniverseNode&) const = default;
};

class UniverseTable {
 public:
  // The index of a node is its number. `origin`, `here`: such indices, of members; else std::invalid_argument.
  UniverseTable(std::vector<UniverseNode> nodes, std::uint32_t origin, std::uint32_t here,
                std::uint32_t degree = kTreeDegree);

  const std::vector<UniverseNode>& nodes() const { return nodes_; }
  std::uint32_t here() const { return here_; }
  bool is_member(std::uint32_t node) const { return node < nodes_.size() && nodes_[node].state == NodeState::kMember; }
  // True: that is news.
  bool set_lost(std::uint32_t node);
  std::vector<std::uint32_t> lost() const;

  // Of the daemon here, among those that are not lost. No parent: it is the root.
  std::optional<std::uint32_t> parent() const { return parent_; }
  const std::vector<std::uint32_t>& children() const { return children_; }
  // The nodes from `from` to `to` along the tree, both included. Empty: one of them is no member.
  std::vector<std::uint32_t> path(std::uint32_t from, std::uint32_t to) const;

 private:
  void link();
  // By position in order_.
  std::optional<std::size_t> parent_of(std::size_t position) const;
  bool lives(std::size_t position) const { return is_member(order_[position]); }

  std::vector<UniverseNode> nodes_;
  std::uint32_t here_;
  std::uint32_t degree_;
  std::vector<std::uint32_t> order_{};  // nodes by their position in the tree
  std::optional<std::uint32_t> parent_{};
  std::vector<std::uint32_t> children_{};
};

}  // namespace openlapi::daemon
