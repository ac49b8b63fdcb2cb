// The daemons of a universe in one process; messages between them wait until the test lets them through.
#include "control/daemon/messages/job_delivery.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>
#include <string>

namespace openlapi::daemon {
namespace {

using Nodes = std::vector<std::uint32_t>;

// A binary tree: 0 above 1 and 2, 1 above 3 and 4, 2 above 5 and 6.
class Daemons {
 public:
  explicit Daemons(std::uint32_t count = 7) {
    std::vector<UniverseNode> nodes(count);
    for (UniverseNode& node : nodes) node.state = NodeState::kMember;
    for (std::uint32_t n = 0; n < count; ++n) daemons_.push_back(std::make_unique<Daemon>(*this, nodes, n));
  }

  struct Daemon final : JobPlaces {
    Daemon(Daemons& all_, const std::vector<UniverseNode>& nodes, std::uint32_t here_)
        : all(all_), here(here_), table(nodes, 0, here_, 2), delivery(table, *this) {}
    bool is_linked(std::uint32_t neighbour) const override { return !all.unlinked.contains({here, neighbour}); }
    void send(std::uint32_t neighbour, const JobMessage& message) override {
      ++sent;
      all.under_way_.emplace_back(neighbour, message);
    }
    void start_helper(const JobId& job, const MessageBytes&) override { events += "start " + text(job) + ";"; }
    void tell_helper(const JobId& job, const JobMessage& message) override {
      events += "helper " + text(job) + " from " + std::to_string(message.from) + ":" + body(message) + ";";
    }
    void end_helper(const JobId& job) override { events += "end " + text(job) + ";"; }
    void leave_helper(const JobId& job) override { events += "leave " + text(job) + ";"; }
    void tell_lapirun(const JobId& job, const JobMessage& message) override {
      events += (message.action == JobAction::kGone      ? "gone "
                 : message.action == JobAction::kBroken  ? "broken "
                 : message.action == JobAction::kCutOff  ? "cut off "
                 : message.action == JobAction::kWayLost ? "way lost "
                                                         : "lapirun ") +
                text(job) + " from " + std::to_string(message.from) + ":" + body(message) + ";";
    }
    static std::string text(const JobId& job) { return std::to_string(job.first) + "." + std::to_string(job.second); }
    static std::string body(const JobMessage& message) { return {message.body.begin(), message.body.end()}; }

    Daemons& all;
    std::uint32_t here;
    UniverseTable table;
    JobDelivery delivery;
    std::string events{};
    std::size_t sent = 0;
  };

  Daemon& operator[](std::uint32_t node) { return *daemons_[node]; }
  void run() {
    while (!under_way_.empty()) {
      const auto [to, message] = under_way_.front();
      under_way_.pop_front();
      if (!dead.contains(to)) daemons_[to]->delivery.from_neighbour(message);
    }
  }
  void lose(std::uint32_t node, std::uint8_t state = NodeState::kLost) {
    dead.insert(node);
    for (auto& daemon : daemons_) {
      if (dead.contains(daemon->here)) continue;
      daemon->table.set_state(node, state);
      daemon->delivery.node_lost(node);
    }
  }
  void go_on() {
    for (auto& daemon : daemons_) daemon->delivery.go_on();
    run();
  }
  std::string take_events(std::uint32_t node) { return std::exchange(daemons_[node]->events, ""); }

  std::set<std::pair<std::uint32_t, std::uint32_t>> unlinked{};
  std::set<std::uint32_t> dead{};

 private:
  std::vector<std::unique_ptr<Daemon>> daemons_{};
  std::deque<std::pair<std::uint32_t, JobMessage>> under_way_{};
};

JobMessage message_to(const Nodes& to, std::uint8_t action, const std::string& text = "") {
  return {0, 0, 0, action, to, MessageBytes(text.begin(), text.end())};
}

class JobDeliveryTest : public testing::Test {
 protected:
  // A job of n3's lapirun with tasks on n3, n4, n5 and n6.
  void SetUp() override {
    job = daemons[3].delivery.open();
    daemons[3].delivery.from_lapirun(job, message_to({3, 4, 5, 6}, JobAction::kStart));
    daemons.run();
    for (const std::uint32_t node : {3, 4, 5, 6}) ASSERT_EQ(daemons.take_events(node), "start 3.1;") << node;
    for (const std::uint32_t node : {0, 1, 2}) ASSERT_EQ(daemons.take_events(node), "") << node;
  }
  Daemons daemons;
  JobId job{};
};

TEST_F(JobDeliveryTest, OneMessageGoesInEachDirection) {
  EXPECT_EQ(daemons[3].sent, 1u);
  EXPECT_EQ(daemons[1].sent, 2u);  // n4, and n0 for n5 and n6
  EXPECT_EQ(daemons[0].sent, 1u);
  EXPECT_EQ(daemons[2].sent, 2u);
}

TEST_F(JobDeliveryTest, LapirunAndHelpersTalk) {
  daemons[3].delivery.from_lapirun(job, message_to({3, 6}, JobAction::kData, "a"));
  daemons[5].delivery.from_helper(job, message_to({}, JobAction::kData, "b"));
  daemons[5].delivery.from_helper(job, message_to({4}, JobAction::kData, "c"));
  daemons.run();
  EXPECT_EQ(daemons.take_events(3), "helper 3.1 from 3:a;lapirun 3.1 from 5:b;");
  EXPECT_EQ(daemons.take_events(6), "helper 3.1 from 3:a;");
  EXPECT_EQ(daemons.take_events(4), "helper 3.1 from 5:c;");
  EXPECT_EQ(daemons.take_events(5), "");
}

TEST_F(JobDeliveryTest, WhatIsNotAllowedIsDropped) {
  daemons[3].delivery.from_lapirun(job, message_to({4}, JobAction::kGone));
  daemons[3].delivery.from_lapirun(job, message_to({}, JobAction::kData));
  daemons[3].delivery.from_lapirun({3, 2}, message_to({4}, JobAction::kData));
  daemons[5].delivery.from_helper(job, message_to({6}, JobAction::kEnd));
  daemons[5].delivery.from_helper({3, 2}, message_to({6}, JobAction::kData));
  daemons[0].delivery.from_neighbour({3, 9, 1, JobAction::kData, {0}, {}});
  daemons.run();
  for (std::uint32_t node = 0; node < 7; ++node) EXPECT_EQ(daemons.take_events(node), "") << node;
  daemons[3].delivery.from_lapirun(job, message_to({9}, JobAction::kData));
  EXPECT_EQ(daemons.take_events(3), "");
  daemons[3].delivery.from_lapirun(job, message_to({9}, JobAction::kStart));
  EXPECT_EQ(daemons.take_events(3), "broken 3.1 from 3:n9 is not in the universe;");
}

TEST_F(JobDeliveryTest, TheEndOfLapirunEndsItsHelpers) {
  daemons[3].delivery.lapirun_gone(job);
  daemons.run();
  for (const std::uint32_t node : {3, 4, 5, 6}) EXPECT_EQ(daemons.take_events(node), "end 3.1;") << node;
  daemons[5].delivery.helper_gone(job, "");
  daemons.run();
  EXPECT_EQ(daemons.take_events(3), "");  // nobody is there to be told
}

TEST_F(JobDeliveryTest, TheEndOfAHelperIsToldOnce) {
  daemons[6].delivery.helper_gone(job, "why");
  daemons[6].delivery.helper_gone(job, "why");
  daemons.run();
  EXPECT_EQ(daemons.take_events(3), "gone 3.1 from 6:why;");
}

TEST_F(JobDeliveryTest, OfALostDaemonOthersThatRelyOnItHaveLostTheirWay) {
  daemons.lose(2);  // on the way from n3 to n5 and n6, not to n4
  const std::string why = "the daemon of n2 () is lost; the way to other nodes went through it;";
  EXPECT_EQ(daemons.take_events(3), "way lost 3.1 from 5:" + why + "way lost 3.1 from 6:" + why);
  EXPECT_EQ(daemons.take_events(5), "leave 3.1;");
  EXPECT_EQ(daemons.take_events(6), "leave 3.1;");
  daemons[3].delivery.from_lapirun(job, message_to({2, 4}, JobAction::kData, "a"));  // nobody could know it yet
  daemons.run();
  EXPECT_EQ(daemons.take_events(3), "");
  EXPECT_EQ(daemons.take_events(4), "helper 3.1 from 3:a;");
  EXPECT_EQ(daemons.take_events(4), "");
  const JobId second = daemons[3].delivery.open();
  daemons[3].delivery.from_lapirun(second, message_to({4, 6}, JobAction::kStart));
  daemons.run();
  EXPECT_EQ(daemons.take_events(6), "start 3.2;");  // by another way
  daemons.lose(5);
  EXPECT_EQ(daemons.take_events(3), "cut off 3.1 from 5:the daemon of n5 () is lost;");
  daemons.lose(4);
  const std::string with_it = "the daemon of n4 () is lost;";
  EXPECT_EQ(daemons.take_events(3), "cut off 3.1 from 4:" + with_it + "cut off 3.2 from 4:" + with_it);
  daemons.lose(3);
  EXPECT_EQ(daemons.take_events(6), "leave 3.1;leave 3.2;");
}

TEST_F(JobDeliveryTest, ANodeWhoseWayIsLostMayBeLostItself) {
  daemons.lose(2);
  daemons.take_events(3);
  EXPECT_EQ(daemons[3].delivery.nodes_of(job), (Nodes{3, 4})) << "what messages reach";
  daemons.lose(1);  // on the way to n5 and n6, too
  EXPECT_EQ(daemons.take_events(3),
            "way lost 3.1 from 4:the daemon of n1 () is lost; the way to other nodes went "
            "through it;");
  daemons.lose(5);
  EXPECT_EQ(daemons.take_events(3), "cut off 3.1 from 5:the daemon of n5 () is lost;");
  daemons.lose(6, NodeState::kRemoved);
  EXPECT_EQ(daemons.take_events(3), "gone 3.1 from 6:it was removed from the universe;");
}

// n1 has n3 below it, that has n7 and n8.
TEST(JobDelivery, NodesFarBelowALostOneAreToldOfOnceAndMayBeLostAfterIt) {
  Daemons daemons(15);
  const JobId job = daemons[0].delivery.open();
  daemons[0].delivery.from_lapirun(job, message_to({3, 7, 8}, JobAction::kStart));
  daemons.run();
  daemons.lose(1);
  const std::string beyond = "the daemon of n1 () is lost; the way to other nodes went through it;";
  EXPECT_EQ(daemons.take_events(0),
            "way lost 0.1 from 3:" + beyond + "way lost 0.1 from 7:" + beyond + "way lost 0.1 from 8:" + beyond);
  EXPECT_EQ(daemons.take_events(7), "start 0.1;leave 0.1;");
  const JobId second = daemons[0].delivery.open();
  daemons[0].delivery.from_lapirun(second, message_to({7}, JobAction::kStart));
  daemons.run();
  EXPECT_EQ(daemons.take_events(7), "start 0.2;") << "n3 is linked with n0 now";
  daemons.lose(3);
  EXPECT_EQ(daemons.take_events(0),
            "cut off 0.1 from 3:the daemon of n3 () is lost;"
            "way lost 0.2 from 7:the daemon of n3 () is lost; the way to other nodes went through it;");
  EXPECT_EQ(daemons.take_events(7), "leave 0.1;leave 0.2;");
  daemons.lose(7);
  const std::string itself = "from 7:the daemon of n7 () is lost;";
  EXPECT_EQ(daemons.take_events(0), "cut off 0.1 " + itself + "cut off 0.2 " + itself);
  daemons[0].delivery.lapirun_gone(job);
  daemons.run();
  EXPECT_EQ(daemons.take_events(8), "start 0.1;leave 0.1;leave 0.1;") << "nobody reaches it for this job";
}

TEST_F(JobDeliveryTest, ARemovedNodeIsGoneAndOthersMayHaveLostTheirWay) {
  daemons.lose(4, NodeState::kRemoved);
  EXPECT_EQ(daemons.take_events(3), "gone 3.1 from 4:it was removed from the universe;");
  daemons.lose(2, NodeState::kRemoved);  // on the way from n3 to n5 and n6
  const std::string why = "n2 () was removed from the universe; the way to other nodes went through it;";
  EXPECT_EQ(daemons.take_events(3), "way lost 3.1 from 5:" + why + "way lost 3.1 from 6:" + why);
}

TEST_F(JobDeliveryTest, TheJobsOfARemovedNodeEndElsewhere) {
  daemons.lose(3, NodeState::kRemoved);
  for (const std::uint32_t node : {4, 5, 6}) EXPECT_EQ(daemons.take_events(node), "end 3.1;") << node;
}

TEST_F(JobDeliveryTest, MessagesWaitForALinkInTheirOrder) {
  daemons.unlinked = {{1, 0}};
  daemons[3].delivery.from_lapirun(job, message_to({5}, JobAction::kData, "a"));
  daemons.run();
  daemons.unlinked.clear();
  daemons[3].delivery.from_lapirun(job, message_to({5}, JobAction::kData, "b"));
  daemons.run();
  EXPECT_EQ(daemons.take_events(5), "");
  daemons.go_on();
  EXPECT_EQ(daemons.take_events(5), "helper 3.1 from 3:a;helper 3.1 from 3:b;");
}

}  // namespace
}  // namespace openlapi::daemon
