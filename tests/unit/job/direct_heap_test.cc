#include "control/job/node/direct_heap.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

const char* const kNothing[] = {nullptr};

TEST(DirectHeap, IsPreloadedBehindWhatTheUserPreloads) {
  TaskEnvironment environment(kNothing);
  environment.set("OPENLAPI_DIRECT_HEAP", "2G");
  environment.set("LD_PRELOAD", "mine.so");
  EXPECT_TRUE(preload_heap(environment, "/lib/heap.so"));
  EXPECT_EQ(environment.get("LD_PRELOAD"), "mine.so /lib/heap.so libmimalloc.so.2");
  EXPECT_EQ(environment.get("OPENLAPI_DIRECT"), "auto");
}

TEST(DirectHeap, LeavesTheUseOfDirectAccessToTheUser) {
  TaskEnvironment environment(kNothing);
  environment.set("OPENLAPI_DIRECT_HEAP", "yes");
  environment.set("OPENLAPI_DIRECT", "get");
  EXPECT_TRUE(preload_heap(environment, "/lib/heap.so"));
  EXPECT_EQ(environment.get("LD_PRELOAD"), "/lib/heap.so libmimalloc.so.2");
  EXPECT_EQ(environment.get("OPENLAPI_DIRECT"), "get");
}

TEST(DirectHeap, IsNotThereUnasked) {
  for (const char* unasked : {"", "no"}) {
    TaskEnvironment environment(kNothing);
    if (*unasked != 0) environment.set("OPENLAPI_DIRECT_HEAP", unasked);
    EXPECT_TRUE(preload_heap(environment, ""));
    EXPECT_EQ(environment.get("LD_PRELOAD") + environment.get("OPENLAPI_DIRECT"), "");
  }
}

TEST(DirectHeap, NeedsALibraryThatIsInstalled) {
  TaskEnvironment environment(kNothing);
  environment.set("OPENLAPI_DIRECT_HEAP", "yes");
  EXPECT_FALSE(preload_heap(environment, ""));
  EXPECT_EQ(environment.get("LD_PRELOAD"), "");
}

}  // namespace
}  // namespace openlapi
