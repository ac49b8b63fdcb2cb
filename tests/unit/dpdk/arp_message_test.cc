#include "nic/dpdk/arp_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace openlapi::dpdk {
namespace {

const FrameEnd kOwn{{0x02, 0x0d, 0, 0, 0, 1}, 0x0a4e0001, 50000, 1};
const FrameEnd kOther{{0x02, 0x0d, 0, 0, 0, 2}, 0x0a4e0002, 50001, 2};

TEST(ArpMessage, AQuestionByteByByte) {
  const ArpFrame frame = make_arp_question(kOwn, kOther.address);
  const unsigned expected[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x0d, 0,    0,    0,  1,  0x08, 0x06,
                               0,    1,    0x08, 0,    6,    4,    0,    1,    0x02, 0x0d, 0,  0,  0,    1,
                               10,   78,   0,    1,    0,    0,    0,    0,    0,    0,    10, 78, 0,    2};
  for (std::size_t i = 0; i < frame.size(); ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(frame[i]), i < std::size(expected) ? expected[i] : 0u) << i;
  }
}

TEST(ArpMessage, AnAnswerGoesToWhoAsked) {
  ArpMessage question, answer;
  ASSERT_TRUE(parse_arp_frame(make_arp_question(kOwn, kOther.address), question));
  EXPECT_TRUE(question.request);
  EXPECT_EQ(question.target_address, kOther.address);
  const ArpFrame frame = make_arp_answer(kOther, question);
  EXPECT_EQ(parse_frame(frame, kOwn).kind, FrameKind::arp);
  ASSERT_TRUE(parse_arp_frame(frame, answer));
  EXPECT_FALSE(answer.request);
  EXPECT_EQ(answer.sender_mac, kOther.mac);
  EXPECT_EQ(answer.sender_address, kOther.address);
  EXPECT_EQ(answer.target_mac, kOwn.mac);
  EXPECT_EQ(answer.target_address, kOwn.address);
}

TEST(ArpMessage, QuestionsInTheOwnVlanAreFoundBehindItsTag) {
  const ArpFrame question = make_arp_question(kOther, kOwn.address);
  std::array<std::byte, kShortestFrame + kTagLength> frame{};
  std::copy(question.begin(), question.end(), frame.begin() + kTagLength);
  insert_tag(frame.data(), 2 << 13 | 5);
  EXPECT_EQ(parse_frame(frame, kOwn).kind, FrameKind::foreign);
  FrameEnd in_vlan = kOwn;
  in_vlan.vlan = 5;
  const FrameView view = parse_frame(frame, in_vlan);
  EXPECT_EQ(view.kind, FrameKind::arp);
  ArpMessage message;
  ASSERT_TRUE(parse_arp_frame(std::span(frame).subspan(view.tag), message));
  EXPECT_EQ(message.target_address, kOwn.address);
  EXPECT_EQ(message.sender_mac, kOther.mac);
}

TEST(ArpMessage, WhatIsNoneIsRefused) {
  const ArpFrame good = make_arp_question(kOwn, kOther.address);
  ArpMessage message;
  for (std::size_t length = 0; length < 42; ++length) {
    EXPECT_FALSE(parse_arp_frame(std::span(good).first(length), message)) << length;
  }
  for (const std::size_t byte : {14u, 15u, 16u, 17u, 18u, 19u, 20u, 21u}) {
    ArpFrame bad = good;
    bad[byte] ^= std::byte{0x10};
    EXPECT_FALSE(parse_arp_frame(bad, message)) << byte;
  }
  ArpFrame from_a_group = good;
  from_a_group[22] |= std::byte{1};
  EXPECT_FALSE(parse_arp_frame(from_a_group, message));
}

}  // namespace
}  // namespace openlapi::dpdk
