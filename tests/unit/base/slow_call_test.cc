#include "dataplane/base/slow_call.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <functional>
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
