#include "control/job/options/this_host.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "control/base/host_name.h"

namespace openlapi {
namespace {

TEST(ThisHost, IsKnownByItsNames) {
  for (const char* name : {"localhost", "LOCALHOST", "127.0.0.1", "::1"}) EXPECT_TRUE(is_this_host(name)) << name;
  EXPECT_TRUE(is_this_host(host_name()));
  for (const char* name : {"", "local", "nobody.invalid", "127.0.0.2"}) EXPECT_FALSE(is_this_host(name)) << name;
}

TEST(ThisHost, HasAsManyTasksAsPlacesAreNamed) {
  const std::vector<std::string> three{"localhost", "localhost", "localhost"};
  EXPECT_EQ(tasks_here({}), 1U);
  EXPECT_EQ(tasks_here({.tasks = 5}), 5U);
  EXPECT_EQ(tasks_here({.hosts = three}), 3U);
  EXPECT_EQ(tasks_here({.tasks = 5, .hosts = three}), 5U);
  EXPECT_EQ(tasks_here({.per_node = 2, .hosts = three}), 2U);  // once each, as over a universe
  EXPECT_EQ(tasks_here({.tasks = 1, .per_node = 2}), 1U);
}

TEST(ThisHost, TakesNoMoreThanAreAllowedOnEachNode) {
  try {
    tasks_here({.tasks = 3, .per_node = 2});
    FAIL() << "3 tasks were taken";
  } catch (const std::invalid_argument& wrong) {
    EXPECT_EQ(std::string(wrong.what()).find("-n 3 with -N 2: this machine alone takes 2"), 0U) << wrong.what();
  }
}

}  // namespace
}  // namespace openlapi
