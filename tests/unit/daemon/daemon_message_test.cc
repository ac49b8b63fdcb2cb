#include "control/daemon/messages/daemon_message.h"

#include <gtest/gtest.h>

namespace openlapi::daemon {
namespace {

UniverseMessage small_universe() {
  return {1,
          {{NodeState::kMember, 0x7f000001, 4711, 0x104, 2, "inky"}, {NodeState::kLost, 0x0a000001, 80, 0, 1, ""}},
          {0, 1}};
}

JobMessage small_job() { return {1, 2, 3, JobAction::kStart, {4, 5}, {7, 8, 9}}; }
NodeRecord small_record() { return {258, {NodeState::kLost, 0x7f000001, 4711, 4, 2, "ab", 5, 6, 7}}; }

const MessageBytes kRecordBytes{2, 1, 0, 0, 3, 1,   0,   0, 0x7f, 0x67, 0x12, 0, 0, 4, 0, 0, 0, 2, 0, 0,
                                0, 2, 0, 0, 0, 'a', 'b', 5, 0,    0,    0,    6, 0, 0, 0, 7, 0, 0, 0};

MessageBytes with_record(MessageBytes begin) {
  begin.insert(begin.end(), kRecordBytes.begin(), kRecordBytes.end());
  return begin;
}

TEST(DaemonMessage, HasTheseBytes) {
  EXPECT_EQ(encode(LinkMessage{3, {small_record()}}), with_record({2, 1, 3, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(encode(NodeMessage{small_record()}), with_record({2, 7}));
  EXPECT_EQ(encode(GrowthRequest{}), (MessageBytes{2, 18}));
  EXPECT_EQ(encode(GrowthMessage{9, {0, 1, 255}, "no", 1}),
            (MessageBytes{2, 19, 9, 0, 0, 0, 3, 0, 0, 0, 0, 1, 255, 2, 0, 0, 0, 'n', 'o', 1}));
  EXPECT_EQ(encode(GrowMessage{small_record()}), with_record({2, 20}));
  EXPECT_EQ(encode(ShrinkMessage{3, 600, 1}), (MessageBytes{2, 21, 3, 0, 0, 0, 0x58, 2, 0, 0, 1}));
  EXPECT_EQ(encode(OutcomeMessage{"no"}), (MessageBytes{2, 22, 2, 0, 0, 0, 'n', 'o'}));
  EXPECT_EQ(encode(ReadyMessage{}), (MessageBytes{2, 2}));
  EXPECT_EQ(encode(LostMessage{0x04030201}), (MessageBytes{2, 3, 1, 2, 3, 4}));
  EXPECT_EQ(encode(HaltMessage{10'000}), (MessageBytes{2, 4, 0x10, 0x27, 0, 0}));
  EXPECT_EQ(encode(HaltedMessage{{5}, {6}}), (MessageBytes{2, 5, 1, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0}));
  EXPECT_EQ(encode(JobMessage{1, 2, 3, JobAction::kData, {4}, {9}}),
            (MessageBytes{2, 6, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 2, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 9}));
  EXPECT_EQ(encode(JobsRequest{}), (MessageBytes{2, 23}));
  EXPECT_EQ(encode(JobsMessage{{{1, 2, 3, 4, {5}}}}),
            (MessageBytes{2, 24, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0}));
  EXPECT_EQ(encode(UniverseRequest{1}), (MessageBytes{2, 16, 1}));
  EXPECT_EQ(encode(UniverseMessage{0, {{NodeState::kMember, 0x7f000001, 4711, 4, 2, "ab"}}, {0}}),
            (MessageBytes{2, 17, 0, 0, 0, 0, 1, 0, 0, 0, 1,   1,   0, 0, 0x7f, 0x67, 0x12, 0, 0, 4, 0,
                          0, 0,  2, 0, 0, 0, 2, 0, 0, 0, 'a', 'b', 1, 0, 0,    0,    0,    0, 0, 0}));
}

TEST(DaemonMessage, ComesBackAsItWas) {
  const DaemonMessage messages[] = {LinkMessage{3, {small_record()}},
                                    LinkMessage{0, {}},
                                    ReadyMessage{},
                                    LostMessage{77},
                                    HaltMessage{8750},
                                    HaltedMessage{{5, 6}, {7}},
                                    NodeMessage{small_record()},
                                    UniverseRequest{1},
                                    small_universe(),
                                    small_job(),
                                    GrowthRequest{},
                                    GrowthMessage{1, MessageBytes(32), "", 0},
                                    GrowMessage{small_record()},
                                    ShrinkMessage{1, 2, 0},
                                    OutcomeMessage{},
                                    JobsRequest{},
                                    JobsMessage{{{1, 2, 3, 4, {5, 6}}, {7, 8, 0, 9, {}}}}};
  for (const DaemonMessage& message : messages) {
    const auto decoded = decode(encode(message));
    ASSERT_TRUE(decoded.has_value()) << message.index();
    EXPECT_EQ(*decoded, message);
  }
}

TEST(DaemonMessage, AnyOtherLengthIsRefused) {
  for (const DaemonMessage& message :
       {DaemonMessage(LinkMessage{3, {small_record()}}), DaemonMessage(small_universe()), DaemonMessage(small_job())}) {
    MessageBytes bytes = encode(message);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(decode(std::span(bytes).first(length)).has_value()) << length;
    }
    bytes.push_back(0);
    EXPECT_FALSE(decode(bytes).has_value());
  }
}

TEST(DaemonMessage, AnotherVersionOrKindIsRefused) {
  EXPECT_FALSE(decode(MessageBytes{1, 2}).has_value());
  EXPECT_FALSE(decode(MessageBytes{2, 99}).has_value());
}

TEST(DaemonMessage, ACountThatTheBytesCannotHoldReservesNothing) {
  EXPECT_FALSE(decode(MessageBytes{2, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}).has_value());
  EXPECT_FALSE(decode(MessageBytes{2, 17, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 1}).has_value());
}

TEST(DaemonMessage, ImpossibleNodesAreRefused) {
  UniverseMessage universe = small_universe();
  universe.here = 2;
  EXPECT_FALSE(decode(encode(universe)).has_value());
  universe = small_universe();
  universe.nodes[0].state = NodeState::kRemoved + 1;
  EXPECT_FALSE(decode(encode(universe)).has_value());
  universe = small_universe();
  universe.nodes[0].port = 65536;
  EXPECT_FALSE(decode(encode(universe)).has_value());
  universe = small_universe();
  universe.nodes[0].host = std::string("a\0b", 3);
  EXPECT_FALSE(decode(encode(universe)).has_value());
  universe = small_universe();
  universe.parents[1] = 2;
  EXPECT_FALSE(decode(encode(universe)).has_value());
  universe.parents.pop_back();
  EXPECT_FALSE(decode(encode(universe)).has_value());
  EXPECT_FALSE(decode(encode(UniverseMessage{})).has_value());
  for (NodeRecord record : {NodeRecord{kMostNodes, small_record().node}, NodeRecord{1, {}},
                            NodeRecord{1, {NodeState::kRemoved + 1}}, NodeRecord{1, {NodeState::kMember, 0, 65536}}}) {
    EXPECT_FALSE(decode(encode(NodeMessage{record})).has_value());
    EXPECT_FALSE(decode(encode(GrowMessage{record})).has_value());
    EXPECT_FALSE(decode(encode(LinkMessage{1, {small_record(), record}})).has_value());
  }
}

TEST(DaemonMessage, UnknownActionsOfJobsAreRefused) {
  for (const std::uint8_t action : {0, JobAction::kWayLost + 1, 255}) {
    JobMessage job = small_job();
    job.action = action;
    EXPECT_FALSE(decode(encode(job)).has_value()) << int{action};
  }
}

TEST(DaemonMessage, ALongNameIsCut) {
  UniverseMessage universe = small_universe();
  universe.nodes[0].host = std::string(kLongestText + 1, 'x');
  const auto decoded = decode(encode(universe));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(std::get<UniverseMessage>(*decoded).nodes[0].host.size(), kLongestText);
}

}  // namespace
}  // namespace openlapi::daemon
