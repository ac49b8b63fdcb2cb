#include "dataplane/base/cancellation.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

// Asking is setting.
int state_now() {
  int state = -1, as_before = -1;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_setcancelstate(state, &as_before);
  return state;
}
int type_now() {
  int type = -1, as_before = -1;
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  pthread_setcanceltype(type, &as_before);
  return type;
}

TEST(Cancellation, IsOffAndThenAsBefore) {
  ASSERT_EQ(state_now(), PTHREAD_CANCEL_ENABLE);
  {
    const CancellationOff outer;
    EXPECT_EQ(state_now(), PTHREAD_CANCEL_DISABLE);
    { const CancellationOff inner; }
    EXPECT_EQ(state_now(), PTHREAD_CANCEL_DISABLE);
  }
  EXPECT_EQ(state_now(), PTHREAD_CANCEL_ENABLE);
}

TEST(Cancellation, IsAtPointsAloneAndThenAsBefore) {
  ASSERT_EQ(type_now(), PTHREAD_CANCEL_DEFERRED);
  int before = -1;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  {
    const CancellationAtPoints outer;
    EXPECT_EQ(type_now(), PTHREAD_CANCEL_DEFERRED);
    { const CancellationAtPoints inner; }
    EXPECT_EQ(type_now(), PTHREAD_CANCEL_DEFERRED);
  }
  EXPECT_EQ(type_now(), PTHREAD_CANCEL_ASYNCHRONOUS);
  pthread_setcanceltype(before, nullptr);
}

}  // namespace
}  // namespace openlapi
