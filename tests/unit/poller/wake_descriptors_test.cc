#include "dataplane/poller/wake_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

namespace openlapi {
namespace {

template <typename Kind>
class WakeDescriptor : public testing::Test {};
using Kinds = testing::Types<Bell, AlarmTimer>;
TYPED_TEST_SUITE(WakeDescriptor, Kinds);

TYPED_TEST(WakeDescriptor, IsClosedWithItsOwner) {
  int descriptor = -1;
  {
    TypeParam owner;
    ASSERT_TRUE(owner.valid());
    descriptor = owner.descriptor();
    EXPECT_NE(fcntl(descriptor, F_GETFD), -1);
    EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << "programs that a task starts must not have it";
  }
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
}

TEST(AlarmTimer, OfNoTimeAtAllRingsAtOnce) {
  AlarmTimer timer;
  timer.set_after(0);
  pollfd rings{timer.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&rings, 1, 10'000), 1);
}

}  // namespace
}  // namespace openlapi
