// The algorithms over a launcher that lets hosts fail at random.
#include "control/boot/algorithms/boot_run.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "control/boot/algorithms/algorithms.h"
#include "tests/support/seeded_random.h"

namespace openlapi::boot {
namespace {

enum class Fate { kStarts, kLaunchFails, kNeverReports, kRefusesUniverse, kDaemonEnds };

// Hosts with a fate each. Daemons report in random order, as soon as somebody listens; "no report within the time"
// comes at once when no daemon that runs will report.
class SimulatedLauncher final : public NodeOperations {
 public:
  SimulatedLauncher(std::vector<Fate> fates, std::uint64_t seed) : fates_(std::move(fates)), random_(seed) {}

  bool start(lamnode& node, lam_ssi_boot_proc_t which) override {
    const std::unique_lock lock(mutex_);
    const int id = node.lnd_nodeid;
    if (which == LAM_SSI_BOOT_PROC_WIPE) {
      wiped.push_back(id);
      running.erase(id);
      return !unwipeable.contains(id);
    }
    launches.push_back(id);
    if (fates_.at(static_cast<std::size_t>(id)) == Fate::kLaunchFails) return false;
    running.insert(id);
    if (!protocol) return true;
    ++outstanding_;
    most_outstanding = std::max(most_outstanding, outstanding_);
    if (fates_[static_cast<std::size_t>(id)] != Fate::kNeverReports) calling_.push_back(id);
    return true;
  }
  bool open_server(lamnode*, int) override { return protocol = opened = server_opens; }
  bool receive(lamnode* nodes, int count) override {
    const std::unique_lock lock(mutex_);
    most_listened = std::max(most_listened, count);
    if (calling_.empty()) {
      outstanding_ = 0;  // the algorithm gives all of them up
      return false;
    }
    const std::size_t pick = random_.below(calling_.size());
    const int id = calling_[pick];
    calling_.erase(calling_.begin() + static_cast<std::ptrdiff_t>(pick));
    --outstanding_;
    for (int n = 0; n < count; ++n) {
      const bool ended = fates_[static_cast<std::size_t>(id)] == Fate::kDaemonEnds;
      if (nodes[n].lnd_nodeid == id) nodes[n].lnd_bootport = ended ? kDaemonEnded : 1000 + id;
    }
    return true;
  }
  bool close_server() override {
    opened = false;
    return true;
  }
  bool send_universe(lamnode* nodes, int, int which) override {
    EXPECT_FALSE(opened);
    EXPECT_EQ(nodes[which].lnd_type & NT_BOOT, 0);
    told.push_back(nodes[which].lnd_nodeid);
    return fates_[static_cast<std::size_t>(nodes[which].lnd_nodeid)] != Fate::kRefusesUniverse;
  }

  std::vector<int> launches{}, wiped{}, told{};
  std::set<int> running{}, unwipeable{};
  int most_outstanding = 0, most_listened = 0;
  bool protocol = false, opened = false, server_opens = true;

 private:
  std::vector<Fate> fates_;
  SeededRandom random_;
  std::mutex mutex_{};
  std::vector<int> calling_{};
  int outstanding_ = 0;
};

struct Algorithm {
  std::string name{};
  int window = 1;  // nodes launched and not heard of, at most
  std::function<BootReport(const BootRequest&, NodeOperations&)> run{};
};

class Algorithms : public testing::TestWithParam<Algorithm> {
 protected:
  // Nodes 0..count-1, all to be booted.
  void make_nodes(std::size_t count) {
    nodes_.assign(count, lamnode{});
    for (std::size_t n = 0; n < count; ++n) {
      nodes_[n].lnd_nodeid = static_cast<int>(n);
      nodes_[n].lnd_type = NT_BOOT;
    }
  }
  BootReport boot(SimulatedLauncher& launcher, bool protocol = true, bool clean_up = false) {
    return GetParam().run({nodes_.data(), static_cast<int>(nodes_.size()), protocol, LAM_SSI_BOOT_PROC_LAMD, clean_up},
                          launcher);
  }
  std::set<int> booted() const {
    std::set<int> ids;
    for (const lamnode& node : nodes_) {
      if (node.lnd_nodeid != NOTNODEID && (node.lnd_type & NT_BOOT) == 0) ids.insert(node.lnd_nodeid);
    }
    return ids;
  }

  std::vector<lamnode> nodes_{};
};

TEST_P(Algorithms, BootAllNodes) {
  make_nodes(64);
  SimulatedLauncher launcher(std::vector<Fate>(64, Fate::kStarts), 1);
  const BootReport report = boot(launcher);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.started, 64);
  EXPECT_EQ(booted().size(), 64u);
  EXPECT_EQ(launcher.told.size(), 64u);
  EXPECT_LE(launcher.most_outstanding, GetParam().window);
  EXPECT_FALSE(launcher.opened);
  for (const lamnode& node : nodes_) EXPECT_EQ(node.lnd_bootport, 1000 + node.lnd_nodeid);
}

TEST_P(Algorithms, SkipInvalidNodesAndThoseNotToBeBooted) {
  make_nodes(6);
  nodes_[1].lnd_nodeid = NOTNODEID;
  nodes_[3].lnd_type = NT_WASTE;
  SimulatedLauncher launcher(std::vector<Fate>(6, Fate::kStarts), 2);
  const BootReport report = boot(launcher);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.started, 4);
  EXPECT_EQ((std::set<int>{launcher.launches.begin(), launcher.launches.end()}), (std::set<int>{0, 2, 4, 5}));
  EXPECT_EQ((std::set<int>{launcher.told.begin(), launcher.told.end()}), (std::set<int>{0, 2, 4, 5}));
  EXPECT_NE(nodes_[1].lnd_type & NT_BOOT, 0);
  EXPECT_EQ(nodes_[3].lnd_type, NT_WASTE);
}

TEST_P(Algorithms, ReportExactlyWhatStartedWhenHostsFail) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    const std::size_t count = random.between(1, 40);
    make_nodes(count);
    std::vector<Fate> fates;
    std::set<int> good;
    for (std::size_t n = 0; n < count; ++n) {
      fates.push_back(random.chance(0.3) ? random.pick({Fate::kLaunchFails, Fate::kNeverReports}) : Fate::kStarts);
      if (fates.back() == Fate::kStarts) good.insert(static_cast<int>(n));
    }
    SimulatedLauncher launcher(fates, seed);
    const BootReport report = boot(launcher);
    EXPECT_EQ(report.complete, good.size() == count);
    EXPECT_EQ(launcher.launches.size(), count);
    EXPECT_LE(launcher.most_outstanding, GetParam().window);
    EXPECT_EQ(static_cast<std::size_t>(report.started), booted().size());
    // A wait that ends without a report gives up all that were waited for, good ones that came too late included; that
    // cannot happen here, where daemons that will report do so at once.
    EXPECT_EQ(booted(), good);
    EXPECT_EQ(launcher.told.size(), good.size() == count ? count : 0);
  }
}

TEST_P(Algorithms, CountNoNodeThatTheUniverseDidNotReach) {
  make_nodes(5);
  SimulatedLauncher launcher({Fate::kStarts, Fate::kRefusesUniverse, Fate::kStarts, Fate::kStarts, Fate::kStarts}, 3);
  const BootReport report = boot(launcher);
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.started, 4);
  EXPECT_EQ(booted(), (std::set<int>{0, 2, 3, 4}));
}

TEST_P(Algorithms, CleanUpWhenAsked) {
  make_nodes(6);
  SimulatedLauncher launcher(
      {Fate::kStarts, Fate::kLaunchFails, Fate::kStarts, Fate::kNeverReports, Fate::kStarts, Fate::kStarts}, 4);
  launcher.unwipeable = {4};
  const BootReport report = boot(launcher, true, true);
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.started, 1);
  EXPECT_EQ(booted(), (std::set<int>{4}));
  EXPECT_EQ(launcher.wiped, (std::vector<int>{0, 2, 3, 4, 5}));
}

// Where a daemon was refused another universe may be running, which is none of this boot's business.
TEST_P(Algorithms, DoNotCleanUpWhereTheDaemonHasEndedByItself) {
  make_nodes(4);
  SimulatedLauncher launcher({Fate::kStarts, Fate::kDaemonEnds, Fate::kStarts, Fate::kDaemonEnds}, 4);
  EXPECT_FALSE(boot(launcher, true, true).complete);
  EXPECT_EQ(launcher.wiped, (std::vector<int>{0, 2}));
}

TEST_P(Algorithms, DoNotCleanUpWhatSucceeded) {
  make_nodes(3);
  SimulatedLauncher launcher(std::vector<Fate>(3, Fate::kStarts), 5);
  EXPECT_TRUE(boot(launcher, true, true).complete);
  EXPECT_TRUE(launcher.wiped.empty());
}

TEST_P(Algorithms, NeedNoServerWithoutTheStartupProtocol) {
  make_nodes(4);
  SimulatedLauncher launcher({Fate::kStarts, Fate::kLaunchFails, Fate::kStarts, Fate::kStarts}, 6);
  launcher.server_opens = false;
  const BootReport report = boot(launcher, false);
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.started, 3);
  EXPECT_EQ(booted(), (std::set<int>{0, 2, 3}));
  EXPECT_TRUE(launcher.told.empty());
}

TEST_P(Algorithms, LaunchNothingWithoutAServer) {
  make_nodes(4);
  SimulatedLauncher launcher(std::vector<Fate>(4, Fate::kStarts), 7);
  launcher.server_opens = false;
  const BootReport report = boot(launcher);
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.started, 0);
  EXPECT_TRUE(launcher.launches.empty());
  EXPECT_TRUE(booted().empty());
}

TEST_P(Algorithms, HaveNothingToDoWithoutNodes) {
  SimulatedLauncher launcher({}, 8);
  const BootReport report = boot(launcher);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.started, 0);
}

INSTANTIATE_TEST_SUITE_P(Boot, Algorithms,
                         testing::Values(Algorithm{"linear", 1, boot_linear},
                                         Algorithm{"windowed_1", 1,
                                                   [](const BootRequest& request, NodeOperations& operations) {
                                                     return boot_windowed(request, operations, 1);
                                                   }},
                                         Algorithm{"windowed_5", 5,
                                                   [](const BootRequest& request, NodeOperations& operations) {
                                                     return boot_windowed(request, operations, 5);
                                                   }},
                                         Algorithm{"threaded_1", 1,
                                                   [](const BootRequest& request, NodeOperations& operations) {
                                                     return boot_threaded(request, operations, 1);
                                                   }},
                                         Algorithm{"threaded_16", 16,
                                                   [](const BootRequest& request, NodeOperations& operations) {
                                                     return boot_threaded(request, operations, 16);
                                                   }}),
                         [](const auto& info) { return info.param.name; });

// The wait for the silent daemon of node 0 ends while node 1 is launched; both daemons run, and only node 0 is given
// up.
class LateLauncher final : public NodeOperations {
 public:
  bool start(lamnode& node, lam_ssi_boot_proc_t) override {
    std::unique_lock lock(mutex_);
    if (node.lnd_nodeid == 1) changed_.wait(lock, [&] { return waits_ > 0; });
    ++launched_;
    changed_.notify_all();
    return true;
  }
  bool open_server(lamnode*, int) override { return true; }
  bool receive(lamnode* nodes, int count) override {
    std::unique_lock lock(mutex_);
    ++waits_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return launched_ == 2; });
    if (waits_ == 1) return false;
    EXPECT_EQ(count, 1);
    nodes[0].lnd_bootport = 7;
    return true;
  }
  bool close_server() override { return true; }
  bool send_universe(lamnode*, int, int) override { return true; }

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  int launched_ = 0, waits_ = 0;
};

TEST(ThreadedBoot, GivesUpOnlyWhatItWaitedFor) {
  std::vector<lamnode> nodes(2);
  for (std::size_t n = 0; n < nodes.size(); ++n) nodes[n].lnd_nodeid = static_cast<int>(n), nodes[n].lnd_type = NT_BOOT;
  LateLauncher launcher;
  const BootReport report = boot_threaded({nodes.data(), 2, true, LAM_SSI_BOOT_PROC_LAMD, false}, launcher, 2);
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.started, 1);
  EXPECT_NE(nodes[0].lnd_type & NT_BOOT, 0);
  EXPECT_EQ(nodes[1].lnd_type & NT_BOOT, 0);
}

// A launcher whose agents all wait until `together` of them run at the same time.
class MeetingLauncher final : public NodeOperations {
 public:
  explicit MeetingLauncher(int together) : together_(together) {}
  bool start(lamnode&, lam_ssi_boot_proc_t) override {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return arrived_ >= together_; });
    return true;
  }
  bool open_server(lamnode*, int) override { return true; }
  bool receive(lamnode*, int) override { return false; }
  bool close_server() override { return true; }
  bool send_universe(lamnode*, int, int) override { return true; }

 private:
  const int together_;
  std::mutex mutex_{};
  std::condition_variable changed_{};
  int arrived_ = 0;
};

TEST(ThreadedBoot, LaunchesAtTheSameTime) {
  std::vector<lamnode> nodes(8);
  for (std::size_t n = 0; n < nodes.size(); ++n) nodes[n].lnd_nodeid = static_cast<int>(n), nodes[n].lnd_type = NT_BOOT;
  MeetingLauncher launcher(8);
  const BootReport report = boot_threaded({nodes.data(), 8, false, LAM_SSI_BOOT_PROC_RECON, false}, launcher, 8);
  EXPECT_EQ(report.started, 8);
}

}  // namespace
}  // namespace openlapi::boot
