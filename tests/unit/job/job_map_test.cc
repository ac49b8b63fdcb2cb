#include "control/job/origin/job_map.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "control/boot/include/lamnet.h"
#define LAPI_SIZE_LIMITS
#include "api/include/lapi.h"

namespace openlapi::jobs {
namespace {

using daemon::NodeState;

// n0 with 2 processors, n1 invalid, n2 with 3 and not to be scheduled on, n3 with 1, n4 lost.
std::vector<daemon::UniverseNode> universe() {
  return {{NodeState::kMember, 0, 0, NT_ORIGIN, 2, "a"},
          {},
          {NodeState::kMember, 0, 0, NT_WASTE, 3, "c"},
          {NodeState::kMember, 0, 0, 0, 1, "d"},
          {NodeState::kLost, 0, 0, 0, 1, "e"}};
}

// The nodes of task 0, 1, ..., as digits.
std::string map_of(const JobPlacement& placement) {
  const auto nodes = map_tasks(placement, universe(), 3);
  std::string text(task_count(nodes), '?');
  for (const JobNode& node : nodes) {
    for (const std::uint32_t task : node.tasks) text[task] = static_cast<char>('0' + node.node);
  }
  return text;
}

std::string refused(const JobPlacement& placement) {
  try {
    map_of(placement);
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "";
}

using Words = std::vector<std::string>;

TEST(JobMap, WithoutWordsTasksGoRoundTheProcessors) {
  EXPECT_EQ(map_of({}), "0");
  EXPECT_EQ(map_of({.tasks = 2}), "00");
  EXPECT_EQ(map_of({.tasks = 8}), "00300300");
}

TEST(JobMap, WordsOfferNodesOrProcessors) {
  EXPECT_EQ(map_of({.words = {"N"}}), "03");
  EXPECT_EQ(map_of({.words = {"C"}}), "003");
  EXPECT_EQ(map_of({.words = {"n3", "n0"}}), "30");
  EXPECT_EQ(map_of({.words = {"c1-3"}}), "022");  // through all nodes, as lamnodes counts them
  EXPECT_EQ(map_of({.words = {"h", "o"}}), "30");
  EXPECT_EQ(map_of({.tasks = 5, .words = {"n0,3"}}), "03030");
  EXPECT_EQ(map_of({.tasks = 1, .words = {"N"}}), "0");
}

TEST(JobMap, NodesThatAreNotToBeScheduledOnHaveToBeNamed) {
  EXPECT_EQ(map_of({.words = {"n2"}}), "2");
  EXPECT_EQ(map_of({.hosts = {"c"}}), "2");
  auto nodes = universe();
  nodes[0].type = nodes[3].type = NT_WASTE;
  EXPECT_THROW(map_tasks({}, nodes, 3), std::invalid_argument);
}

TEST(JobMap, HostsAreNodesByName) {
  EXPECT_EQ(map_of({.hosts = {"d", "a"}}), "30");
  EXPECT_EQ(map_of({.tasks = 3, .hosts = {"d", "a"}}), "303");
  EXPECT_EQ(map_of({.hosts = {"localhost"}}), "3");
  EXPECT_EQ(refused({.hosts = {"x"}}), "-host 'x': the universe has no such host; lamnodes lists them");
}

// Here is n0, which has these names as well.
TEST(JobMap, TheNameOfANodeIsNoOtherNodes) {
  const std::vector<daemon::UniverseNode> nodes{{NodeState::kMember, 0, 0, NT_ORIGIN, 1, "inky"},
                                                {NodeState::kMember, 0, 0, 0, 1, "127.0.0.1"}};
  EXPECT_EQ(map_tasks({.hosts = {"127.0.0.1"}}, nodes, 0).at(0).node, 1u);
  EXPECT_EQ(map_tasks({.hosts = {"localhost"}}, nodes, 0).at(0).node, 0u);
}

TEST(JobMap, SoManyOnEachNode) {
  EXPECT_EQ(map_of({.per_node = 2}), "0033");
  EXPECT_EQ(map_of({.tasks = 3, .per_node = 2}), "003");
  EXPECT_EQ(map_of({.per_node = 1, .words = {"C"}}), "03");
  EXPECT_EQ(map_of({.per_node = 3, .hosts = {"d"}}), "333");
  EXPECT_EQ(refused({.tasks = 5, .per_node = 2}), "-n 5 with -N 2: the 2 nodes chosen take 4 tasks");
}

TEST(JobMap, AJobHasAtMostSoManyTasksAsLapiAllows) {
  EXPECT_EQ(map_of({.tasks = MAX_TASKS}).size(), MAX_TASKS);
  EXPECT_EQ(refused({.per_node = MAX_TASKS}), "more than 16384 tasks");
  EXPECT_EQ(refused({.tasks = MAX_TASKS + 1}), "more than 16384 tasks");
}

TEST(JobMap, LostNodesAreRefusedByName) {
  EXPECT_EQ(refused({.words = {"n4"}}), "n4: the daemon of n4 (e) is lost");
  EXPECT_EQ(refused({.hosts = {"e"}}), "-host e: the daemon of n4 (e) is lost");
  EXPECT_NE(refused({.words = {"n1"}}), "");
}

}  // namespace
}  // namespace openlapi::jobs
