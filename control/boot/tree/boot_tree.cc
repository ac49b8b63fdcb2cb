#include "control/boot/tree/boot_tree.h"

#include <arpa/inet.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>
#include <thread>

#include "control/boot/algorithms/algorithms.h"
#include "control/boot/algorithms/boot_threads.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/nodes/node_array.h"

namespace openlapi::boot {

// Starts the helpers of one process: groups of nodes that are yet to be begun, and threads that take them.
class HelperLauncher {
 public:
  explicit HelperLauncher(TreeBoot& boot) : boot_(boot) {}

  void operator()(const std::vector<int>& nodes) {
    split(nodes);
    if (boot_.shape_.at_once == 1) return launch();
    std::vector<std::jthread> launchers;
    const std::size_t count = std::min<std::size_t>(groups_.size(), static_cast<std::size_t>(boot_.shape_.at_once));
    if (start_threads(launchers, static_cast<int>(count), [this] { launch(); }) == 0) launch();
  }

 private:
  // Groups of one need no helper.
  void split(std::span<const int> nodes) {
    for (const int size : split_tree(boot_.shape_, static_cast<int>(nodes.size()))) {
      const auto group = nodes.first(static_cast<std::size_t>(size));
      nodes = nodes.subspan(group.size());
      if (size == 1) {
        boot_.direct_.push_back(group[0]);
      } else {
        groups_.emplace_back(group.begin(), group.end());
      }
    }
  }

  void launch() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return !groups_.empty() || launching_ == 0; });
      if (groups_.empty()) return;
      std::vector<int> group = std::move(groups_.front());
      groups_.pop_front();
      ++launching_;
      std::vector<const lamnode*> nodes;
      for (const int index : group) nodes.push_back(&boot_.node(index));
      lock.unlock();
      auto subtree = start_helper(nodes);
      lock.lock();
      --launching_;
      if (subtree) {
        boot_.branches_.push_back({std::move(group), std::move(subtree)});
      } else {
        split(std::span<const int>(group).subspan(1));
      }
      changed_.notify_all();
    }
  }

  std::unique_ptr<Subtree> start_helper(const std::vector<const lamnode*>& nodes) {
    return catch_errors(std::unique_ptr<Subtree>(),
                        [&] { return boot_.operations_.start_helper(nodes, boot_.shape_); });
  }

  TreeBoot& boot_;
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<std::vector<int>> groups_{};
  int launching_ = 0;
};

std::vector<NodeReport> reports_of(const std::vector<lamnode>& nodes) {
  std::vector<NodeReport> reports;
  for (const lamnode& node : nodes) {
    reports.push_back({node.lnd_nodeid, (node.lnd_type & NT_BOOT) == 0, node.lnd_bootport,
                       ntohs(node.lnd_addr.sin_port), node.lnd_ncpus});
  }
  return reports;
}

bool TreeBoot::all_started() const {
  return std::ranges::none_of(to_boot_, [&](int index) { return (node(index).lnd_type & NT_BOOT) != 0; });
}

bool TreeBoot::gather() {
  to_boot_ = nodes_to_boot(request_);
  std::vector<int> below;
  for (const int index : to_boot_) {
    ((node(index).lnd_type & NT_ME) != 0 ? direct_ : below).push_back(index);
  }
  HelperLauncher{*this}(below);
  run_.emplace(request_, operations_, direct_);
  bool complete = run_->begin();
  if (complete && shape_.at_once == 1) run_windowed(*run_, 1);
  if (complete && shape_.at_once != 1) run_threaded(*run_, shape_.at_once);
  complete = run_->close() && complete;
  for (Branch& branch : branches_) collect(branch);
  return complete && all_started();
}

void TreeBoot::lose(Branch& branch) {
  print_error("the helper on node " + name_of(node(branch.nodes[0])) + " was lost: the " +
              std::to_string(branch.nodes.size()) + " nodes that it boots count as not started");
  for (const int index : branch.nodes) node(index).lnd_type |= NT_BOOT;
  branch.subtree.reset();
}

void TreeBoot::collect(Branch& branch) {
  const auto reports = branch.subtree->collect();
  if (!reports) return lose(branch);
  for (const NodeReport& report : *reports) {
    const auto found =
        std::ranges::find_if(branch.nodes, [&](int index) { return node(index).lnd_nodeid == report.node_id; });
    if (found == branch.nodes.end() || !report.started) continue;
    lamnode& started = node(*found);
    started.lnd_type &= ~NT_BOOT;
    if (!request_.startup_protocol) continue;
    started.lnd_bootport = report.boot_port;
    started.lnd_addr.sin_port = htons(static_cast<std::uint16_t>(report.udp_port));
    started.lnd_ncpus = report.cpus;
  }
}

bool TreeBoot::tell_universe(lamnode* universe, int count) {
  for (Branch& branch : branches_) {
    if (!branch.subtree->tell_universe(universe, count)) lose(branch);
  }
  run_->tell_universe(universe, count);
  for (Branch& branch : branches_) {
    if (!branch.subtree) continue;
    const auto told = branch.subtree->collect_told();
    if (!told) {
      lose(branch);
      continue;
    }
    for (const int index : branch.nodes) {
      if (std::ranges::find(*told, node(index).lnd_nodeid) == told->end()) node(index).lnd_type |= NT_BOOT;
    }
  }
  return all_started();
}

void TreeBoot::end_launched() {
  if (run_) run_->end_launched();
  for (Branch& branch : branches_) {
    branch.subtree.reset();
    for (const int index : branch.nodes) {
      const int ended = (node(index).lnd_type & NT_BOOT) == 0 ? NT_ENDED : 0;
      if (operations_.start(node(index), LAM_SSI_BOOT_PROC_WIPE)) node(index).lnd_type |= NT_BOOT | ended;
    }
  }
}

BootReport boot_tree(const BootRequest& request, TreeOperations& operations, TreeShape shape) {
  const std::vector<int> to_boot = nodes_to_boot(request);
  TreeBoot boot(request, operations, shape);
  BootReport report;
  report.complete = boot.gather();
  if (report.complete && request.startup_protocol) report.complete = boot.tell_universe(request.nodes, request.count);
  if (!report.complete && request.clean_up && request.which == LAM_SSI_BOOT_PROC_LAMD) boot.end_launched();
  report.started = static_cast<int>(
      std::ranges::count_if(to_boot, [&](int index) { return (request.nodes[index].lnd_type & NT_BOOT) == 0; }));
  return report;
}

}  // namespace openlapi::boot
