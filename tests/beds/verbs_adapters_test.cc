// Ports and adapters that are not as soft-RoCE is: over the shim that says what real ones say (adapter_shim.h).
#include <gtest/gtest.h>

#include "tests/beds/adapter_shim.h"
#include "tests/beds/verbs_bed.h"

namespace openlapi::test {
namespace {

class VerbsAdapters : public testing::Test {
 protected:
  VerbsAdapters() { forget_requests(); }
  ~VerbsAdapters() override { adapter_shim = {}; }

  // Datagrams, and packets through connections, get through in both directions.
  void expect_exchange(VerbsPair& pair) {
    for (std::uint64_t number = 1; number != 40; ++number) {
      ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, number));
      ASSERT_TRUE(gets_through(*pair.right, 0, *pair.left, 100 + number));
    }
  }
};

TEST_F(VerbsAdapters, AnInfiniBandPortIsUsedByItsLid) {
  adapter_shim.infiniband = true;
  VerbsPair pair;
  EXPECT_EQ(pair.left->address().fabric, verbs::Fabric::infiniband);
  EXPECT_EQ(pair.right->address().lid, 2);
  expect_exchange(pair);
  for (const ibv_ah_attr& handle : requests_of_adapter().handles) EXPECT_EQ(handle.is_global, 0);
}

}  // namespace
}  // namespace openlapi::test
