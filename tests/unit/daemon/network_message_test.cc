#include "control/daemon/messages/network_message.h"

#include <gtest/gtest.h>

#include "control/daemon/messages/daemon_message.h"
#include "control/daemon/tables/table_file.h"

namespace openlapi::daemon {
namespace {

NetworkTable small_table() { return {"7", 9, 2, {{0, 0, 164, "sn0", ""}, {1, 3, kAnyWindow, "sn1", "rxe0:1"}}}; }
WindowState small_state() { return {"7", 2, {1, 3, 5, "sn1", "rxe0:1"}, 77}; }

TEST(NetworkMessage, HasTheseBytes) {
  const MessageBytes window{1, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 's', '1', 1, 0, 0, 0, 'd'};
  MessageBytes table{2, 32, 1, 0, 0, 0, '7', 9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0};
  table.insert(table.end(), window.begin(), window.end());
  EXPECT_EQ(encode(LoadRequest{{"7", 9, 2, {{1, 3, 5, "s1", "d"}}}}), table);
  EXPECT_EQ(encode(UnloadRequest{"7"}), (MessageBytes{2, 33, 1, 0, 0, 0, '7'}));
  EXPECT_EQ(encode(TablesRequest{""}), (MessageBytes{2, 34, 0, 0, 0, 0}));
  MessageBytes tables{2, 35, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, '7', 2, 0, 0, 0};
  tables.insert(tables.end(), window.begin(), window.end());
  tables.insert(tables.end(), {77, 0, 0, 0});
  EXPECT_EQ(encode(TablesMessage{"", {{"7", 2, {1, 3, 5, "s1", "d"}, 77}}}), tables);
  EXPECT_EQ(encode(OpenWindows{"7", 1, 2, {{5, "s"}}}),
            (MessageBytes{2, 36, 1, 0, 0, 0, '7', 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 's'}));
  EXPECT_EQ(encode(WindowsMessage{"", 9, {"d"}, {1}}), (MessageBytes{2, 37, 0, 0, 0, 0, 9,   0, 0, 0, 0, 0, 0, 0, 1, 0,
                                                                     0, 0,  1, 0, 0, 0, 'd', 1, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(encode(GiveAddresses{{{1, "k", {255}}}}),
            (MessageBytes{2, 38, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'k', 1, 0, 0, 0, 255}));
  EXPECT_EQ(encode(AddressesMessage{"no", {}}), (MessageBytes{2, 39, 2, 0, 0, 0, 'n', 'o', 0, 0, 0, 0}));
  EXPECT_EQ(encode(NetworkMessage{1, 2, {3}, {4}}),
            (MessageBytes{2, 40, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 4}));
  EXPECT_EQ(encode(CleanRequest{}), (MessageBytes{2, 41}));
}

TEST(NetworkMessage, ActionsHaveTheseBytes) {
  EXPECT_EQ(encode_action(UnloadTable{"7", 9}), (MessageBytes{2, 1, 0, 0, 0, '7', 9, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(encode_action(ReadTables{""}), (MessageBytes{3, 0, 0, 0, 0}));
  EXPECT_EQ(encode_action(NodeAnswer{"x", {}}), (MessageBytes{4, 1, 0, 0, 0, 'x', 0, 0, 0, 0}));
  EXPECT_EQ(encode_action(NodeGives{9, 2, {}}), (MessageBytes{5, 9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(encode_action(NodeTakesBack{9, 2}), (MessageBytes{6, 9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(encode_action(ExchangeOver{9, 2, "", {}}),
            (MessageBytes{7, 9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(encode_action(CleanNode{}), (MessageBytes{8}));
}

TEST(NetworkMessage, ComesBackAsItWas) {
  const DaemonMessage messages[] = {LoadRequest{small_table()},
                                    UnloadRequest{"key"},
                                    TablesRequest{"key"},
                                    TablesMessage{"no", {small_state(), small_state()}},
                                    OpenWindows{"key", 1, 2, {{5, "sn0"}, {6, "sn1"}}},
                                    WindowsMessage{"", 1ULL << 63, {"", "rxe0"}, {0, 5}},
                                    GiveAddresses{{{0, "key", {1, 2}}, {0, "other", {}}}},
                                    AddressesMessage{"", {{7, "key", {1}}}},
                                    NetworkMessage{1, 2, {3, 4}, {5, 6}},
                                    CleanRequest{}};
  for (const DaemonMessage& message : messages) {
    EXPECT_EQ(decode(encode(message)), message);
    const MessageBytes bytes = encode(message);
    for (std::size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(decode(std::span(bytes).first(length)));
  }
  const NetworkAction actions[] = {LoadTable{small_table()},
                                   UnloadTable{"key", 5},
                                   ReadTables{"key"},
                                   NodeAnswer{"no", {small_state()}},
                                   NodeGives{1ULL << 63, 7, {{0, "key", {1, 2}}}},
                                   NodeTakesBack{5, 6},
                                   ExchangeOver{5, 6, "no", {{0, "key", {1, 2}}}},
                                   CleanNode{}};
  for (const NetworkAction& action : actions) {
    EXPECT_EQ(decode_action(encode_action(action)), action);
    const MessageBytes bytes = encode_action(action);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(decode_action(std::span(bytes).first(length)));
    }
  }
}

std::string mistake_with(auto change) {
  NetworkTable table = small_table();
  change(table);
  return mistake_in(table);
}

TEST(NetworkMessage, TablesThatMakeNoSenseAreRefused) {
  EXPECT_EQ(mistake_in(small_table()), "");
  const auto found = [](const std::string& mistake, const char* text) {
    EXPECT_NE(mistake.find(text), std::string::npos) << mistake;
  };
  found(mistake_with([](NetworkTable& table) { table.key = ""; }), "job key '' is not allowed: 1 to 255");
  found(mistake_with([](NetworkTable& table) { table.key = std::string(256, 'k'); }), "1 to 255 printable");
  found(mistake_with([](NetworkTable& table) { table.key = "a\nb"; }), "printable");
  found(mistake_with([](NetworkTable& table) { table.windows.clear(); }), "0 windows; allowed are 1 to 4096");
  found(mistake_with([](NetworkTable& table) { table.windows.resize(4097, table.windows[0]); }), "4097 windows");
  found(mistake_with([](NetworkTable& table) { table.tasks = 5000; }), "5000 tasks; allowed are 1 to 4096");
  found(mistake_with([](NetworkTable& table) { table.windows[0].task = 2; }), "task's number is not below");
  found(mistake_with([](NetworkTable& table) { table.windows[0].window = 65536; }), "from 0 to 65535, or any");
  for (const char* adapter : {"", "a,b", "a:b", "a b"}) {
    found(mistake_with([&](NetworkTable& table) { table.windows[0].adapter = adapter; }), "without comma, colon and");
  }
  found(mistake_with([](NetworkTable& table) { table.windows[0].device = std::string(256, 'd'); }), "at most 255");
  found(mistake_with([](NetworkTable& table) { table.tasks = 3; }), "task 2 has no window");
  found(mistake_with([](NetworkTable& table) { table.windows.push_back({0, 1, 5, "sn0", ""}); }), "another node, too");
  found(mistake_with([](NetworkTable& table) { table.windows.push_back({0, 0, 164, "sn0", ""}); }), "there twice");
  NetworkTable wrong = small_table();
  wrong.tasks = 3;
  EXPECT_FALSE(decode_action(encode_action(LoadTable{wrong})));
}

TEST(TableFile, IsRead) {
  const NetworkTable table = parse_table(
      "# two tasks\n\n  MP_PARTITION=a key \r\n0 n0 164,sn0\n0\tn0 165,sn1 0000:3b:00.0,a=1 net_x0\n"
      "1 n12 any,sn0 rxe0:1:3");
  EXPECT_EQ(table, (NetworkTable{"a key",
                                 0,
                                 2,
                                 {{0, 0, 164, "sn0", ""},
                                  {0, 0, 165, "sn1", "0000:3b:00.0,a=1 net_x0"},
                                  {1, 12, kAnyWindow, "sn0", "rxe0:1:3"}}}));
}

TEST(TableFile, NamesTheMistake) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"0 n0 1,sn0\n", "no line says MP_PARTITION="},
      {"MP_PARTITION=1\nMP_PARTITION=2\n", "line 2: MP_PARTITION is there twice"},
      {"MP_PARTITION=1\n\nzero n0 1,sn0\n", "line 3: 'zero' is no task: allowed is a number from 0"},
      {"MP_PARTITION=1\n0 0 1,sn0\n", "line 2: '' is no node: allowed is n0, n1"},
      {"MP_PARTITION=1\n0 n0\n", "line 2: '' is no window: allowed is window,adapter"},
      {"MP_PARTITION=1\n0 n0 x,sn0\n", "line 2: 'x' is no window: allowed is 0 to 65535, or any"},
      {"MP_PARTITION=1\n0 n0 65536,sn0\n", "line 2: '65536' is no window: allowed is 0 to 65535, or any"},
      {"MP_PARTITION=1\n99999 n0 1,sn0\n", "line 2: task 99999: allowed are 0 to 4095"},
      {"MP_PARTITION=1\n1 n0 1,sn0\n", "task 0 has no window"},
      {"MP_PARTITION=1\n0 n0 1,s:0\n", "without comma, colon and space"},
      {"MP_PARTITION=1\n", "0 windows"}};
  for (const auto& [text, expected] : mistakes) {
    try {
      parse_table(text);
      FAIL() << text;
    } catch (const std::invalid_argument& wrong) {
      EXPECT_NE(std::string(wrong.what()).find(expected), std::string::npos) << wrong.what();
    }
  }
}

TEST(TableFile, SaysWhatATaskIsToSet) {
  EXPECT_EQ(network_statement({{"7", 1, {0, 0, 164, "sn0", "rxe0"}, 0}}), "@1:164,sn0");
  EXPECT_EQ(network_statement({{"7", 1, {0, 0, 1, "sn0", ""}, 0}, {"7", 1, {0, 0, 2, "sn1", ""}, 0}}),
            "@2:1,sn0:2,sn1");
}

}  // namespace
}  // namespace openlapi::daemon
