// Short puts over a channel: what they are on the wire, byte by byte, that they arrive with whatever counters they
// have, and that records share packets with them. An 8-byte put without counters is to fit a 64-byte send request of an
// mlx5 adapter, where 16 bytes of control and 4 of an inline segment leave 44.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "dataplane/tuning.h"
#include "dataplane/wire/operation_header.h"
#include "dataplane/wire/packet_header.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

class ShortPut : public testing::Test {
 protected:
  ShortPut() {
    for (PeerIndex task : {0, 1}) job_.task(task).transport.make_lossy(0, 1);
    job_.start();
    std::iota(source_.begin(), source_.end(), static_cast<unsigned char>(1));
    std::uint64_t first = 0;  // afterwards headers are short
    for (const PeerIndex from : {0, 1, 0}) {
      job_[from].put({1 - from, address(&first), source_.data(), 8, 0, 0, 0});
      job_.settle();
      job_.clock.advance(kSecond);
      job_.settle();
    }
  }

  void put(std::size_t length, bool target, bool completion) {
    ASSERT_EQ(job_[0].put({1, address(sink_.data()), source_.data(), length, target ? address(&target_) : 0,
                           address(&origin_), completion ? address(&completion_) : 0}),
              Submit::accepted);
  }

  // What task 1 has not taken yet; it stays there.
  MemoryTransport::Copies on_the_way() {
    job_[0].progress();
    auto packets = job_.task(1).transport.take_waiting();
    job_.task(1).transport.put_back(packets);
    return packets;
  }

  Job job_{2};
  std::array<unsigned char, 1024> source_, sink_{};
  int target_ = 0, origin_ = 0, completion_ = 0;
};

TEST_F(ShortPut, OfEightBytesWithoutCountersTakes44Bytes) {
  put(8, false, false);
  const auto packets = on_the_way();
  ASSERT_EQ(packets.size(), 1u);
  const std::vector<std::byte>& packet = packets[0];
  ASSERT_EQ(packet.size(), 44u);
  ASSERT_TRUE(wire::begins_short(packet.data()));
  const std::uint64_t target = address(sink_.data());
  const std::byte header[] = {std::byte{19}, std::byte{0}, std::byte{8}, std::byte{0}};
  const std::byte* const record = packet.data() + wire::kShortHeaderSize;
  EXPECT_EQ(std::memcmp(record, header, 4), 0);
  EXPECT_EQ(std::memcmp(record + 4, &target, 8), 0);
  EXPECT_EQ(std::memcmp(record + 12, source_.data(), 8), 0);
  job_.settle();
  EXPECT_EQ(std::memcmp(sink_.data(), source_.data(), 8), 0);
}

TEST_F(ShortPut, TakesEightBytesForEachCounter) {
  const std::size_t sizes[] = {44, 52, 52, 60};
  for (const unsigned counters : {0u, 1u, 2u, 3u}) {
    sink_ = {};
    target_ = completion_ = origin_ = 0;
    put(8, (counters & 1) != 0, (counters & 2) != 0);
    const auto packets = on_the_way();
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(packets[0].size(), sizes[counters]) << counters;
    job_.settle();
    EXPECT_EQ(std::memcmp(sink_.data(), source_.data(), 8), 0);
    EXPECT_EQ(sink_[8], 0);
    EXPECT_EQ(target_, static_cast<int>(counters & 1));
    EXPECT_EQ(completion_, static_cast<int>(counters >> 1));
    EXPECT_EQ(origin_, 1);
    job_.clock.advance(kSecond);
    job_.settle();
  }
}

// Whatever its length, with the first that is no short put any more.
TEST_F(ShortPut, ArrivesWhateverItsLength) {
  for (std::size_t length = 0; length <= tuning::kLongestShortPut + 1; ++length) {
    sink_ = {};
    target_ = completion_ = 0;
    put(length, true, true);
    if (length >= tuning::kLongestShortPut) {
      const auto packets = on_the_way();
      ASSERT_EQ(packets.size(), 1u);
      const std::byte* const record = packets[0].data() + wire::kShortHeaderSize;
      EXPECT_EQ(record[0], length > tuning::kLongestShortPut ? std::byte{1} : std::byte{19}) << length;
    }
    job_.settle();
    ASSERT_EQ(std::memcmp(sink_.data(), source_.data(), length), 0) << length;
    ASSERT_EQ(sink_[length], 0) << length;
    ASSERT_EQ(target_, 1) << length;
    ASSERT_EQ(completion_, 1) << length;
    job_.clock.advance(kSecond);
    job_.settle();
  }
}

// Records behind it begin at multiples of 8 bytes, and what is between is zeros; behind the last one there is nothing.
TEST_F(ShortPut, SharesAPacket) {
  for (unsigned n = 0; n < tuning::kPacketsBeforePacking; ++n) put(8, false, false);
  for (unsigned n = 0; n < 3; ++n) {
    ASSERT_EQ(job_[0].put({1, address(sink_.data() + 16 * (n + 1)), source_.data() + n, 1 + n, 0, 0, 0}),
              Submit::accepted);
  }
  const auto packets = on_the_way();
  ASSERT_EQ(packets.size(), tuning::kPacketsBeforePacking + 1);
  const std::vector<std::byte>& packet = packets.back();
  ASSERT_EQ(packet.size(), wire::kShortHeaderSize + 16 + 16 + 12 + 3);
  const std::byte* const records = packet.data() + wire::kShortHeaderSize;
  for (const std::size_t pad : {13, 14, 15, 30, 31}) EXPECT_EQ(records[pad], std::byte{0}) << pad;
  for (const std::size_t begin : {0, 16, 32}) EXPECT_EQ(records[begin], std::byte{19}) << begin;
  job_.settle();
  for (unsigned n = 0; n < 3; ++n) EXPECT_EQ(std::memcmp(&sink_[16 * (n + 1)], &source_[n], n + 1), 0) << n;
}

}  // namespace
}  // namespace openlapi
