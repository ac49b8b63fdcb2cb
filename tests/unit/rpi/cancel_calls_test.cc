#include "api/rpi/lapi/cancel_calls.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace openlapi::rpi {
namespace {

TEST(CancelCallsTest, MayComeOnceALibraryIsLoadedThatRefersToMpiCancel) {
  CancelCalls calls;
  EXPECT_FALSE(calls.may_come());
  void* const other = dlopen("libutil.so.1", RTLD_LAZY);
  EXPECT_FALSE(calls.may_come()) << "a library that has nothing to do with it";
  void* const cancelling = dlopen(std::getenv("RPI_CANCELLING"), RTLD_LAZY);
  ASSERT_NE(cancelling, nullptr) << dlerror();
  EXPECT_TRUE(calls.may_come());
  dlclose(cancelling);
  if (other != nullptr) dlclose(other);
  EXPECT_TRUE(calls.may_come()) << "for good";
}

}  // namespace
}  // namespace openlapi::rpi
