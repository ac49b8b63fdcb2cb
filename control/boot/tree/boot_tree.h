// The tree algorithm: helpers on interior nodes boot their subtrees, each of them as the booting agent does.
//
// If a helper cannot be started, its node has failed, and the process that wanted to start it takes over the other
// nodes of the subtree and splits them again. If a helper is lost later, nobody knows what runs on the nodes of its
// subtree: all of them count as not started, and cleaning up ends them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "control/boot/algorithms/boot_run.h"
#include "control/boot/tree/tree_plan.h"

namespace openlapi::boot {

// What became of a node.
struct NodeReport {
  int node_id = 0;
  bool started = false;
  int boot_port = 0, udp_port = 0, cpus = 0;
};

// What became of these nodes, as an algorithm has left them.
std::vector<NodeReport> reports_of(const std::vector<lamnode>& nodes);

// Nodes that a helper boots. Its functions are called in this order, each once; they return nothing, or false, if the
// helper is lost.
class Subtree {
 public:
  virtual ~Subtree() = default;
  // Waits until all its nodes have been tried.
  virtual std::optional<std::vector<NodeReport>> collect() = 0;
  // Begins to have its daemons told the universe; waits for the ids of those that took it.
  virtual bool tell_universe(const lamnode* universe, int count) = 0;
  virtual std::optional<std::vector<int>> collect_told() = 0;
};

// start_helper may be called from several threads at the same time.
class TreeOperations : public NodeOperations {
 public:
  // Starts a helper on the first of these nodes, which boots all of them in the same shape. nullptr: it cannot be
  // started, and why was said.
  virtual std::unique_ptr<Subtree> start_helper(const std::vector<const lamnode*>& nodes, const TreeShape& shape) = 0;
};

// One process of the tree: the booting agent, or a helper.
class TreeBoot {
 public:
  TreeBoot(const BootRequest& request, TreeOperations& operations, TreeShape shape)
      : request_(request), operations_(operations), shape_(shape) {}

  // Tries all nodes; true: all are started, but for the universe.
  bool gather();
  // Tells `universe` to the nodes of this process and of its helpers; true: all took it.
  bool tell_universe(lamnode* universe, int count);
  // Ends what may run.
  void end_launched();

 private:
  struct Branch {
    std::vector<int> nodes{};
    std::unique_ptr<Subtree> subtree{};
  };
  friend class HelperLauncher;

  lamnode& node(int index) const { return request_.nodes[index]; }
  bool all_started() const;
  void collect(Branch& branch);
  void lose(Branch& branch);

  BootRequest request_;
  TreeOperations& operations_;
  TreeShape shape_;
  std::vector<int> to_boot_{}, direct_{};
  std::vector<Branch> branches_{};
  std::optional<BootRun> run_{};
};

BootReport boot_tree(const BootRequest& request, TreeOperations& operations, TreeShape shape);

}  // namespace openlapi::boot
