// The nodes of a universe as a daemon knows them, and the tree in which their daemons are linked.
//
// The tree is computed, never negotiated: all daemons have the same list. The origin is its root, the other booted
// nodes follow in the order of their numbers, each daemon has at most kTreeDegree of them below it. Where a daemon is
// lost, those below it belong to its nearest living ancestor; when the root and all ancestors are lost, to the first
// that lives. Nodes that have joined later follow behind in the order in which they joined, each below its sponsor, the
// node where lamgrow was run, and when that is lost, below the first that lives: so no link changes because of a new
// node.
//
// What is known of a node only ever goes forward: its stamp, which a node that joins gets above all others; then its
// state. So daemons that have heard the same agree, in whichever order they heard it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct lamnode;

namespace openlapi::daemon {

// 256 nodes are two links away from the root, 4,096 three; a daemon has 17 connections to others at most, plus those of
// daemons whose parent was lost.
inline constexpr std::uint32_t kTreeDegree = 16;

inline constexpr std::uint32_t kMostNodes = 65536;

struct NodeState {
  static constexpr std::uint8_t kInvalid = 0;  // no such node
  static constexpr std::uint8_t kMember = 1;
  static constexpr std::uint8_t kLeaving = 2;  // lamshrink was told to remove it; its daemon is still there
  static constexpr std::uint8_t kLost = 3;     // its daemon is gone
  static constexpr std::uint8_t kRemoved = 4;  // it was a node; to users the same as no such node
};

struct UniverseNode {
  std::uint8_t state = NodeState::kInvalid;
  std::uint32_t address = 0;  // IPv4, in host byte order
  std::uint32_t port = 0;     // where its daemon listens
  std::uint32_t type = 0;     // NT_ flags of lamnet.h
  std::uint32_t cpus = 0;
  std::string host{};
  std::uint32_t stamp = 0;    // 0: booted by lamboot; else it joined later
  std::uint32_t sponsor = 0;  // of a node that joined: below whom
  std::uint32_t grace = 0;    // of a leaving node: seconds that it stays

  bool lives() const { return state == NodeState::kMember || state == NodeState::kLeaving; }
  bool operator==(const UniverseNode&) const = default;
};

// A node of a boot: a member, or none.
UniverseNode universe_node_of(const lamnode& node);

// For users: n1 (host1).
std::string name_of(std::uint32_t number, const std::vector<UniverseNode>& nodes);
// Five and how many more: behind one that does not answer there may be thousands.
std::string names_of(const std::vector<std::uint32_t>& numbers, const std::vector<UniverseNode>& nodes);

// What daemons tell each other about a node.
struct NodeRecord {
  std::uint32_t number = 0;
  UniverseNode node{};
  bool operator==(const NodeRecord&) const = default;
};

// Is `left` what came later?
bool is_newer(const UniverseNode& left, const UniverseNode& right);

class UniverseTable {
 public:
  // The index of a node is its number. `origin` (which may be no member any more), `here` (a member): such indices;
  // else std::invalid_argument.
  UniverseTable(std::vector<UniverseNode> nodes, std::uint32_t origin, std::uint32_t here,
                std::uint32_t degree = kTreeDegree);

  const std::vector<UniverseNode>& nodes() const { return nodes_; }
  std::uint32_t here() const { return here_; }
  std::uint32_t origin() const { return origin_; }
  // Its daemon is one of us.
  bool is_member(std::uint32_t node) const { return node < nodes_.size() && nodes_[node].lives(); }
  // True: that is news.
  bool apply(const NodeRecord& record);
  bool set_state(std::uint32_t node, std::uint8_t state);
  // Which nodes are not as they were booted.
  std::vector<NodeRecord> changes() const;
  // The stamp of the next node that joins.
  std::uint32_t next_stamp() const;

  // Of the daemon here; daemons that are lost are left out. No parent: it is the root.
  std::optional<std::uint32_t> parent() const { return parent_; }
  const std::vector<std::uint32_t>& children() const { return children_; }
  // The parent of each node, by its number; the root, and nodes that are no members, have themselves.
  std::vector<std::uint32_t> parents() const;
  // The nodes from `from` to `to` along the tree, both included. Empty: one of them is no member.
  std::vector<std::uint32_t> path(std::uint32_t from, std::uint32_t to) const;

 private:
  void sort();
  void link();
  std::size_t position_of(std::uint32_t node) const { return positions_[node]; }  // of a member
  // By position in order_.
  std::optional<std::size_t> parent_of(std::size_t position) const;
  bool lives(std::size_t position) const { return is_member(order_[position]); }

  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  std::vector<UniverseNode> nodes_;
  std::uint32_t origin_;
  std::uint32_t here_;
  std::uint32_t degree_;
  // Nodes by their position in the tree. That of a booted node depends on its number alone, so there may be gaps
  // (kNobody).
  std::vector<std::uint32_t> order_{};
  std::vector<std::uint32_t> positions_{};  // in order_, by node
  std::optional<std::uint32_t> parent_{};
  std::vector<std::uint32_t> children_{};
};

}  // namespace openlapi::daemon
