// Where a daemon of the tree belongs of which several are lost on the way to the root.
#include <gtest/gtest.h>

#include "tests/unit/daemon/membership_network.h"

namespace openlapi::daemon {
namespace {

// A machine in the middle of the tree dies, and with it, or a while later, the next one on the way down.
TEST(LostAncestors, WhoIsTwoLinksBelowALostDaemonFindsTheNextLivingOne) {
  for (const std::uint32_t steps : {0u, 1u, 3u, 1000u}) {
    Network network(40, 3);
    network.start();
    network.run();
    const UniverseTable& lowest = network.table(39);
    const std::uint32_t parent = *lowest.parent();
    const std::uint32_t above = *network.table(parent).parent();
    const std::uint32_t next = *network.table(above).parent();
    ASSERT_TRUE(above != 0);
    network.kill(above);
    for (std::uint32_t step = 0; step != steps && network.step(); ++step) {
    }
    network.kill(parent);
    network.run();
    EXPECT_EQ(network.living(), 38u);
    for (std::uint32_t node = 0; node < 40; ++node) {
      if (!network.lives(node)) continue;
      EXPECT_TRUE(network.is_linked(node) && !network.table(node).is_member(above) &&
                  !network.table(node).is_member(parent))
          << "n" << node;
    }
    EXPECT_EQ(lowest.parent(), next) << steps;
  }
}

}  // namespace
}  // namespace openlapi::daemon
