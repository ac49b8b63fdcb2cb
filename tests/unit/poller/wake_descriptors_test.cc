#include "dataplane/poller/wake_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/timerfd.h>

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

TEST(AlarmTimer, RingsAfterItsTime) {
  AlarmTimer timer;
  timer.set_after(1'500 * kSecond + 700 * kMillisecond);
  itimerspec left{};
  ASSERT_EQ(timerfd_gettime(timer.descriptor(), &left), 0);
  const Nanoseconds length =
      static_cast<Nanoseconds>(left.it_value.tv_sec) * kSecond + static_cast<Nanoseconds>(left.it_value.tv_nsec);
  EXPECT_GT(length, 1'400 * kSecond);
  EXPECT_NE(length % kSecond, 0u);
  EXPECT_LE(length, 1'500 * kSecond + 700 * kMillisecond);
  EXPECT_EQ(left.it_interval.tv_sec + left.it_interval.tv_nsec, 0) << "once";
  timer.set_after(kMillisecond);
  pollfd rings{timer.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&rings, 1, 10'000), 1);
}

}  // namespace
}  // namespace openlapi
