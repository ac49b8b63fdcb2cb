// The tree algorithm over a cluster whose hosts and helpers fail at random.
#include "control/boot/tree/boot_tree.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/seeded_random.h"

namespace openlapi::boot {
namespace {

enum class Fate { kStarts, kHostDown, kNeverReports, kRefusesUniverse, kHelperLost, kHelperLostLater };

struct Cluster {
  explicit Cluster(std::vector<Fate> all) : fates(std::move(all)) {}
  Fate fate_of(const lamnode& node) const { return fates.at(static_cast<std::size_t>(node.lnd_nodeid)); }

  std::vector<Fate> fates;
  std::mutex mutex{};
  std::multiset<int> launches{}, helpers{}, told{}, wiped{};
  std::set<int> lost{};  // in subtrees of lost helpers
};

// What one process of the tree does.
class SimulatedProcess final : public TreeOperations {
 public:
  explicit SimulatedProcess(Cluster& cluster) : cluster_(cluster) {}

  bool start(lamnode& node, lam_ssi_boot_proc_t which) override {
    const std::lock_guard lock(cluster_.mutex);
    if (which == LAM_SSI_BOOT_PROC_WIPE) return cluster_.wiped.insert(node.lnd_nodeid), true;
    cluster_.launches.insert(node.lnd_nodeid);
    if (cluster_.fate_of(node) == Fate::kHostDown) return false;
    if (cluster_.fate_of(node) != Fate::kNeverReports) calling_.push_back(node.lnd_nodeid);
    return true;
  }
  bool open_server(lamnode*, int) override { return true; }
  bool receive(lamnode* nodes, int count) override {
    const std::lock_guard lock(cluster_.mutex);
    if (calling_.empty()) return false;
    const int id = calling_.back();
    calling_.pop_back();
    for (int n = 0; n < count; ++n) {
      if (nodes[n].lnd_nodeid == id) nodes[n].lnd_bootport = 1000 + id;
    }
    return true;
  }
  bool close_server() override { return true; }
  bool send_universe(lamnode* nodes, int, int which) override {
    EXPECT_EQ(nodes[which].lnd_bootport, 1000 + nodes[which].lnd_nodeid);
    const std::lock_guard lock(cluster_.mutex);
    cluster_.told.insert(nodes[which].lnd_nodeid);
    return cluster_.fate_of(nodes[which]) != Fate::kRefusesUniverse;
  }
  std::unique_ptr<Subtree> start_helper(const std::vector<const lamnode*>& nodes, const TreeShape& shape) override;

 private:
  Cluster& cluster_;
  std::vector<int> calling_{};
};

class SimulatedSubtree final : public Subtree {
 public:
  SimulatedSubtree(Cluster& cluster, const std::vector<const lamnode*>& nodes, const TreeShape& shape)
      : cluster_(cluster), process_(cluster), fate_(cluster.fate_of(*nodes[0])) {
    for (const lamnode* node : nodes) nodes_.push_back(*node);
    nodes_[0].lnd_type |= NT_ME;
    boot_.emplace(BootRequest{nodes_.data(), static_cast<int>(nodes_.size()), true, LAM_SSI_BOOT_PROC_LAMD, false},
                  process_, shape);
  }
  std::optional<std::vector<NodeReport>> collect() override {
    boot_->gather();
    if (fate_ == Fate::kHelperLost) return lose();
    return reports_of(nodes_);
  }
  bool tell_universe(const lamnode* universe, int count) override {
    universe_.assign(universe, universe + count);
    return true;
  }
  std::optional<std::vector<int>> collect_told() override {
    boot_->tell_universe(universe_.data(), static_cast<int>(universe_.size()));
    if (fate_ == Fate::kHelperLostLater) return lose(), std::nullopt;
    std::vector<int> told;
    for (const NodeReport& report : reports_of(nodes_)) {
      if (report.started) told.push_back(report.node_id);
    }
    return told;
  }

 private:
  std::nullopt_t lose() {
    for (const lamnode& node : nodes_) cluster_.lost.insert(node.lnd_nodeid);
    return std::nullopt;
  }

  Cluster& cluster_;
  SimulatedProcess process_;
  Fate fate_;
  std::vector<lamnode> nodes_{}, universe_{};
  std::optional<TreeBoot> boot_{};
};

std::unique_ptr<Subtree> SimulatedProcess::start_helper(const std::vector<const lamnode*>& nodes,
                                                        const TreeShape& shape) {
  const std::lock_guard lock(cluster_.mutex);
  cluster_.helpers.insert(nodes[0]->lnd_nodeid);
  if (cluster_.fate_of(*nodes[0]) == Fate::kHostDown) return nullptr;
  return std::make_unique<SimulatedSubtree>(cluster_, nodes, shape);
}

class BootTree : public testing::TestWithParam<TreeShape> {
 protected:
  BootReport boot(Cluster& cluster, bool clean_up = false) {
    nodes_.assign(cluster.fates.size(), lamnode{});
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      nodes_[n].lnd_nodeid = static_cast<int>(n);
      nodes_[n].lnd_type = NT_BOOT | (n == 0 ? NT_ME : 0);
      nodes_[n].lnd_ncpus = 1;
    }
    SimulatedProcess agent(cluster);
    return boot_tree({nodes_.data(), static_cast<int>(nodes_.size()), true, LAM_SSI_BOOT_PROC_LAMD, clean_up}, agent,
                     GetParam());
  }
  std::set<int> booted() const {
    std::set<int> ids;
    for (const lamnode& node : nodes_) {
      if ((node.lnd_type & NT_BOOT) == 0) ids.insert(node.lnd_nodeid);
    }
    return ids;
  }
  static std::set<int> once(const std::multiset<int>& ids) {
    const std::set<int> all(ids.begin(), ids.end());
    EXPECT_EQ(all.size(), ids.size()) << "some twice";
    return all;
  }

  std::vector<lamnode> nodes_{};
};

TEST_P(BootTree, BootsAllNodesOnce) {
  for (const std::size_t count : {1u, 2u, 3u, 17u, 64u, 300u}) {
    SCOPED_TRACE(count);
    Cluster cluster(std::vector<Fate>(count, Fate::kStarts));
    const BootReport report = boot(cluster);
    EXPECT_TRUE(report.complete);
    EXPECT_EQ(report.started, static_cast<int>(count));
    EXPECT_EQ(booted().size(), count);
    EXPECT_EQ(once(cluster.launches).size(), count);
    EXPECT_EQ(once(cluster.told).size(), count);
    once(cluster.helpers);
    for (const lamnode& node : nodes_) EXPECT_EQ(node.lnd_bootport, 1000 + node.lnd_nodeid);
  }
}

TEST_P(BootTree, ReportsExactlyWhatStartedWhenHostsAndHelpersFail) {
  // Each process of the tree has threads of its own.
  for (std::uint64_t seed = 0; seed < (GetParam().at_once == 1 ? 300 : 60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    std::vector<Fate> fates(random.between(1, 80), Fate::kStarts);
    const double share = random.chance(0.5) ? 0.1 : 0.4;
    for (std::size_t n = 1; n < fates.size(); ++n) {
      if (random.chance(share)) fates[n] = random.pick({Fate::kHostDown, Fate::kNeverReports, Fate::kHelperLost});
    }
    Cluster cluster(fates);
    const BootReport report = boot(cluster);
    std::set<int> good;
    for (std::size_t n = 0; n < fates.size(); ++n) {
      const int id = static_cast<int>(n);
      const bool starts = fates[n] == Fate::kStarts || fates[n] == Fate::kHelperLost;
      if (starts && !cluster.lost.contains(id)) good.insert(id);
      // Somebody has tried every node: its daemon, or at least a helper on a host that is down.
      EXPECT_TRUE(cluster.launches.contains(id) || (fates[n] == Fate::kHostDown && cluster.helpers.contains(id)));
    }
    once(cluster.launches);
    EXPECT_EQ(booted(), good);
    EXPECT_EQ(static_cast<std::size_t>(report.started), good.size());
    EXPECT_EQ(report.complete, good.size() == fates.size());
    EXPECT_EQ(cluster.told.size(), report.complete ? fates.size() : 0);
  }
}

TEST_P(BootTree, CountsNoNodeThatTheUniverseDidNotReach) {
  for (std::uint64_t seed = 0; seed < (GetParam().at_once == 1 ? 100 : 30); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    std::vector<Fate> fates(random.between(2, 60), Fate::kStarts);
    for (int n = 0; n < 3; ++n) {
      fates[random.between(1, fates.size() - 1)] = random.pick({Fate::kRefusesUniverse, Fate::kHelperLostLater});
    }
    Cluster cluster(fates);
    const BootReport report = boot(cluster);
    std::set<int> good;
    for (std::size_t n = 0; n < fates.size(); ++n) {
      if (fates[n] != Fate::kRefusesUniverse && !cluster.lost.contains(static_cast<int>(n))) {
        good.insert(static_cast<int>(n));
      }
    }
    EXPECT_EQ(booted(), good);
    EXPECT_EQ(static_cast<std::size_t>(report.started), good.size());
    EXPECT_EQ(report.complete, good.size() == fates.size());
  }
}

TEST_P(BootTree, CleansUpWhenAsked) {
  for (const Fate fate : {Fate::kHostDown, Fate::kNeverReports, Fate::kHelperLost}) {
    std::vector<Fate> fates(40, Fate::kStarts);
    fates[1] = fates[30] = fate;
    Cluster cluster(fates);
    const BootReport report = boot(cluster, true);
    EXPECT_TRUE(report.complete || report.started == 0);
    EXPECT_EQ(booted().size(), report.complete ? fates.size() : 0);
    const std::set<int> wiped = once(cluster.wiped);
    for (int id = 0; id < 40 && !report.complete; ++id) {
      EXPECT_TRUE(wiped.contains(id) || fates[static_cast<std::size_t>(id)] == Fate::kHostDown) << id;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BootTree,
                         testing::Values(TreeShape{1, 1}, TreeShape{2, 1}, TreeShape{6, 1}, TreeShape{3, 3},
                                         TreeShape{16, 16}),
                         [](const auto& info) {
                           return std::to_string(info.param.degree) + "_at_once_" + std::to_string(info.param.at_once);
                         });

}  // namespace
}  // namespace openlapi::boot
