// Packets of a channel that come in one datagram: one that is wrong says that a stranger has made all of them. Fewer
// packets than a step takes at a time, as many, and more.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/channel_side.h"

namespace openlapi {
namespace {

using Bytes = ChannelSide::Bytes;
using Copies = MemoryTransport::Copies;

constexpr std::size_t kBurst = tuning::kReceiveBurst;
constexpr std::size_t kSizes[] = {2, 3, kBurst - 1, kBurst, kBurst + 1, 2 * kBurst + 6};

class SharedDatagram : public testing::Test {
 protected:
  SharedDatagram() : a_(0, config(), clock_), b_(1, config(), clock_) {
    for (ChannelSide* side : {&a_, &b_}) side->transport.set_room(10'000);
    ChannelSide::connect(a_, b_);
    EXPECT_TRUE(a_.send(Bytes(8)));
    settle();
    b_.delivered.clear();
  }
  static EndpointConfig config() {
    EndpointConfig config;
    config.job_key = {7, 8};
    return config;
  }

  void settle() {
    while (b_.set.receive() != 0) {
    }
    b_.set.acknowledge_now();
    a_.set.receive();
    EXPECT_TRUE(a_.set.settled());
  }

  // So many packets that task 0 sends, each with a record of its own.
  Copies send(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Bytes record(a_.channel->max_record());
      std::iota(record.begin(), record.end(), static_cast<unsigned char>(i));
      EXPECT_TRUE(a_.send(record));
      sent_.push_back(record);
    }
    a_.transmit();
    Copies packets = b_.transport.take_waiting();
    EXPECT_EQ(packets.size(), count);
    return packets;
  }

  // Otherwise right: its sequence number is that of the packet in whose place it comes.
  static std::vector<std::byte> forged(std::vector<std::byte> packet) {
    wire::PacketHeader header;
    EXPECT_EQ(wire::decode(packet, header), wire::DecodeResult::ok);
    header.association ^= 1;
    wire::encode(header, packet.data());
    return packet;
  }

  TurnedClock clock_;
  ChannelSide a_, b_;
  std::vector<Bytes> sent_;
};

TEST_F(SharedDatagram, IsTakenWholeAndInOrder) {
  for (const std::size_t size : kSizes) {
    b_.transport.put_back(send(size));
    b_.transport.come_together(size);
    EXPECT_EQ(b_.set.receive(), size);
    EXPECT_EQ(b_.delivered, sent_);
    settle();
  }
  EXPECT_EQ(b_.statistics().ghost_packets + b_.statistics().duplicate_packets, 0u);
  EXPECT_EQ(b_.transport.skipped(), 0u);
}

TEST_F(SharedDatagram, IsTakenBesideOthers) {
  for (const std::size_t size : {std::size_t{2}, std::size_t{5}, kBurst - 1}) {
    b_.transport.put_back(send(3 * kBurst));
    b_.transport.come_together(size);
    settle();
    EXPECT_EQ(b_.delivered, sent_) << "of " << size;
  }
  EXPECT_EQ(b_.statistics().ghost_packets + b_.statistics().duplicate_packets, 0u);
  EXPECT_EQ(b_.transport.skipped(), 0u);
}

TEST_F(SharedDatagram, IsNotBelievedWhereOnePacketIsWrong) {
  for (const std::size_t size : kSizes) {
    for (const std::size_t wrong : {std::size_t{0}, size / 2, size - 1}) {
      const Copies right = send(size);
      Copies together = right;
      together[wrong] = forged(right[wrong]);
      const std::uint64_t ghosts = b_.statistics().ghost_packets;
      const std::size_t skipped = b_.transport.skipped();
      b_.transport.put_back(together);
      b_.transport.come_together(size);
      while (b_.set.receive() != 0) {
      }
      const auto what = testing::Message() << "packet " << wrong << " of " << size;
      EXPECT_TRUE(b_.delivered.empty()) << what;
      EXPECT_EQ(b_.statistics().ghost_packets - ghosts, wrong < kBurst ? std::min(size, kBurst) : size) << what;
      EXPECT_EQ(b_.transport.skipped() - skipped, wrong < kBurst ? size - std::min(size, kBurst) : 0) << what;
      b_.transport.put_back(right);
      settle();
      EXPECT_EQ(b_.delivered, sent_) << "the right ones, when they come: " << what;
      b_.delivered.clear();
      sent_.clear();
    }
  }
}

// What stands in front of it leaves room for its first packet alone.
TEST_F(SharedDatagram, IsLookedAtAsAWholeWhereItsFirstPacketEndsAStep) {
  constexpr std::size_t kSize = kBurst - 1;
  const Copies right = send(2 * kSize);
  Copies packets = right;
  packets.back() = forged(right.back());
  b_.transport.put_back(packets);
  b_.transport.come_together(kSize);
  while (b_.set.receive() != 0) {
  }
  EXPECT_EQ(b_.delivered.size(), kSize) << "of the first one";
  EXPECT_EQ(b_.statistics().ghost_packets, kSize);
  b_.transport.put_back({right.begin() + kSize, right.end()});
  settle();
  EXPECT_EQ(b_.delivered, sent_);
}

}  // namespace
}  // namespace openlapi
