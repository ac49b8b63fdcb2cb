#include "control/daemon/messages/adapter_message.h"

#include <gtest/gtest.h>

#include <string>

#include "control/daemon/messages/daemon_message.h"

namespace openlapi::daemon {
namespace {

AdapterStatus small_adapter() {
  return {"e", AdapterKind::kInterface, AdapterCause::kNoCarrier, 10, 5, {{{10, 0, 0, 1}, 24}}};
}

TEST(AdapterMessage, HasTheseBytes) {
  const MessageBytes adapter{1, 0, 0, 0, 'e', 0, 1, 10, 0, 0, 0, 5,  0, 0, 0, 0,
                             0, 0, 0, 1, 0,   0, 0, 4,  0, 0, 0, 10, 0, 0, 1, 24};
  MessageBytes rows{1, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
  rows.insert(rows.end(), adapter.begin(), adapter.end());
  const NodeAdapters row{3, 2, 9, {small_adapter()}};
  MessageBytes adapters{2, 48};
  adapters.insert(adapters.end(), rows.begin(), rows.end());
  EXPECT_EQ(encode(AdaptersMessage{{row}}), adapters);
  EXPECT_EQ(encode(MatrixRequest{7, 3, 1}), (MessageBytes{2, 49, 7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1}));
  MessageBytes matrix{2, 50, 7, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0};
  matrix.insert(matrix.end(), rows.begin(), rows.end());
  matrix.insert(matrix.end(), {1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0});
  matrix.insert(matrix.end(), adapter.begin(), adapter.end());
  matrix.insert(matrix.end(), {8, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(encode(MatrixMessage{7, 4, {row}, {{6, 3, small_adapter(), 8}}}), matrix);
  EXPECT_EQ(encode(FollowAdapters{}), (MessageBytes{2, 51}));
  EXPECT_EQ(encode(AdaptersChanged{}), (MessageBytes{2, 52}));
  EXPECT_EQ(encode(PathReport{{1, 2, 3, 4}, {5, 6, 7, 8}}),
            (MessageBytes{2, 53, 4, 0, 0, 0, 1, 2, 3, 4, 4, 0, 0, 0, 5, 6, 7, 8}));
  EXPECT_EQ(encode(DoubtMessage{9, {1, 2, 3, 4}, {5, 6, 7, 8}}),
            (MessageBytes{2, 54, 9, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4, 4, 0, 0, 0, 5, 6, 7, 8}));
  EXPECT_EQ(encode(AdaptersTaken{}), (MessageBytes{2, 55}));
}

TEST(AdapterMessage, ComesBackAsItWas) {
  AdapterStatus port = small_adapter();
  port.name = "rxe0:1";
  port.kind = AdapterKind::kPort;
  port.addresses.push_back({MessageBytes(16, 0xfe), 128});
  const DaemonMessage messages[] = {AdaptersMessage{{{0, 0, 1, {}}, {65535, 1, 1ULL << 63, {small_adapter(), port}}}},
                                    AdaptersMessage{}, MatrixRequest{1ULL << 40, 5, 0},
                                    MatrixMessage{1, 2, {{3, 4, 5, {port}}}, {{6, 3, port, 7}, {7, 3, port, 9}}}};
  for (const DaemonMessage& message : messages) EXPECT_EQ(decode(encode(message)), message);
}

TEST(AdapterMessage, WhatCannotBeIsRefused) {
  const auto is_refused = [](const NodeAdapters& row) {
    return !decode(encode(AdaptersMessage{{row}})) && !decode(encode(MatrixMessage{1, 0, {row}, {}}));
  };
  const auto with = [](auto change) {
    NodeAdapters row{1, 0, 1, {small_adapter()}};
    change(row);
    return row;
  };
  EXPECT_FALSE(is_refused(with([](NodeAdapters&) {})));
  EXPECT_TRUE(is_refused(with([](NodeAdapters& row) { row.node = kMostNodes; })));
  EXPECT_TRUE(is_refused(with([](NodeAdapters& row) { row.adapters.push_back(small_adapter()); }))) << "twice";
  EXPECT_TRUE(is_refused(with([](NodeAdapters& row) { row.adapters[0].cause = 7; })));
  EXPECT_TRUE(is_refused(with([](NodeAdapters& row) { row.adapters[0].kind = 2; })));
  for (const std::string& name : {std::string(), std::string(64, 'e'), std::string("a b"), std::string("\033[2J"),
                                  std::string("\""), std::string("\xc3\xa4")}) {
    EXPECT_TRUE(is_refused(with([&](NodeAdapters& row) { row.adapters[0].name = name; }))) << name;
  }
  EXPECT_TRUE(is_refused(with([](NodeAdapters& row) { row.adapters[0].addresses[0].prefix = 33; })));
  EXPECT_TRUE(is_refused(with([](NodeAdapters& row) { row.adapters[0].addresses[0].bytes.pop_back(); })));
  EXPECT_TRUE(is_refused(with([](NodeAdapters& row) { row.adapters[0].addresses.resize(9, {{1, 2, 3, 4}, 8}); })));
  EXPECT_TRUE(is_refused(with([](NodeAdapters& row) {
    for (std::size_t n = 0; n < kMostAdapters; ++n) {
      row.adapters.push_back(small_adapter());
      row.adapters.back().name = "e" + std::to_string(n);
    }
  })));
  AdapterChange change{1, kMostNodes, small_adapter(), 1};
  EXPECT_FALSE(decode(encode(MatrixMessage{1, 0, {}, {change}})));
  change.node = 1;
  EXPECT_TRUE(decode(encode(MatrixMessage{1, 0, {}, {change}})));
  EXPECT_FALSE(decode(encode(MatrixMessage{1, 0, {}, std::vector(kMostChanges + 1, change)})));
}

TEST(AdapterMessage, AddressesThatCannotBeAreRefused) {
  const MessageBytes good{1, 2, 3, 4}, six(16, 1), bad{1, 2, 3}, none{};
  EXPECT_TRUE(decode(encode(PathReport{good, six})));
  EXPECT_TRUE(decode(encode(DoubtMessage{1, six, good})));
  for (const MessageBytes& address : {bad, none}) {
    EXPECT_FALSE(decode(encode(PathReport{address, good})));
    EXPECT_FALSE(decode(encode(PathReport{good, address})));
    EXPECT_FALSE(decode(encode(DoubtMessage{1, address, good})));
    EXPECT_FALSE(decode(encode(DoubtMessage{1, good, address})));
  }
  EXPECT_FALSE(decode(encode(DoubtMessage{kMostNodes, good, good})));
}

TEST(AdapterMessage, ARowHasAboutSoManyBytes) {
  const NodeAdapters row{3, 2, 9, {small_adapter()}};
  EXPECT_EQ(encode(AdaptersMessage{{row, row}}).size() - encode(AdaptersMessage{{row}}).size(), size_of(row));
}

}  // namespace
}  // namespace openlapi::daemon
