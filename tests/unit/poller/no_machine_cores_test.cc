// A library that was built without hwloc knows no places, and so pins nothing by itself.
#include <gtest/gtest.h>

#include "dataplane/poller/machine_cores.h"

namespace openlapi {
namespace {

TEST(MachineCores, AreNotKnownWithoutHwloc) {
  EXPECT_TRUE(allowed_cores().empty());
  EXPECT_TRUE(processors_near("lo").empty());
}

}  // namespace
}  // namespace openlapi
