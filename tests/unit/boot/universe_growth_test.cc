#include "control/boot/nodes/universe_growth.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "control/boot/errors/boot_error.h"
#include "control/boot/include/boot.h"
#include "control/boot/include/lam-ssi-boot.h"

namespace openlapi::boot {
namespace {

char inky[] = "inky", clyde[] = "clyde";

// Nodes 0 and 2; 1 was shrunk away.
std::vector<lamnode> universe() {
  std::vector<lamnode> nodes(3);
  make_invalid(nodes[1]);
  nodes[0].lnd_type = NT_ORIGIN;
  nodes[0].lnd_hname = inky;
  nodes[2].lnd_nodeid = 2;
  nodes[2].lnd_hname = clyde;
  nodes[2].lnd_type = NT_WASTE | NT_BOOT;
  nodes[2].lnd_ncpus = 8;
  return nodes;
}

std::string mistake_in(const GrowthRequest& request) {
  const std::vector<lamnode> nodes = universe();
  try {
    grow_universe(nodes.data(), 3, request);
    return "none";
  } catch (const BootError& error) {
    return error.what();
  }
}

TEST(UniverseGrowth, NumbersTheNewNodeBehindTheHighest) {
  const std::vector<lamnode> nodes = universe();
  NodeArray grown = grow_universe(nodes.data(), 3, {"pinky", NOTNODEID, 4, false});
  ASSERT_EQ(grown.count(), 4);
  EXPECT_EQ(grown[0].lnd_type, NT_ORIGIN);
  EXPECT_FALSE(is_valid(grown[1]));
  EXPECT_EQ(grown[2].lnd_type, NT_WASTE);
  EXPECT_EQ(grown[2].lnd_ncpus, 8);
  EXPECT_NE(grown[2].lnd_hname, clyde);
  EXPECT_EQ(grown[3].lnd_nodeid, 3);
  EXPECT_EQ(grown[3].lnd_type, NT_BOOT | NT_JOINS | NT_WASTE);
  EXPECT_EQ(grown[3].lnd_ncpus, 4);
  EXPECT_STREQ(grown[3].lnd_hname, "pinky");
}

// As -prefix of the tools gives it.
class GivenPrefix {
 public:
  explicit GivenPrefix(const char* prefix) : before_(lam_ssi_boot_optd) {
    lam_ssi_boot_optd = ao_init();
    ao_setopt(lam_ssi_boot_optd, "prefix", nullptr, 1, 0);
    std::string words[] = {"lamgrow", "-prefix", prefix};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    int argc = 3;
    EXPECT_EQ(ao_parse(lam_ssi_boot_optd, &argc, argv), 0);
  }
  ~GivenPrefix() {
    ao_free(lam_ssi_boot_optd);
    lam_ssi_boot_optd = before_;
  }

 private:
  OPT* before_;
};

std::string prefix_of(const lamnode& node) {
  char key[] = "prefix";
  const ELEM wanted{key, nullptr};
  const auto* pair = static_cast<const ELEM*>(al_find(node.lnd_keyval, &wanted));
  return pair == nullptr ? "none" : pair->value;
}

TEST(UniverseGrowth, TheNewNodeHasThePrefixThatWasGiven) {
  const std::vector<lamnode> nodes = universe();
  EXPECT_EQ(prefix_of(grow_universe(nodes.data(), 3, {"pinky", 3})[3]), "none");
  {
    const GivenPrefix given("/opt/lapi");
    NodeArray grown = grow_universe(nodes.data(), 3, {"pinky", 3});
    EXPECT_EQ(prefix_of(grown[3]), "/opt/lapi");
    EXPECT_EQ(prefix_of(grown[2]), "none");
  }
  const GivenPrefix given("opt");
  EXPECT_EQ(mistake_in({"pinky", 3}), "option -prefix is opt; allowed: an absolute path");
}

TEST(UniverseGrowth, FillsAHoleAndMakesInvalidNodes) {
  const std::vector<lamnode> nodes = universe();
  NodeArray hole = grow_universe(nodes.data(), 3, {"pinky", 1});
  ASSERT_EQ(hole.count(), 3);
  EXPECT_TRUE(is_to_be_booted(hole[1]));
  NodeArray far = grow_universe(nodes.data(), 3, {"pinky", 30});
  ASSERT_EQ(far.count(), 31);
  EXPECT_TRUE(is_to_be_booted(far[30]));
  for (std::size_t n = 3; n < 30; ++n) EXPECT_FALSE(is_valid(far[n]));
}

TEST(UniverseGrowth, RefusesWhatIsThereAlready) {
  EXPECT_EQ(mistake_in({"pinky", 2}), "node n2 (clyde) is in the universe already");
  EXPECT_EQ(mistake_in({"CLYDE"}), "host CLYDE is in the universe already, as node 2");
  EXPECT_EQ(mistake_in({"pinky", 2000000}), "node 2000000 is not possible; allowed: 0 to 65535");
  EXPECT_EQ(mistake_in({"pinky", -2}), "node -2 is not possible; allowed: 0 to 65535");
  EXPECT_EQ(mistake_in({"pinky", NOTNODEID, 0}), "option -cpu is 0; allowed: 1 or more");
}

// Section 2.5.7.
TEST(Lamgrow, GrowsTheUniverseThatTheToolKnows) {
  lamnode* nodes = nullptr;
  int count = 0, origin = -1;
  testing::internal::CaptureStderr();
  EXPECT_EQ(lam_ssi_boot_base_lamgrow("pinky", &nodes, &count, &origin), nullptr);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("there is no universe that could grow"), std::string::npos);

  std::vector<lamnode> known = universe();
  known[0].lnd_addr.sin_addr.s_addr = htonl(0x0a000001);
  ASSERT_EQ(lam_ssi_boot_base_set_universe(known.data(), 3, 0), 0);
  OPT* options = ao_init();
  ao_setopt(options, "n", nullptr, 1, AOINT);
  ao_setopt(options, "cpu", nullptr, 1, AOINT);
  ao_setopt(options, "no-schedule", nullptr, 0, 0);
  std::string words[] = {"lamgrow", "-n", "5", "-cpu", "3", "-no-schedule"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                  words[4].data(), words[5].data(), nullptr};
  int argc = 6;
  ASSERT_EQ(ao_parse(options, &argc, argv), 0);
  lam_ssi_boot_optd = options;
  EXPECT_STREQ(lam_ssi_boot_base_lamgrow("pinky", &nodes, &count, &origin), "pinky");
  EXPECT_EQ(origin, 0);
  ASSERT_EQ(count, 6);
  EXPECT_EQ(nodes[5].lnd_ncpus, 3);
  EXPECT_EQ(nodes[5].lnd_type, NT_BOOT | NT_JOINS | NT_WASTE);
  // Who is the origin, a daemon is told, whichever node reports go to.
  char* topology = lam_ssi_boot_build_inet_topo(&nodes[5], nodes[2], 2);
  EXPECT_NE(std::string(topology).find(" -n 5 -o 0"), std::string::npos) << topology;
  EXPECT_STREQ(getenv("LAM_MPI_SSI_boot_base_origin"), "10.0.0.1");
  std::free(topology);
  lam_ssi_boot_optd = nullptr;
  ao_free(options);
  EXPECT_EQ(nodes[4].lnd_nodeid, NOTNODEID);
  lam_deallocate_nodes(&nodes, &count);
  lam_ssi_boot_base_set_universe(nullptr, 0, 0);
}

}  // namespace
}  // namespace openlapi::boot
