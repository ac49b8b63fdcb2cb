#include "nic/dpdk/path_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace openlapi::dpdk {
namespace {

const FrameEnd kOwn{{0x02, 0x0d, 0, 0, 0, 1}, 0x0a4e0001, 50000, 0x11223344};
const FrameEnd kOther{{0x02, 0x0d, 0, 0, 0, 2}, 0x0a4e0002, 50001, 0xa1b2c3d4};

FrameEnd everybody_at(const FrameEnd& end) {
  FrameEnd all = end;
  all.mac = kBroadcast;
  return all;
}

TEST(PathMessage, AQuestionByteByByte) {
  const PathFrame frame = make_path_frame(kOwn, kOther, {}, true);
  const unsigned expected[] = {0x02, 0x0d, 0,    0,    0,    2,    0x02, 0x0d, 0,    0,    0,    1,    0x08, 0x00,
                               0x45, 0,    0,    42,   0,    0,    0x40, 0,    64,   17,   0x26, 0x25, 10,   78,
                               0,    1,    10,   78,   0,    2,    0xc3, 0x50, 0xc3, 0x51, 0,    22,   0,    0,
                               0x4c, 0x32, 0xa1, 0xb2, 0xc3, 0xd4, 1,    0,    0,    0,    0x11, 0x22, 0x33, 0x44};
  for (std::size_t i = 0; i < frame.size(); ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(frame[i]), i < std::size(expected) ? expected[i] : 0u) << i;
  }
}

TEST(PathMessage, TellsWhoAsksAndWhoAnswers) {
  for (const bool question : {true, false}) {
    const PathFrame frame = make_path_frame(kOwn, kOther, {.dscp = 8}, question);
    const FrameView view = parse_frame(frame, kOther);
    ASSERT_EQ(view.kind, FrameKind::path);
    PathMessage message;
    ASSERT_TRUE(parse_path_frame(frame, view, message));
    EXPECT_EQ(message.question, question);
    EXPECT_EQ(message.sender.mac, kOwn.mac);
    EXPECT_EQ(message.sender.address, kOwn.address);
    EXPECT_EQ(message.sender.port, kOwn.port);
    EXPECT_EQ(message.sender.token, kOwn.token);
  }
}

// Where hardware addresses are not known; packets are never sent so.
TEST(PathMessage, EverybodysHardwareAddressIsTheReceiversToo) {
  PathFrame frame = make_path_frame(kOwn, everybody_at(kOther), {}, true);
  EXPECT_EQ(parse_frame(frame, kOther).kind, FrameKind::path);
  frame[kMark + 1] = std::byte{kFrameMark & 0xff};
  EXPECT_EQ(parse_frame(frame, kOther).kind, FrameKind::foreign);
}

TEST(PathMessage, IsFoundBehindTheTagOfTheOwnVlan) {
  const PathFrame question = make_path_frame(kOwn, kOther, {.tag = 5}, true);
  std::vector<std::byte> frame(kTagLength + question.size());
  std::copy(question.begin(), question.end(), frame.begin() + kTagLength);
  insert_tag(frame.data(), 5);
  FrameEnd in_vlan = kOther;
  in_vlan.vlan = 5;
  const FrameView view = parse_frame(frame, in_vlan);
  ASSERT_EQ(view.kind, FrameKind::path);
  PathMessage message;
  ASSERT_TRUE(parse_path_frame(frame, view, message));
  EXPECT_EQ(message.sender.mac, kOwn.mac);
}

TEST(PathMessage, IsTakenFromThoseAloneWhoKnowTheToken) {
  for (const auto change : {+[](FrameEnd& end) { ++end.token; }, +[](FrameEnd& end) { ++end.address; },
                            +[](FrameEnd& end) { ++end.port; }, +[](FrameEnd& end) { ++end.mac[5]; }}) {
    FrameEnd wrong = kOther;
    change(wrong);
    EXPECT_EQ(parse_frame(make_path_frame(kOwn, wrong, {}, true), kOther).kind, FrameKind::foreign);
  }
}

TEST(PathMessage, WhatIsNoneIsRefused) {
  const PathFrame good = make_path_frame(kOwn, kOther, {}, true);
  constexpr FrameView kWhole{FrameKind::path, 8};
  PathMessage message;
  for (std::size_t length = 0; length < 56; ++length) {
    EXPECT_FALSE(parse_path_frame(std::span(good).first(length), kWhole, message)) << length;
  }
  for (std::uint32_t length = 0; length < 8; ++length) {
    EXPECT_FALSE(parse_path_frame(good, {FrameKind::path, length}, message)) << length;
  }
  const auto refused = [&](std::size_t at, std::uint8_t value) {
    PathFrame frame = good;
    frame[at] = std::byte{value};
    return !parse_path_frame(frame, kWhole, message);
  };
  EXPECT_TRUE(refused(48, 0) && refused(48, 3)) << "neither a question nor an answer";
  EXPECT_TRUE(refused(49, 1) && refused(51, 1)) << "of a later version";
  EXPECT_TRUE(refused(6, 0x03)) << "from no port's address";
  FrameEnd without_token = kOwn;
  without_token.token = 0;
  EXPECT_FALSE(parse_path_frame(make_path_frame(without_token, kOther, {}, true), kWhole, message));
}

}  // namespace
}  // namespace openlapi::dpdk
