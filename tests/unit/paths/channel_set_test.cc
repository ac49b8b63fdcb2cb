// What the channels of two tasks send when, and what they tell of it. The network between them loses nothing.
#include "dataplane/paths/channel_set.h"

#include <gtest/gtest.h>

#include "tests/support/channel_side.h"

namespace openlapi {
namespace {

using Bytes = ChannelSide::Bytes;

class ChannelSetTest : public testing::Test {
 protected:
  ChannelSetTest() : ChannelSetTest(config()) {}
  explicit ChannelSetTest(const EndpointConfig& config) : a_(0, config, clock_), b_(1, config, clock_) {
    for (ChannelSide* side : {&a_, &b_}) side->transport.set_room(10'000);
    ChannelSide::connect(a_, b_);
    // Whatever uses these buffers next finds no zeros in them.
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(a_.send(Bytes(a_.channel->max_record(), 0xff)));
    a_.transmit();
    settle();
    b_.delivered.clear();
  }
  static EndpointConfig config() {
    EndpointConfig config;
    config.timeout = 10 * kSecond;
    config.ack_threshold = 8;
    return config;
  }

  // All that is on the way arrives and is acknowledged.
  void settle() {
    b_.set.receive();
    b_.set.acknowledge_now();
    a_.set.receive();
    EXPECT_TRUE(a_.set.settled());
  }
  // Two packets may be on the way before records wait for company.
  void fill_the_way() {
    for (unsigned i = 0; i < tuning::kPacketsBeforePacking; ++i) ASSERT_TRUE(a_.send(Bytes(8, 7)));
    ASSERT_EQ(on_the_way(), tuning::kPacketsBeforePacking);
  }
  std::size_t on_the_way() const { return b_.transport.waiting(); }
  // Sizes of the payloads that have arrived since the way was filled.
  std::vector<std::size_t> sizes() {
    b_.set.receive();
    std::vector<std::size_t> result;
    for (std::size_t i = tuning::kPacketsBeforePacking; i < b_.delivered.size(); ++i) {
      result.push_back(b_.delivered[i].size());
    }
    return result;
  }
  Bytes pattern(std::size_t length) const {
    Bytes bytes(length);
    for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + 1);
    return bytes;
  }

  TurnedClock clock_;
  ChannelSide a_, b_;
};

using Sizes = std::vector<std::size_t>;

TEST_F(ChannelSetTest, TwoPacketsLeaveAtOnceAndTheRestTogether) {
  for (unsigned char i = 1; i <= 5; ++i) {
    ASSERT_TRUE(a_.send(Bytes(5, i)));
    EXPECT_EQ(on_the_way(), std::min<std::size_t>(i, tuning::kPacketsBeforePacking));
    EXPECT_EQ(a_.set.has_work(), i > tuning::kPacketsBeforePacking);
    EXPECT_EQ(a_.set.must_send(), i > tuning::kPacketsBeforePacking);
  }
  EXPECT_EQ(a_.transmit(), 1u);
  EXPECT_FALSE(a_.set.has_work());
  EXPECT_EQ(a_.transmit(), 0u);
  EXPECT_EQ(b_.set.receive(), 3u);
  const std::vector<Bytes> expected{
      {1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, {3, 3, 3, 3, 3, 0, 0, 0, 4, 4, 4, 4, 4, 0, 0, 0, 5, 5, 5, 5, 5}};
  EXPECT_EQ(b_.delivered, expected);
}

// Records begin at multiples of 8 bytes; behind the last one of a packet nothing is sent.
TEST_F(ChannelSetTest, PacketsAreFilledToTheLastByte) {
  const std::size_t most = a_.channel->max_record();
  ASSERT_EQ(most, ChannelSide::kMaxPacket - wire::kPacketHeaderSize);
  const std::vector<std::pair<Sizes, Sizes>> cases{{{8, most - 8}, {most}},        {{8, most}, {8, most}},
                                                   {{most, 8}, {most, 8}},         {{16, most - 8}, {16, most - 8}},
                                                   {{8, most - 15}, {most - 7}},   {{most, most}, {most, most}},
                                                   {{1, most - 7}, {1, most - 7}}, {{1, most - 8}, {most}}};
  for (const auto& [records, packets] : cases) {
    fill_the_way();
    for (const std::size_t length : records) ASSERT_TRUE(a_.send(pattern(length)));
    EXPECT_EQ(a_.transmit(), packets.size());
    EXPECT_EQ(sizes(), packets);
    settle();
    b_.delivered.clear();
  }
}

TEST_F(ChannelSetTest, RecordsOfARecordsOwnPlaceAreSentOrNot) {
  EXPECT_NE(a_.channel->begin_record(8), nullptr);
  a_.channel->abandon_record();
  EXPECT_FALSE(a_.channel->has_work()) << "an empty packet would leave";
  fill_the_way();
  ASSERT_TRUE(a_.send(pattern(8)));
  EXPECT_NE(a_.channel->begin_record(8), nullptr);
  a_.channel->abandon_record();
  std::byte* const place = a_.channel->begin_record(16);
  ASSERT_NE(place, nullptr);
  std::memcpy(place, pattern(16).data(), 16);
  a_.channel->end_record(16);
  EXPECT_EQ(a_.transmit(), 1u);
  EXPECT_EQ(sizes(), Sizes{24});
  EXPECT_TRUE(std::ranges::equal(std::span(b_.delivered.back()).subspan(8), pattern(16)));
}

// What answers an arrival leaves at the end of the step, in one packet, which acknowledges.
TEST_F(ChannelSetTest, AnswersWaitForTheEndOfTheStep) {
  const ConstBuffer answer{"answer!", 8};
  b_.on_delivery = [&] { ASSERT_TRUE(b_.channel->send({&answer, 1}, 8)); };
  fill_the_way();
  EXPECT_EQ(b_.set.receive(), 2u);
  EXPECT_EQ(a_.transport.waiting(), 0u);
  EXPECT_EQ(b_.transmit(), 1u);
  EXPECT_EQ(a_.transport.waiting(), 1u);
  EXPECT_EQ(a_.set.receive(), 1u);
  EXPECT_EQ(a_.delivered.at(0).size(), 16u);
  EXPECT_TRUE(a_.set.settled());
}

TEST_F(ChannelSetTest, DataThatStaysWhereItIsFollowsWhatWasThereBefore) {
  const Bytes head = pattern(100), data = pattern(200);
  std::uint32_t tag = 0;
  for (const std::size_t head_length : {8u, 64u, 72u}) {
    fill_the_way();
    ASSERT_TRUE(a_.send(pattern(8)));
    const ConstBuffer pieces[] = {{head.data(), 8}, {head.data() + 8, head_length - 8}};
    ASSERT_TRUE(a_.channel->send_referenced(pieces, {data.data(), data.size()}, ++tag));
    EXPECT_TRUE(a_.set.has_work());
    EXPECT_EQ(a_.transmit(), 2u);
    EXPECT_EQ(sizes(), (Sizes{8, head_length + data.size()}));
    Bytes all(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(head_length));
    all.insert(all.end(), data.begin(), data.end());
    EXPECT_EQ(b_.delivered.back(), all);
    EXPECT_EQ(a_.acknowledged.size(), tag - 1) << "not yet";
    settle();
    EXPECT_EQ(a_.acknowledged.back(), tag);
    b_.delivered.clear();
  }
  EXPECT_EQ(a_.acknowledged.size(), 3u) << "nothing was told of packets that nobody asked for";
}

TEST_F(ChannelSetTest, WhatATransportHasNoRoomForWaits) {
  fill_the_way();
  ASSERT_TRUE(a_.send(pattern(8)));
  b_.transport.set_room(on_the_way());
  EXPECT_EQ(a_.transmit(), 0u) << "nothing has left";
  b_.transport.set_room(1000);
  EXPECT_EQ(a_.transmit(), 1u);
  settle();
  b_.delivered.clear();
  b_.transport.set_room(0);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(a_.send(pattern(a_.channel->max_record())));
  EXPECT_EQ(on_the_way(), 0u);
  EXPECT_EQ(a_.transmit(), 0u);
  EXPECT_TRUE(a_.set.has_work());
  b_.transport.set_room(1);
  EXPECT_EQ(a_.transmit(), 1u);
  EXPECT_TRUE(a_.set.has_work());
  b_.transport.set_room(1000);
  EXPECT_EQ(a_.transmit(), 99u);
  EXPECT_FALSE(a_.set.has_work());
  while (b_.set.receive() != 0) {
  }
  EXPECT_EQ(b_.delivered, std::vector(100, pattern(a_.channel->max_record())));
  settle();
  EXPECT_TRUE(a_.acknowledged.empty());
  EXPECT_EQ(a_.statistics().retransmitted_packets, 0u);
}

// A closed window refuses records; the first acknowledgement opens it, and nothing was lost or doubled.
TEST_F(ChannelSetTest, AClosedWindowTakesNothing) {
  std::vector<Bytes> sent;
  const auto record = [&] {
    Bytes bytes(a_.channel->max_record());
    bytes[0] = static_cast<unsigned char>(sent.size()), bytes[1] = static_cast<unsigned char>(sent.size() >> 8);
    return bytes;
  };
  for (int round = 0; round < 3; ++round) {
    while (sent.size() < 10'000 && a_.send(record())) sent.push_back(record());
    ASSERT_LT(sent.size(), 10'000u);
    const ConstBuffer head{"head....", 8};
    EXPECT_FALSE(a_.channel->send_referenced({&head, 1}, {"data", 4}, 1));
    EXPECT_FALSE(a_.channel->has_work() && !a_.channel->reliable().has_transmissions()) << "work that cannot be done";
    for (int step = 0; step < 1000 && !a_.set.settled(); ++step) {
      a_.transmit();
      b_.set.receive();
      b_.set.acknowledge_now();
      a_.set.receive();
    }
  }
  EXPECT_GT(sent.size(), 100u);
  EXPECT_EQ(b_.delivered, sent);
}

TEST_F(ChannelSetTest, AProbeIsAnEmptyPacketWhereNothingIsOnTheWay) {
  EXPECT_EQ(a_.transmit(), 0u);
  EXPECT_FALSE(a_.set.needs_clock());
  a_.channel->probe();
  EXPECT_TRUE(a_.set.needs_clock());
  EXPECT_EQ(a_.transmit(), 1u);
  a_.channel->probe();
  EXPECT_EQ(a_.transmit(), 0u) << "its acknowledgement is awaited";
  EXPECT_EQ(b_.set.receive(), 1u);
  EXPECT_EQ(b_.delivered, std::vector<Bytes>(1));
  settle();
  EXPECT_TRUE(a_.acknowledged.empty());
  EXPECT_EQ(a_.transmit(), 0u);
  EXPECT_FALSE(a_.set.needs_clock());
}

TEST_F(ChannelSetTest, ALostPacketIsSentAgainWhenItsTimeHasCome) {
  const MessageStatistics before = a_.statistics(), before_b = b_.statistics();
  EXPECT_EQ(a_.set.deadline(), UINT64_MAX);
  const Nanoseconds sent_at = clock_.now();
  ASSERT_TRUE(a_.send(pattern(8)));
  const MemoryTransport::Copies late = b_.transport.take_waiting();
  const Nanoseconds due = a_.set.deadline();
  ASSERT_GT(due, sent_at + tuning::kShortestRetransmitTimeout / 2);
  ASSERT_LT(due, sent_at + kSecond);
  clock_.advance(due - sent_at - 1);
  EXPECT_EQ(a_.set.run_timers(clock_.now()), 0u);
  EXPECT_EQ(on_the_way(), 0u);
  clock_.advance(1);
  EXPECT_EQ(a_.set.run_timers(clock_.now()), 1u);
  EXPECT_EQ(on_the_way(), 1u);
  b_.transport.put_back(late);
  EXPECT_EQ(b_.set.receive(), 2u);
  EXPECT_EQ(b_.delivered.size(), 1u);
  settle();
  const MessageStatistics after = a_.statistics(), after_b = b_.statistics();
  EXPECT_EQ(after.packets_sent - before.packets_sent, 2u);
  EXPECT_EQ(after.retransmitted_packets - before.retransmitted_packets, 1u);
  EXPECT_EQ(after_b.packets_received - before_b.packets_received, 2u);
  EXPECT_EQ(after_b.duplicate_packets - before_b.duplicate_packets, 1u);
  EXPECT_EQ(after.ghost_packets + after_b.ghost_packets, 0u);
}

TEST_F(ChannelSetTest, SilenceIsToldAfterTheWholeTimeOut) {
  fill_the_way();
  ASSERT_TRUE(a_.send(pattern(8)));
  clock_.advance(a_.config.timeout - 1);
  a_.set.run_timers(clock_.now());
  EXPECT_TRUE(a_.timed_out.empty());
  clock_.advance(1);
  a_.set.run_timers(clock_.now());
  EXPECT_EQ(a_.timed_out, std::vector<PeerIndex>{1});
  a_.channel->begin_anew();
  EXPECT_FALSE(a_.channel->has_work());
  EXPECT_TRUE(a_.channel->all_acknowledged());
}

TEST_F(ChannelSetTest, WhatIsNotAcknowledgedIsCounted) {
  fill_the_way();
  ASSERT_TRUE(a_.send(pattern(8)));
  EXPECT_FALSE(a_.set.settled());
  EXPECT_EQ(a_.set.not_acknowledged(), 2u);
  EXPECT_EQ(a_.transmit(), 1u);
  EXPECT_EQ(a_.set.not_acknowledged(), 3u);
  a_.transport.set_gone(1);
  EXPECT_EQ(a_.set.not_acknowledged(), 0u) << "nobody is left to acknowledge";
  EXPECT_TRUE(a_.set.settled());
  a_.transport.set_gone(kUnknownPeer);
  EXPECT_FALSE(a_.set.settled());
  settle();
  EXPECT_EQ(a_.set.not_acknowledged(), 0u);
}

TEST_F(ChannelSetTest, AWayThatEndsOrIsClosedIsNotLookedAt) {
  for (const bool closed : {true, false}) {
    fill_the_way();
    ASSERT_TRUE(a_.send(pattern(8)));
    if (closed) {
      a_.channel->close();
      EXPECT_TRUE(a_.channel->is_closed());
      EXPECT_TRUE(a_.channel->all_acknowledged());
      EXPECT_FALSE(a_.channel->has_work());
    } else {
      a_.channel.reset();
    }
    EXPECT_FALSE(a_.set.needs_clock());
    EXPECT_EQ(a_.set.deadline(), UINT64_MAX);
    EXPECT_EQ(a_.transmit(), 0u);
    EXPECT_EQ(a_.set.not_acknowledged(), 0u);
    a_.channel = a_.set.make_channel(1, a_.only(), {0, ChannelSide::kEpoch});
    b_.channel = b_.set.make_channel(0, b_.only(), {0, ChannelSide::kEpoch});
    b_.transport.forget_waiting();
  }
}

TEST_F(ChannelSetTest, WhatWasForgottenDoesNotLeave) {
  fill_the_way();
  ASSERT_TRUE(a_.send(pattern(8)));
  a_.channel->drop_open_packet();
  EXPECT_FALSE(a_.set.has_work());
  EXPECT_EQ(a_.transmit(), 0u);
  ASSERT_TRUE(a_.send(pattern(8)));
  a_.channel->begin_anew();
  EXPECT_FALSE(a_.set.has_work());
  EXPECT_EQ(a_.transmit(), 0u);
  EXPECT_EQ(sizes(), Sizes{});
  for (int i = 0; i < 10'000; ++i) {  // more than there are buffers
    ASSERT_NE(a_.channel->begin_record(8), nullptr) << i;
    a_.channel->abandon_record();
  }
}

TEST_F(ChannelSetTest, AWayThatEndsGivesItsBuffersBack) {
  for (int i = 0; i < 10'000; ++i) {  // more than there are
    a_.channel = a_.set.make_channel(1, a_.only(), {0, ChannelSide::kEpoch});
    ASSERT_NE(a_.channel->begin_record(8), nullptr);
  }
  a_.channel = a_.set.make_channel(1, a_.only(), {0, ChannelSide::kEpoch});
  fill_the_way();
  EXPECT_TRUE(a_.send(pattern(8))) << "others find none";
}

TEST_F(ChannelSetTest, AnAcknowledgementIsDueAfterSoManyPackets) {
  b_.set.acknowledge_now();
  const std::uint32_t threshold = a_.config.ack_threshold;
  for (const std::uint32_t packets : {threshold, 3u}) {
    if (packets != threshold) b_.set.set_ack_threshold(packets);
    for (std::uint32_t i = 1; i <= packets; ++i) {
      ASSERT_TRUE(a_.send(pattern(8)));
      a_.transmit();
      b_.set.receive();
      EXPECT_EQ(b_.set.must_send(), i == packets) << i << " of " << packets;
      EXPECT_EQ(b_.transmit(), i == packets ? 1u : 0u) << i << " of " << packets;
    }
    EXPECT_EQ(a_.set.receive(), 1u);
    EXPECT_TRUE(a_.set.settled());
  }
  ASSERT_TRUE(a_.send(pattern(8)));
  b_.set.receive();
  EXPECT_EQ(b_.transmit(), 0u);
  clock_.advance(tuning::kAckDelay);
  a_.transport.set_room(0);
  EXPECT_EQ(b_.transmit(), 0u) << "it has not left";
  a_.transport.set_room(10);
  EXPECT_EQ(b_.transmit(), 1u) << "or after some time";
}

// The association is right; nobody of the job would send it.
TEST_F(ChannelSetTest, PacketsOfTasksThatAreNotThereAreCounted) {
  const SipKey key = b_.config.job_key;
  std::vector<wire::PacketHeader> wrong(4, b_.header_of_peer());
  wrong[0].source = 2;
  wrong[1].source = 1;
  wrong[2].path = 1;
  wrong[3].instance = 2;
  const std::uint64_t received = b_.statistics().packets_received;
  b_.asked_for.clear();
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    b_.transport.put_back({b_.first_packet(wrong[i], key)});
    EXPECT_EQ(b_.set.receive(), 1u);
    EXPECT_EQ(b_.statistics().packets_received - received, std::min<std::size_t>(i + 1, 3))
        << "the last one by the filter";
    EXPECT_EQ(b_.statistics().ghost_packets, i + 1);
  }
  EXPECT_TRUE(b_.asked_for.empty());
  b_.other_transport.put_back({b_.first_packet(b_.header_of_peer(), key)});
  EXPECT_EQ(b_.set.receive(), 1u);
  EXPECT_EQ(b_.statistics().ghost_packets, 5u) << "over another path than the peer's";
  EXPECT_TRUE(b_.delivered.empty());
}

TEST_F(ChannelSetTest, PacketsComeFromWhereThePeerIsNow) {
  b_.transport.set_origins(5, 5);
  ASSERT_TRUE(a_.send(pattern(8)));
  b_.set.receive();
  EXPECT_EQ(b_.delivered.size(), 1u) << "its address has changed";
  b_.transport.set_origins(5, 7);
  ASSERT_TRUE(a_.send(pattern(8)));
  b_.set.receive();
  EXPECT_EQ(b_.delivered.size(), 1u);
  EXPECT_EQ(b_.statistics().ghost_packets, 1u);
}

TEST_F(ChannelSetTest, RecordsFitThePacketsOfEveryTransport) {
  EXPECT_EQ(a_.set.max_record(), ChannelSide::kMaxPacket / 2 - wire::kPacketHeaderSize);
  EXPECT_EQ(a_.set.max_packets_out(), tuning::kMostPacketsInFlight);
}

}  // namespace
}  // namespace openlapi
