// Packets that arrive before others that were sent earlier, as where paths differ: data of what has begun is put in its
// place at once, all else waits for its turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

using Bytes = std::vector<unsigned char>;

// Hands data on as a program with CONTROL does, to a function that may count what it sees.
class OrderedCursor final : public LayoutCursor {
 public:
  explicit OrderedCursor(Bytes& memory) : LayoutCursor(memory.size()), memory_(memory) {}
  void seek(std::uint64_t position) override {
    EXPECT_EQ(position, position_);
    position_ = position;
  }
  std::size_t next_pieces(std::span<LayoutPiece>, std::uint64_t) override { return 0; }
  void scatter(const std::byte* from, std::uint64_t bytes) override {
    std::memcpy(memory_.data() + position_, from, bytes);
    position_ += bytes;
  }
  bool only_copies() const override { return false; }
  std::uint64_t piece_count() const override { return 1; }
  std::unique_ptr<LayoutCursor> clone() const override { return std::make_unique<OrderedCursor>(memory_); }
  std::unique_ptr<LayoutCursor> detached() const override { return clone(); }

 private:
  Bytes& memory_;
};

class EarlyDataTest : public testing::Test {
 protected:
  EarlyDataTest() : job_(2, config()) {
    for (PeerIndex task = 0; task != 2; ++task) job_.task(task).transport.make_lossy(0, 7);
    job_.start();
    int done = 0;
    EXPECT_EQ(job_[0].put({1, address(sink_.data()), source_.data(), 1, 0, 0, address(&done)}), Submit::accepted);
    job_.settle();
    EXPECT_EQ(done, 1);
    sink_.assign(sink_.size(), 0);
  }
  static EndpointConfig config() {
    EndpointConfig config;
    config.job_key = {0x1234, 0};
    return config;
  }
  // All that `from` sends now, on its way to the other task.
  MemoryTransport::Copies packets_of(PeerIndex from) {
    job_[from].progress();
    return job_.task(1 - from).transport.take_waiting();
  }
  void bring(PeerIndex to, const MemoryTransport::Copies& packets) {
    job_.task(to).transport.put_back(packets);
    while (job_.task(to).transport.waiting() != 0) job_[to].progress();
  }
  // All of `memory`, in many pieces.
  std::unique_ptr<LayoutCursor> pieces_of(const Bytes& memory) {
    constexpr std::size_t kPiece = 16;
    pieces_.clear();
    for (std::size_t at = 0; at != memory.size(); at += kPiece)
      pieces_.push_back({address(memory.data() + at), kPiece});
    return std::make_unique<ListCursor>(PieceList::of_pieces(pieces_.data(), pieces_.size()));
  }
  // The packets of a message whose data its header handler sends to `layout`.
  MemoryTransport::Copies message_to(const LayoutCursor& layout, int& target) {
    job_.task(1).host.on_header = [&layout](const ArrivedMessage&) {
      HeaderVerdict verdict;
      verdict.layout = layout.clone();
      return verdict;
    };
    EXPECT_EQ(job_[0].active_message({1, 5, nullptr, 0, source_.data(), source_.size(), address(&target), 0, 0}),
              Submit::accepted);
    return packets_of(0);
  }
  // How many bytes from the end on are in place.
  std::size_t end_in_place() const {
    const auto [there, wanted] = std::mismatch(sink_.rbegin(), sink_.rend(), source_.rbegin());
    return static_cast<std::size_t>(there - sink_.rbegin());
  }
  // The first packet, then all but the second one.
  void bring_all_but_the_second(PeerIndex to, const MemoryTransport::Copies& packets) {
    ASSERT_GE(packets.size(), 5u);
    bring(to, {packets[0]});
    MemoryTransport::Copies later(packets.begin() + 2, packets.end());
    std::ranges::reverse(later);
    bring(to, later);
  }

  Job job_;
  const Bytes source_ = Bytes(8000, 0x5a);
  Bytes sink_ = Bytes(8000);
  std::vector<LayoutPiece> pieces_;
};

TEST_F(EarlyDataTest, OfAPutIsPlacedAtOnce) {
  int target = 0;
  ASSERT_EQ(job_[0].put({1, address(sink_.data()), source_.data(), source_.size(), address(&target), 0, 0}),
            Submit::accepted);
  const MemoryTransport::Copies packets = packets_of(0);
  bring_all_but_the_second(1, packets);
  EXPECT_GT(end_in_place(), source_.size() - 2 * 1024);
  EXPECT_LT(end_in_place(), source_.size());
  EXPECT_EQ(target, 0);
  bring(1, {packets[1]});
  EXPECT_EQ(sink_, source_);
  EXPECT_EQ(target, 1);
  bring(1, packets);
  job_.settle();
  EXPECT_EQ(target, 1) << "nothing counts twice";
}

TEST_F(EarlyDataTest, OfAGetIsPlacedAtOnce) {
  int origin = 0;
  ASSERT_EQ(job_[1].get({0, address(source_.data()), sink_.data(), sink_.size(), 0, address(&origin)}),
            Submit::accepted);
  job_[1].progress();
  const MemoryTransport::Copies packets = packets_of(0);
  bring_all_but_the_second(1, packets);
  EXPECT_GT(end_in_place(), source_.size() - 2 * 1024);
  EXPECT_EQ(origin, 0);
  bring(1, {packets[1]});
  EXPECT_EQ(sink_, source_);
  EXPECT_EQ(origin, 1);
}

TEST_F(EarlyDataTest, OfAGetIntoALayoutIsPlacedAtOnce) {
  int origin = 0;
  StridedCursor source(address(source_.data()), source_.size());
  const std::unique_ptr<LayoutCursor> destination = pieces_of(sink_);
  ASSERT_EQ(job_[1].get_layout({0, &source, destination.get(), 0, address(&origin)}), Submit::accepted);
  job_[1].progress();
  const MemoryTransport::Copies packets = packets_of(0);
  bring_all_but_the_second(1, packets);
  EXPECT_GT(end_in_place(), source_.size() - 2 * 1024);
  EXPECT_EQ(origin, 0);
  bring(1, {packets[1]});
  EXPECT_EQ(sink_, source_);
  EXPECT_EQ(origin, 1);
}

TEST_F(EarlyDataTest, OfAMessageToALayoutIsPlacedAtOnce) {
  int target = 0;
  const std::unique_ptr<LayoutCursor> layout = pieces_of(sink_);
  const MemoryTransport::Copies packets = message_to(*layout, target);
  bring_all_but_the_second(1, packets);
  EXPECT_GT(end_in_place(), source_.size() - 2 * 1024);
  EXPECT_EQ(target, 0);
  bring(1, {packets[1]});
  EXPECT_EQ(sink_, source_);
  EXPECT_EQ(target, 1);
}

TEST_F(EarlyDataTest, WaitsForItsTurnWhereAProgramSeesIt) {
  int target = 0;
  const OrderedCursor layout(sink_);
  const MemoryTransport::Copies packets = message_to(layout, target);
  bring_all_but_the_second(1, packets);
  EXPECT_EQ(end_in_place(), 0u);
  bring(1, {packets[1]});
  EXPECT_EQ(sink_, source_);
  EXPECT_EQ(target, 1);
}

// Nobody knows yet where it goes.
TEST_F(EarlyDataTest, OfAMessageThatHasNotBegunWaits) {
  int target = 0;
  ASSERT_EQ(job_[0].put({1, address(sink_.data()), source_.data(), source_.size(), address(&target), 0, 0}),
            Submit::accepted);
  const MemoryTransport::Copies packets = packets_of(0);
  bring(1, {packets.begin() + 1, packets.end()});
  EXPECT_EQ(end_in_place(), 0u);
  bring(1, {packets[0]});
  EXPECT_EQ(sink_, source_);
  EXPECT_EQ(target, 1);
}

TEST_F(EarlyDataTest, WhatBeginsWaitsForItsTurn) {
  int first = 0, second = 0;
  unsigned char word = 0;
  ASSERT_EQ(job_[0].put({1, address(sink_.data()), source_.data(), source_.size(), address(&first), 0, 0}),
            Submit::accepted);
  MemoryTransport::Copies packets = packets_of(0);
  ASSERT_EQ(job_[0].put({1, address(&word), source_.data(), 1, address(&second), 0, 0}), Submit::accepted);
  const MemoryTransport::Copies last = packets_of(0);
  bring(1, last);
  bring_all_but_the_second(1, packets);
  EXPECT_EQ(word, 0);
  bring(1, {packets[1]});
  EXPECT_EQ(word, 0x5a);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

// What the target has may be acknowledged later than its fence is answered: another packet among its own is missing.
TEST_F(EarlyDataTest, ItsFenceEndsWhenItsBufferIsFree) {
  const Bytes source(200'000, 0x5a), other(777, 0x11);
  Bytes sink(source.size()), other_sink(other.size());
  int origin = 0, sent = 0, tag = 0;
  job_.task(0).host.on_send_completion = [&](const SendCompletion&) { ++sent; };
  ASSERT_EQ(job_[0].put({1, address(sink.data()), source.data(), source.size(), 0, address(&origin), 0, {&tag, &tag}}),
            Submit::accepted);
  const FenceTicket ticket = job_[0].fences().begin();
  ASSERT_EQ(job_[0].put({1, address(other_sink.data()), other.data(), other.size(), 0, 0, 0}), Submit::accepted);
  const auto go_on = [&](bool lose_other) {
    MemoryTransport::Copies packets = packets_of(0);
    const auto is_other = [&](const auto& packet) {
      return packet.size() >= other.size() && packet.size() < other.size() + 100;
    };
    if (lose_other) std::erase_if(packets, is_other);
    bring(1, packets);
    job_[0].progress();
    return job_[0].fences().state(ticket);
  };
  for (int turn = 0; turn != 1000; ++turn) ASSERT_EQ(go_on(true), sent == 0 ? FenceState::pending : FenceState::done);
  EXPECT_EQ(sink, source);
  EXPECT_EQ(other_sink, Bytes(other.size()));
  EXPECT_EQ(sent, 0);
  for (int turn = 0; turn != 1000 && go_on(false) != FenceState::done; ++turn) job_.clock.advance(kMillisecond);
  EXPECT_EQ(other_sink, other);
  EXPECT_EQ(origin, 1);
  EXPECT_EQ(sent, 1);
}

}  // namespace
}  // namespace openlapi
