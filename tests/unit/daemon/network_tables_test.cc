#include "control/daemon/tables/network_tables.h"

#include <gtest/gtest.h>

namespace openlapi::daemon {
namespace {

// Tasks 0 and 1 on n0, task 2 on n1.
NetworkTable table_of(const std::string& key, std::uint64_t identity, std::uint32_t first) {
  return {key, identity, 3, {{0, 0, first, "sn0", "rxe0"}, {1, 0, first + 1, "sn0", "rxe0"}, {2, 1, first, "sn0", ""}}};
}

OpenWindows asked(std::uint32_t task, std::uint32_t window) { return {"7", task, 3, {{window, "sn0"}}}; }

void expect_failure(const std::string& failure, const std::string& text) {
  EXPECT_NE(failure.find(text), std::string::npos) << failure;
}

TEST(NetworkTables, AreLoadedReadAndUnloaded) {
  NetworkTables tables(0);
  const NodeAnswer loaded = tables.load(table_of("7", 1, 164));
  EXPECT_EQ(loaded.failure, "");
  const std::vector<WindowState> states{{"7", 3, {0, 0, 164, "sn0", "rxe0"}, 0},
                                        {"7", 3, {1, 0, 165, "sn0", "rxe0"}, 0}};
  EXPECT_EQ(loaded.windows, states);
  EXPECT_EQ(tables.states("7"), states);
  EXPECT_EQ(tables.states("8"), std::vector<WindowState>{});
  EXPECT_EQ(tables.load(table_of("8", 2, 170)).failure, "");
  EXPECT_EQ(tables.states("").size(), 4U);
  EXPECT_EQ(tables.unload("7", 0).windows, states);
  EXPECT_EQ(tables.unload("7", 0), NodeAnswer{});
  EXPECT_EQ(tables.states("").size(), 2U);
  EXPECT_EQ(tables.find("7"), nullptr);
}

TEST(NetworkTables, AKeyAndAWindowBelongToOneTable) {
  NetworkTables tables(0);
  tables.load(table_of("7", 1, 164));
  expect_failure(tables.load(table_of("7", 2, 300)).failure, "MP_PARTITION='7' is loaded already");
  expect_failure(tables.load(table_of("8", 2, 165)).failure, "window 165,sn0 belongs to MP_PARTITION='7'");
  // The same device by another name; another device; another node.
  expect_failure(tables.load({"8", 2, 1, {{0, 0, 164, "sn9", "rxe0"}}}).failure, "window 164,sn9 belongs to");
  EXPECT_EQ(tables.load({"8", 2, 1, {{0, 0, 164, "sn0", "rxe1"}}}).failure, "");
  EXPECT_EQ(tables.load({"9", 3, 1, {{0, 1, 165, "sn0", "rxe0"}}}).failure, "");
}

TEST(NetworkTables, FreeWindowsAreChosen) {
  NetworkTables tables(0);
  tables.load({"7", 1, 1, {{0, 0, 1, "sn0", ""}}});
  const NodeAnswer loaded = tables.load({"8",
                                         2,
                                         3,
                                         {{0, 0, kAnyWindow, "sn0", ""},
                                          {1, 0, kAnyWindow, "sn0", ""},
                                          {1, 0, kAnyWindow, "sn1", ""},
                                          {2, 0, 2, "sn0", ""}}});
  ASSERT_EQ(loaded.windows.size(), 4U);
  EXPECT_EQ(loaded.windows[0].window.window, 0U);
  EXPECT_EQ(loaded.windows[1].window.window, 3U);  // 1 is of another table, 2 of this one
  EXPECT_EQ(loaded.windows[2].window.window, 0U);  // of another adapter
  // Which number another node has chosen is its own business.
  EXPECT_EQ(tables.load({"9", 3, 1, {{0, 5, kAnyWindow, "sn0", ""}}}).windows.size(), 0U);
}

TEST(NetworkTables, AreBounded) {
  NetworkTables tables(0);
  for (std::uint32_t n = 0; n < kMostTables; ++n) {
    EXPECT_EQ(tables.load({std::to_string(n), n + 1, 1, {{0, 0, n, "sn0", ""}}}).failure, "");
  }
  expect_failure(tables.load({"more", 100, 1, {{0, 0, 500, "sn0", ""}}}).failure,
                 "64 network tables with 4096 windows");
  tables.unload("0", 0);
  NetworkTable large{"large", 101, 1, {}};
  for (std::uint32_t n = 0; n < kMostTableWindows; ++n) large.windows.push_back({0, 0, n, "sn1", ""});
  expect_failure(tables.load(large).failure, "4096 windows in all");
  large.windows.resize(kMostTableWindows - kMostTables + 1);
  EXPECT_EQ(tables.load(large).failure, "");
}

TEST(NetworkTables, ATaskGetsItsWindowsUntilItEnds) {
  NetworkTables tables(0);
  tables.load(table_of("7", 0xabc, 164));
  EXPECT_EQ(tables.open(asked(1, 165), 77), (WindowsMessage{"", 0xabc, {"rxe0"}, {0, 1}}));
  EXPECT_EQ(tables.states("7")[1].process, 77U);
  EXPECT_EQ(tables.states("7")[0].process, 0U);
  expect_failure(tables.open(asked(1, 165), 78).failure, "windows of task 1 are in use by process 77");
  expect_failure(tables.unload("7", 0).failure, "task 1 is running (process 77)");
  EXPECT_EQ(tables.states("7").size(), 2U);
  tables.close(0xabc, 1);
  EXPECT_EQ(tables.open(asked(1, 165), 78).failure, "");
  // Who loaded it takes it back, whatever happens with it.
  EXPECT_EQ(tables.unload("7", 0xabd), NodeAnswer{});
  EXPECT_EQ(tables.unload("7", 0xabc).windows.size(), 2U);
  tables.close(0xabc, 1);
}

TEST(NetworkTables, RefusalsNameTheVariable) {
  NetworkTables tables(0);
  expect_failure(tables.open(asked(0, 164), 77).failure, "MP_PARTITION='7': no network table of this job key");
  tables.load(table_of("7", 1, 164));
  expect_failure(tables.open({"8", 0, 3, {{164, "sn0"}}}, 77).failure, "MP_PARTITION='8': no network table");
  expect_failure(tables.open({"7", 0, 4, {{164, "sn0"}}}, 77).failure, "MP_PROCS=4: the network table of");
  expect_failure(tables.open(asked(2, 164), 77).failure, "MP_CHILD=2");
  expect_failure(tables.open(asked(2, 164), 77).failure, "not on this node, n0, but on n1");
  expect_failure(tables.open(asked(3, 164), 77).failure, "MP_CHILD=3");
  expect_failure(tables.open(asked(0, 165), 77).failure, "MP_LAPI_NETWORK: '165,sn0' is not reserved for task 0");
  expect_failure(tables.open(asked(0, 165), 77).failure, "has 164,sn0 for it");
  expect_failure(tables.open({"7", 0, 3, {{164, "sn1"}}}, 77).failure, "'164,sn1' is not reserved");
  expect_failure(tables.open({"7", 0, 3, {{164, "sn0"}, {165, "sn0"}}}, 77).failure, "'165,sn0' is not reserved");
  expect_failure(tables.open({"7", 0, 3, {}}, 77).failure, "MP_LAPI_NETWORK names no window");
  EXPECT_EQ(tables.states("7")[0].process, 0U);
}

TEST(NetworkTables, SaysWhoIsWhere) {
  const NetworkTable table = table_of("7", 1, 164);
  EXPECT_EQ(nodes_of(table), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(node_of(table, 1), 0U);
  EXPECT_EQ(node_of(table, 2), 1U);
  EXPECT_EQ(NetworkTables(1).tasks_here(table), (std::vector<std::uint32_t>{2}));
}

}  // namespace
}  // namespace openlapi::daemon
