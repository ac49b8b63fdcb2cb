#include "dataplane/base/slow_call.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <future>
#include <utility>

#include "tests/support/allocation_count.h"

namespace openlapi {
namespace {

bool takes_signals() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, SIGUSR1) == 0;
}

TEST(SlowCall, ItsThreadTakesNoSignalsAndTheCallersGoesOnTakingThem) {
  bool took = true;
  SlowCall call;
  ASSERT_TRUE(call.begin([&] { took = takes_signals(); }));
  call.wait();
  EXPECT_TRUE(call.over());
  EXPECT_FALSE(took);
  EXPECT_TRUE(takes_signals());
}

TEST(SlowCall, IsWaitedForAsLongAsItMayTake) {
  using std::chrono::milliseconds;
  std::promise<void> may_end;
  SlowCall call;
  EXPECT_TRUE(call.over_within(milliseconds(0))) << "there was none";
  ASSERT_TRUE(call.begin([&] { may_end.get_future().wait(); }));
  EXPECT_FALSE(call.over_within(milliseconds(1)));
  EXPECT_FALSE(call.over());
  may_end.set_value();
  EXPECT_TRUE(call.over_within(milliseconds(600'000)));
  EXPECT_TRUE(call.over());
}

TEST(SlowCall, WithoutMemoryNothingHappensAndSignalsAreTaken) {
  bool ran = false;
  SlowCall call;
  std::function<void()> body = [&ran] { ran = true; };
  test::refuse_allocations(1);
  const bool began = call.begin(std::move(body));
  test::allow_allocations();
  EXPECT_FALSE(began);
  EXPECT_TRUE(takes_signals());
  EXPECT_TRUE(call.over());
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace openlapi
