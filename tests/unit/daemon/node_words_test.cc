#include "control/daemon/universe/node_words.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "control/boot/include/lamnet.h"

namespace openlapi::daemon {
namespace {

// n0 with 2 processors, n1 invalid, n2 with 1 (the origin), n3 with 4 and lost.
std::vector<UniverseNode> nodes() {
  return {{NodeState::kMember, 0, 0, 0, 2, "a"},
          {},
          {NodeState::kMember, 0, 0, NT_ORIGIN, 1, "c"},
          {NodeState::kLost, 0, 0, 0, 4, "d"}};
}

using Choices = std::vector<NodeChoice>;

TEST(NodeWords, ChooseNodes) {
  EXPECT_EQ(choose_nodes({"N"}, nodes(), 0), (Choices{{0, 2}, {2, 1}, {3, 4}}));
  EXPECT_EQ(choose_nodes({"C"}, nodes(), 0), (Choices{{0, 2}, {2, 1}, {3, 4}}));
  EXPECT_EQ(choose_nodes({"n2-3,0"}, nodes(), 0), (Choices{{2, 1}, {3, 4}, {0, 2}}));
  EXPECT_EQ(choose_nodes({"h", "o"}, nodes(), 0), (Choices{{0, 2}, {2, 1}}));
}

TEST(NodeWords, ChooseProcessorsThroughAllNodes) {
  EXPECT_EQ(choose_nodes({"c0"}, nodes(), 0), (Choices{{0, 1}}));
  EXPECT_EQ(choose_nodes({"c1-4"}, nodes(), 0), (Choices{{0, 1}, {2, 1}, {3, 2}}));
  EXPECT_EQ(choose_nodes({"c6"}, nodes(), 0), (Choices{{3, 1}}));
}

// lamshrink may have removed it.
TEST(NodeWords, AnOriginThatIsNotThereIsRefused) {
  std::vector<UniverseNode> without = nodes();
  without[2] = {};
  EXPECT_THROW(choose_nodes({"o"}, without, 0), std::invalid_argument);
  EXPECT_THROW(choose_nodes({"h", "o"}, without, 0), std::invalid_argument);
}

TEST(NodeWords, OthersAreRefused) {
  for (const char* word : {"n1", "n4", "n0-4", "n", "n-1", "n2-0", "n0,", "n0-", "nx", "c7", "c0-4000000000", "x", "",
                           "n0-1-2", "n4294967296"}) {
    EXPECT_THROW(choose_nodes({word}, nodes(), 0), std::invalid_argument) << word;
  }
}

}  // namespace
}  // namespace openlapi::daemon
