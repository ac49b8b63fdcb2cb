#include "control/job/messages/fence_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "control/daemon/universe/universe_table.h"
#include "control/job/messages/fence_collector.h"

namespace openlapi::jobs {
namespace {

using daemon::NodeState;
using daemon::UniverseNode;
using daemon::UniverseTable;

using Numbers = std::vector<std::uint32_t>;

UniverseTable universe_of(std::uint32_t count) {
  std::vector<UniverseNode> nodes(count);
  for (UniverseNode& node : nodes) node.state = NodeState::kMember;
  return UniverseTable(nodes, 0, 0);
}

// One task on each.
std::vector<JobNode> job_on(const Numbers& nodes) {
  std::vector<JobNode> job;
  for (std::uint32_t task = 0; task < nodes.size(); ++task) job.push_back({nodes[task], "host", {task}});
  return job;
}

Numbers reports_of(const std::vector<JobNode>& job) {
  Numbers reports;
  for (const JobNode& node : job) reports.push_back(node.reports_to);
  return reports;
}

TEST(FenceTree, FollowsTheDaemons) {
  // n0 has n1, n2; n1 has n3, n4; n2 has n5, n6.
  const Numbers parents{0, 0, 0, 1, 1, 2, 2};
  std::vector<JobNode> job = job_on({0, 1, 2, 3, 4, 5, 6});
  link_nodes(job, parents);
  EXPECT_EQ(reports_of(job), parents);
  job = job_on({6, 4, 2, 3});  // n3 speaks for n1 and so for n0
  link_nodes(job, parents);
  EXPECT_EQ(reports_of(job), (Numbers{2, 3, 3, 3}));
  job = job_on({5});
  link_nodes(job, parents);
  EXPECT_EQ(reports_of(job), Numbers{5});
  job = job_on({5, 3});  // nothing says where n5 is: it is below nobody
  link_nodes(job, {0, 0, 2, 1, 1, 2, 2});
  EXPECT_TRUE(is_fence_tree(job));
}

TEST(FenceTree, WhatIsNone) {
  std::vector<JobNode> job = job_on({3, 5, 8, 9});
  const auto with = [&](const Numbers& reports) {
    for (std::size_t place = 0; place < job.size(); ++place) job[place].reports_to = reports[place];
    return is_fence_tree(job);
  };
  EXPECT_TRUE(with({3, 3, 5, 8}));
  EXPECT_TRUE(with({9, 9, 9, 9}));
  EXPECT_FALSE(with({3, 5, 5, 5}));  // two ends
  EXPECT_FALSE(with({3, 4, 5, 5}));  // n4 is none of the job's
  EXPECT_FALSE(with({3, 8, 9, 5}));  // a circle beside the end
  EXPECT_FALSE(with({5, 3, 3, 3}));  // a circle alone
}

// A fence of a whole job, message by message along the daemons' tree.
class Fence {
 public:
  Fence(const UniverseTable& table, const Numbers& nodes, std::size_t bytes_of_a_node)
      : table_(table), job_(job_on(nodes)), passed_(table.nodes().size()), bytes_(table.nodes().size()) {
    link_nodes(job_, table.parents());
    for (const JobNode& node : job_) collectors_.try_emplace(node.node, job_, node.node);
    Numbers order = nodes;
    std::ranges::shuffle(order, std::mt19937(1));
    for (const std::uint32_t node : order) come(node, node, {{}, MessageBytes(bytes_of_a_node)});
  }

  bool is_over() const { return done_; }
  std::size_t most_passed() const { return std::ranges::max(passed_); }
  std::size_t most_bytes() const { return std::ranges::max(bytes_); }
  std::size_t result_bytes() const { return result_bytes_; }

 private:
  void come(std::uint32_t at, std::uint32_t from, FenceData data) {
    auto step = collectors_.at(at).add(from, std::move(data));
    if (!step) return;
    if (!step->all_have_come) {
      for (const std::uint32_t daemon : table_.path(at, step->to[0])) pass(daemon, step->data.data.size());
      return come(step->to[0], at, std::move(step->data));
    }
    done_ = step->to.size() == job_.size();
    result_bytes_ = step->data.data.size();
    // One message for each link that leads to somebody.
    std::set<std::pair<std::uint32_t, std::uint32_t>> links;
    for (const std::uint32_t node : step->to) {
      const Numbers way = table_.path(at, node);
      for (std::size_t i = 1; i < way.size(); ++i) links.emplace(way[i - 1], way[i]);
    }
    for (const auto& link : links) pass(link.first, result_bytes_);
  }

  // A daemon sends a message on, or to its helper.
  void pass(std::uint32_t daemon, std::size_t bytes) {
    ++passed_[daemon];
    bytes_[daemon] += bytes;
  }

  const UniverseTable& table_;
  std::vector<JobNode> job_;
  std::map<std::uint32_t, FenceCollector> collectors_{};
  std::vector<std::size_t> passed_, bytes_;
  std::size_t result_bytes_ = 0;
  bool done_ = false;
};

Numbers every(std::uint32_t count, std::uint32_t step, std::uint32_t first = 0) {
  Numbers nodes;
  for (std::uint32_t node = first; node < count; node += step) nodes.push_back(node);
  return nodes;
}

// What a daemon passes on: 16 messages from below, its node's own and one upwards, 16 downwards.
TEST(FenceTree, MessagesOfADaemonDoNotGrowWithTheJob) {
  for (const std::uint32_t count : {16, 256, 2048}) {
    const UniverseTable table = universe_of(count);
    const Fence fence(table, every(count, 1), 0);
    EXPECT_TRUE(fence.is_over());
    EXPECT_LE(fence.most_passed(), 2 * daemon::kTreeDegree + 2) << count;
    std::printf("fence of %u nodes: a daemon passes on %zu messages at most\n", count, fence.most_passed());
  }
}

TEST(FenceTree, NorDoThoseOfJobsOnSomeNodes) {
  const UniverseTable table = universe_of(2048);
  for (const Numbers& nodes : {every(2048, 2, 1), every(2048, 7), every(1256, 1, 1000), every(2048, 1, 1800)}) {
    const Fence fence(table, nodes, 0);
    EXPECT_TRUE(fence.is_over());
    // Who speaks for those beside it hears of 15 at each of three levels, by way of the daemons above it.
    EXPECT_LE(fence.most_passed(), 4 * daemon::kTreeDegree) << nodes.size() << " from " << nodes[0];
    std::printf("fence of %zu of 2048 nodes: %zu messages\n", nodes.size(), fence.most_passed());
  }
}

// With data everybody gets everything, once for each link; upwards each daemon has only what is below it.
TEST(FenceTree, DataMovesOncePerLink) {
  const UniverseTable table = universe_of(2048);
  const Fence fence(table, every(2048, 1), 10);
  EXPECT_EQ(fence.result_bytes(), 20480u);
  EXPECT_LE(fence.most_bytes(), (2 * daemon::kTreeDegree + 2) * fence.result_bytes());
}

}  // namespace
}  // namespace openlapi::jobs
