#include "control/tools/matrix_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace openlapi::daemon {
namespace {

AdapterStatus adapter(const std::string& name, const AdapterAddress& address, std::uint8_t cause = AdapterCause::kUp) {
  return {name, AdapterKind::kInterface, cause, 10000, 1'700'000'000'042, {address}};
}

class MatrixText : public testing::Test {
 protected:
  MatrixText() {
    setenv("TZ", "UTC", 1);
    tzset();
    matrix_.universe.nodes.resize(3);
    for (std::size_t n = 0; n < 3; ++n) {
      matrix_.universe.nodes[n].state = NodeState::kMember;
      matrix_.universe.nodes[n].host = "host" + std::to_string(n);
    }
    for (std::uint32_t n = 0; n < 3; ++n) {
      matrix_.rows.push_back({n, 0, 1, {adapter("eth0", {{10, 0, 0, static_cast<std::uint8_t>(n + 1)}, 24})}});
    }
    matrix_.rows[1].adapters.push_back(adapter("eth1", {{10, 0, 19, 2}, 20}));
  }
  AdapterStatus& second() { return matrix_.rows[1].adapters[1]; }

  Matrix matrix_{};
};

TEST_F(MatrixText, HasALineForEachNodeAndAColumnForEachNetwork) {
  EXPECT_TRUE(is_all_up(matrix_));
  EXPECT_EQ(table_of(matrix_),
            "node        10.0.0.0/24  10.0.16.0/20\n"
            "n0 (host0)  eth0\n"
            "n1 (host1)  eth0         eth1\n"
            "n2 (host2)  eth0\n");
}

TEST_F(MatrixText, SaysWhatIsDown) {
  second().cause = AdapterCause::kNoCarrier;
  EXPECT_FALSE(is_all_up(matrix_));
  EXPECT_EQ(table_of(matrix_),
            "node        10.0.0.0/24  10.0.16.0/20\n"
            "n0 (host0)  eth0\n"
            "n1 (host1)  eth0         eth1 DOWN\n"
            "n2 (host2)  eth0\n"
            "n1 (host1): eth1 (10.0.19.2/20, 10 Gbit/s) is down since 2023-11-14 22:13:20.042: no carrier\n");
}

TEST_F(MatrixText, NamesLostDaemons) {
  matrix_.universe.nodes[2].state = NodeState::kLost;
  matrix_.rows.pop_back();
  EXPECT_FALSE(is_all_up(matrix_));
  EXPECT_NE(table_of(matrix_).find("n2 (host2): its daemon is lost\n"), std::string::npos);
}

TEST_F(MatrixText, WhatNoDaemonHasToldOfIsUnknown) {
  matrix_.rows.erase(matrix_.rows.begin());
  matrix_.rows[1] = {.node = 2};  // its own, which does not hear of adapters
  EXPECT_FALSE(is_all_up(matrix_));
  EXPECT_EQ(table_of(matrix_),
            "node        10.0.0.0/24  10.0.16.0/20\n"
            "n0 (host0)  ?            ?\n"
            "n1 (host1)  eth0         eth1\n"
            "n2 (host2)  ?            ?\n"
            "n0 (host0): unknown: its daemon has not told of its adapters\n"
            "n2 (host2): unknown: its daemon has not told of its adapters\n");
  const std::string json = json_of(matrix_);
  EXPECT_TRUE(json.starts_with(R"({"here":0,"all_up":false,)")) << json;
  EXPECT_NE(json.find(R"({"node":0,"host":"host0","state":"unknown","adapters":[]})"), std::string::npos) << json;
  matrix_.rows.clear();
  EXPECT_FALSE(is_all_up(matrix_));
  matrix_.universe.nodes.resize(1);
  matrix_.rows = {{0, 0, 1, {}}};
  EXPECT_TRUE(is_all_up(matrix_)) << "it has none";
}

TEST_F(MatrixText, AdaptersOfOneNetworkShareACell) {
  second().addresses = {{{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 64}, {{10, 0, 0, 9}, 24}};
  EXPECT_NE(table_of(matrix_).find("n1 (host1)  eth0, eth1\n"), std::string::npos) << "IPv4 comes first";
  second().addresses.pop_back();
  EXPECT_NE(table_of(matrix_).find("fd00::/64"), std::string::npos);
  second().addresses.clear();
  EXPECT_NE(table_of(matrix_).find("eth1"), std::string::npos);
}

TEST_F(MatrixText, JsonHasAll) {
  second().cause = AdapterCause::kUnreachable;
  second().speed = 0;
  const std::string json = json_of(matrix_);
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  EXPECT_NE(
      json.find(R"({"here":0,"all_up":false,"nodes":[{"node":0,"host":"host0","state":"member","adapters":[)"
                R"({"name":"eth0","kind":"interface","state":"up","reason":null,"since":"2023-11-14T22:13:20.042Z",)"
                R"("speed_mbit":10000,"addresses":["10.0.0.1/24"],"networks":["10.0.0.0/24"]}]})"),
      std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("state":"down","reason":"nobody answers")"), std::string::npos);
  EXPECT_NE(json.find(R"("speed_mbit":null)"), std::string::npos);
}

TEST_F(MatrixText, JsonIsJsonWhateverAHostIsCalled) {
  matrix_.universe.nodes[0].host = "\"\xff\\";
  EXPECT_NE(json_of(matrix_).find(R"("host":"\"\ufffd\\")"), std::string::npos) << json_of(matrix_);
}

TEST_F(MatrixText, HistorySaysWhatCameAfter) {
  matrix_.changes = {{4, 1, second(), 1'700'000'001'000}, {5, 9, second(), 1'700'000'002'000}};
  matrix_.changes[0].adapter.cause = AdapterCause::kTakenDown;
  EXPECT_EQ(history_of(matrix_, 0),
            "2023-11-14 22:13:21.000  n1 (host1): eth1 (10.0.19.2/20, 10 Gbit/s) is down: taken down\n"
            "2023-11-14 22:13:22.000  n9: eth1 (10.0.19.2/20, 10 Gbit/s) is up\n");
  EXPECT_EQ(history_of(matrix_, 4), "2023-11-14 22:13:22.000  n9: eth1 (10.0.19.2/20, 10 Gbit/s) is up\n");
  EXPECT_EQ(history_of(matrix_, 5), "");
  EXPECT_NE(
      json_history_of(matrix_, 0).find(R"({"heard":"2023-11-14T22:13:21.000Z","node":1,"host":"host1","adapter":{)"),
      std::string::npos);
}

}  // namespace
}  // namespace openlapi::daemon
