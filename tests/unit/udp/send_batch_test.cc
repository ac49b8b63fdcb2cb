#include "nic/udp/send_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace openlapi::udp {
namespace {

// Packets of given lengths, the bytes of the i-th all (i + 1).
class Packets {
 public:
  explicit Packets(const std::vector<std::uint32_t>& lengths, std::size_t pieces_each = 1) {
    for (const std::uint32_t length : lengths) {
      bytes_.push_back(std::vector<std::byte>(length, static_cast<std::byte>(bytes_.size() + 1)));
    }
    for (const auto& packet : bytes_) pieces_.push_back(cut(packet, pieces_each));
    for (std::size_t i = 0; i < bytes_.size(); ++i) packets_.push_back({pieces_[i], lengths[i]});
  }
  std::span<const OutgoingPacket> all() const { return packets_; }

 private:
  static std::vector<ConstBuffer> cut(const std::vector<std::byte>& packet, std::size_t count) {
    std::vector<ConstBuffer> pieces;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t from = packet.size() * i / count;
      pieces.push_back({packet.data() + from, packet.size() * (i + 1) / count - from});
    }
    return pieces;
  }
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<std::vector<ConstBuffer>> pieces_;
  std::vector<OutgoingPacket> packets_;
};

std::vector<std::byte> gathered(const SendBatch& batch) { return {batch.bytes().begin(), batch.bytes().end()}; }

// Lengths of the packets in what the batch would send, after checking their bytes.
std::vector<std::uint32_t> unpacked(const SendBatch& batch) {
  std::vector<std::byte> bytes = gathered(batch);
  EXPECT_EQ(bytes.size() % 8, 0u);
  std::vector<std::uint32_t> lengths;
  std::span<std::byte> rest = bytes;
  for (std::span<std::byte> packet; next_frame(rest, packet);) {
    lengths.push_back(static_cast<std::uint32_t>(packet.size()));
    const auto number = static_cast<std::byte>(lengths.size());
    EXPECT_TRUE(std::all_of(packet.begin(), packet.end(), [&](std::byte byte) { return byte == number; }));
  }
  EXPECT_TRUE(rest.empty());
  return lengths;
}

class SendBatchTest : public testing::Test {
 protected:
  std::unique_ptr<SendBatch> batch_ = std::make_unique<SendBatch>();
};

TEST_F(SendBatchTest, OneShortPacketIsOneDatagram) {
  const Packets packets({64}, 3);
  batch_->build(packets.all(), {1472, 1472});
  EXPECT_EQ(batch_->packets(), 1u);
  EXPECT_EQ(batch_->segment(), 0u);
  EXPECT_EQ(unpacked(*batch_), (std::vector<std::uint32_t>{64}));
}

TEST_F(SendBatchTest, PacketsShareADatagramUpToItsLimit) {
  const Packets packets({100, 0, 7, 300, 1000, 1});
  batch_->build(packets.all(), {1464, 0});
  EXPECT_EQ(batch_->segment(), 0u);
  EXPECT_EQ(unpacked(*batch_), (std::vector<std::uint32_t>{100, 0, 7, 300, 1000}));
  EXPECT_EQ(gathered(*batch_).size(), 1456u);
}

TEST_F(SendBatchTest, EqualDatagramsMakeARunWhoseLastMayBeShorter) {
  const Packets packets({1464, 1464, 1464, 200, 1464});
  batch_->build(packets.all(), {1472, 1472});
  EXPECT_EQ(batch_->segment(), 1472u);
  EXPECT_EQ(unpacked(*batch_), (std::vector<std::uint32_t>{1464, 1464, 1464, 200}));
}

TEST_F(SendBatchTest, EverySegmentBordersAFrame) {
  const Packets packets(std::vector<std::uint32_t>(100, 200));
  batch_->build(packets.all(), {1472, 1472});
  EXPECT_EQ(batch_->segment(), 7u * 208u);
  EXPECT_EQ(batch_->packets(), 100u);
  const std::vector<std::byte> bytes = gathered(*batch_);
  for (std::size_t at = 0; at < bytes.size(); at += batch_->segment()) {
    FrameHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    EXPECT_EQ(header.length ^ header.check, kFrameMark);
  }
}

TEST_F(SendBatchTest, ALongerOneEndsTheRun) {
  const Packets packets({500, 1464});
  batch_->build(packets.all(), {1472, 1472});
  EXPECT_EQ(batch_->packets(), 1u);
  EXPECT_EQ(batch_->segment(), 0u);
}

TEST_F(SendBatchTest, APacketAboveTheDatagramLimitGoesAloneAndUnsegmented) {
  const Packets packets({8184, 8184});
  batch_->build(packets.all(), {1472, 1472});
  EXPECT_EQ(batch_->packets(), 1u);
  EXPECT_EQ(batch_->segment(), 0u);
  EXPECT_EQ(unpacked(*batch_), (std::vector<std::uint32_t>{8184}));
}

TEST_F(SendBatchTest, NoCallIsLongerThanTheKernelTakes) {
  const Packets long_ones(std::vector<std::uint32_t>(64, 8184));
  batch_->build(long_ones.all(), {8192, 65504});
  EXPECT_EQ(batch_->packets(), 7u);
  EXPECT_EQ(batch_->segment(), 8192u);
  const Packets short_ones(std::vector<std::uint32_t>(200, 248));
  batch_->build(short_ones.all(), {256, 1472});
  EXPECT_EQ(batch_->packets(), 64u);  // UDP_MAX_SEGMENTS
  const Packets longest({65496, 65496});
  batch_->build(longest.all(), {65504, 65504});
  EXPECT_EQ(batch_->packets(), 1u);
  EXPECT_EQ(gathered(*batch_).size(), 65504u);
}

TEST_F(SendBatchTest, PiecesMayBeManyOrEmpty) {
  const Packets tiny({65496}, 4000);
  batch_->build(tiny.all(), {65504, 65504});
  EXPECT_EQ(unpacked(*batch_), (std::vector<std::uint32_t>{65496}));
  const Packets mostly_empty({3}, 10);
  batch_->build(mostly_empty.all(), {65504, 65504});
  EXPECT_EQ(unpacked(*batch_), (std::vector<std::uint32_t>{3}));
}

TEST_F(SendBatchTest, PaddingIsZeroAndNotWhatWasThereBefore) {
  const Packets filled({64});
  batch_->build(filled.all(), {1472, 0});
  const Packets short_one({1});
  batch_->build(short_one.all(), {1472, 0});
  const std::vector<std::byte> bytes = gathered(*batch_);
  ASSERT_EQ(bytes.size(), 16u);
  EXPECT_TRUE(std::all_of(bytes.begin() + 9, bytes.end(), [](std::byte byte) { return byte == std::byte{0}; }));
}

}  // namespace
}  // namespace openlapi::udp
