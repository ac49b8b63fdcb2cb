// Attach mode between layouts where one read is not enough, where a peer turns out to be unreadable, and where what a
// peer says of its memory cannot be. And what lies in one's own memory twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/message/record_bytes.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

// Memory of pieces without gaps, the last of which is as long as is left.
class Pieces {
 public:
  Pieces(std::size_t total, std::size_t length, std::size_t most = SIZE_MAX) : bytes_(total) {
    for (std::size_t at = 0; at < total;) {
      const std::size_t piece = list_.size() + 1 < most ? std::min(length, total - at) : total - at;
      list_.push_back({address(bytes_.data() + at), piece});
      at += piece;
    }
  }
  ListCursor cursor() const { return ListCursor(PieceList::of_pieces(list_.data(), list_.size())); }
  std::vector<unsigned char>& bytes() { return bytes_; }
  void fill() {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<unsigned char>(i * 7 + i / 1021);
  }

 private:
  std::vector<unsigned char> bytes_;
  std::vector<LayoutPiece> list_;
};

class LayoutReads : public testing::Test {
 protected:
  LayoutReads() : job_(2, small_copies()) {
    for (const PeerIndex task : {0, 1}) job_.task(task).transport.make_readable();
  }

  void expect_both_ways(Pieces& from, Pieces& to, std::size_t least_reads) {
    for (const bool get : {false, true}) {
      from.fill();
      std::fill(to.bytes().begin(), to.bytes().end(), 0);
      ListCursor source = from.cursor(), destination = to.cursor();
      int target = 0, origin = 0;
      const std::size_t before = job_.task(get ? 0 : 1).transport.vectored_reads();
      ASSERT_EQ(get ? job_[0].get_layout({1, &source, &destination, address(&target), address(&origin)})
                    : job_[0].put_layout({1, &source, &destination, address(&target), address(&origin), 0}),
                Submit::accepted);
      job_.settle();
      EXPECT_EQ(target, 1);
      EXPECT_EQ(origin, 1);
      EXPECT_EQ(from.bytes(), to.bytes());
      EXPECT_GE(job_.task(get ? 0 : 1).transport.vectored_reads() - before, least_reads);
    }
  }

  Job job_;
};

// The bounds of a step lie in the middle of pieces, on both sides.
TEST_F(LayoutReads, GoOnWhereTheyEnded) {
  job_.start();
  constexpr std::size_t kTotal = 3 * tuning::kAttachPiece + 5000;
  Pieces from(kTotal, 100'000), to(kTotal, 70'001);
  expect_both_ways(from, to, 4);
}

// More pieces on one side than one read takes: the other side ends with them.
TEST_F(LayoutReads, EndWithThePiecesOfEitherSide) {
  job_.start();
  constexpr std::size_t kMany = RemoteMemory::kMostRanges + 100, kTotal = (kMany + 1) * tuning::kSmallestAttachPiece;
  Pieces many(kTotal, 16, kMany), few(kTotal, 1'000'000);
  expect_both_ways(many, few, kTotal / tuning::kAttachPiece + 1);
  expect_both_ways(few, many, kTotal / tuning::kAttachPiece + 1);
}

// What says where the pieces lie is kept because of the peer, from step to step.
TEST_F(LayoutReads, CountTheirDescriptionUntilTheyEnd) {
  job_.start();
  Pieces from(3 * tuning::kAttachPiece, 100'000), to(3 * tuning::kAttachPiece, 70'001);
  ListCursor source = from.cursor(), destination = to.cursor();
  std::vector<std::byte> described;
  for (const LayoutCursor* layout : {&source, &destination}) describe_layout(*layout, SIZE_MAX, described);
  ASSERT_EQ(job_[0].put_layout({1, &source, &destination, 0, 0, 0}), Submit::accepted);
  ASSERT_NE(job_[1].progress(), 0u);
  ASSERT_TRUE(job_[1].has_work()) << "one piece of three";
  EXPECT_GE(job_[1].load(0).bytes, described.size());
  job_.settle();
  EXPECT_EQ(job_[1].load(0).bytes, 0u);
  EXPECT_EQ(job_.task(1).transport.vectored_reads(), 3u);
}

// Both lists of a get are kept here, and what the target says of its data meanwhile is none of its.
TEST_F(LayoutReads, OfAGetTakeNoAnswer) {
  job_.start();
  Pieces from(3 * tuning::kAttachPiece, 100'000), to(3 * tuning::kAttachPiece, 70'001);
  from.fill();
  ListCursor source = from.cursor(), destination = to.cursor();
  int target = 0, origin = 0;
  ASSERT_EQ(job_[0].get_layout({1, &source, &destination, address(&target), address(&origin)}), Submit::accepted);
  EXPECT_EQ(job_[0].load(1).kept_bytes, source.detached()->list_bytes() + destination.detached()->list_bytes());
  const std::vector<unsigned char> lie(800, 0xbb);
  for (std::uint32_t id = 0; id < 4; ++id) {
    RecordBytes record(wire::RecordKind::get_data, wire::GetDataBody{id, 0, 0});
    record.payload_length(lie.size());
    const ConstBuffer pieces[] = {record.piece(), {lie.data(), lie.size()}};
    const OutgoingPacket packet{pieces, static_cast<std::uint32_t>(record.length() + lie.size())};
    ASSERT_EQ(job_.task(1).transport.send_burst(0, {&packet, 1}), 1u);
  }
  job_.settle();
  EXPECT_EQ(origin, 1);
  EXPECT_EQ(target, 1);
  EXPECT_EQ(from.bytes(), to.bytes());
  EXPECT_EQ(job_[0].load(1).kept_bytes, 0u);
}

TEST_F(LayoutReads, ComeInPacketsFromAPeerThatTurnsOutToBeUnreadable) {
  for (const PeerIndex task : {0, 1}) job_.task(task).transport.close_peers();
  job_.start();
  Pieces from(500'000, 100'000), to(500'000, 70'001);
  expect_both_ways(from, to, 0);
}

// From contiguous memory to where the header handler wants it.
TEST_F(LayoutReads, OfAMessageGoToItsVector) {
  Pieces from(500'000, 500'000), to(500'000, 70'001);
  job_.task(1).host.on_header = [&](const ArrivedMessage&) {
    return HeaderVerdict{Delivery::deliver, CompletionStyle::thread, nullptr, nullptr, nullptr, to.cursor().detached()};
  };
  job_.start();
  from.fill();
  job_[0].active_message({1, 1, nullptr, 0, from.bytes().data(), from.bytes().size(), 0, 0, 0});
  job_.settle();
  EXPECT_EQ(from.bytes(), to.bytes());
  EXPECT_EQ(job_.task(1).transport.vectored_reads(), 1u);
}

// From task 1 to task 0: a put whose data and layout lie where the record says; nothing is read but a description.
class ForgedDescription : public LayoutReads {
 protected:
  static constexpr std::uint64_t kTotal = 1000;

  ForgedDescription() { job_.start(); }

  static void describe(std::uint64_t place, std::uint64_t bytes, std::vector<std::byte>& description) {
    describe_layout(ListCursorOf(place, bytes).cursor, SIZE_MAX, description);
  }

  // The transport reads `said` bytes at the description.
  void expect_refused(const std::vector<std::byte>& description, std::size_t said, const char* why) {
    const wire::PutBody body{0, address(&counter_), 0};
    RecordBytes record(wire::RecordKind::put, body);
    record.extend({kTotal, address(description.data()), ++id_, static_cast<std::uint32_t>(said)},
                  wire::kFlagLong | wire::kFlagAttach | wire::kFlagLayout);
    const ConstBuffer piece = record.piece();
    const OutgoingPacket packet{{&piece, 1}, record.length()};
    ASSERT_EQ(job_.task(1).transport.send_burst(0, {&packet, 1}), 1u);
    for (int step = 0; step < 3; ++step) job_[0].progress();
    EXPECT_EQ(job_.task(0).transport.vectored_reads(), 0u) << why;
    EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 0xee), static_cast<std::ptrdiff_t>(memory_.size())) << why;
    EXPECT_EQ(counter_, 0) << why;
    const auto answers = job_.task(1).transport.take_waiting();
    ASSERT_EQ(answers.size(), 1u) << why;
    wire::AttachDoneBody answer;
    std::memcpy(&answer, answers[0].data() + sizeof(wire::RecordHeader), sizeof(answer));
    EXPECT_EQ(answer.message_id, id_) << why;
    EXPECT_EQ(answer.answer, wire::AttachAnswer::not_read) << why;
  }

  struct ListCursorOf {
    ListCursorOf(std::uint64_t place, std::uint64_t bytes)
        : list{{place, bytes / 2}, {place + bytes / 2, bytes - bytes / 2}},
          cursor(PieceList::of_pieces(list.data(), list.size())) {}
    std::vector<LayoutPiece> list;
    ListCursor cursor;
  };

  std::vector<unsigned char> memory_ = std::vector<unsigned char>(2 * kTotal, 0xee);
  std::vector<unsigned char> source_ = std::vector<unsigned char>(2 * kTotal, 0xbb);
  int counter_ = 0;
  std::uint32_t id_ = 0;
};

TEST_F(ForgedDescription, IsNotFollowed) {
  const std::uint64_t from = address(source_.data()), to = address(memory_.data());
  std::vector<std::byte> one, both, short_source, short_destination, three;
  describe(from, kTotal, one);
  for (const std::uint64_t place : {from, to}) describe(place, kTotal, both);
  describe(from, kTotal - 1, short_source);
  describe(to, kTotal, short_source);
  describe(from, kTotal, short_destination);
  describe(to, kTotal - 1, short_destination);
  for (const std::uint64_t place : {from, to, to}) describe(place, kTotal, three);
  expect_refused(one, one.size(), "no destination");
  expect_refused(both, both.size() - 1, "cut off in the destination");
  expect_refused(both, one.size() - 1, "cut off in the source");
  expect_refused(short_source, short_source.size(), "a source that is too short");
  expect_refused(short_destination, short_destination.size(), "a destination that is too short");
  expect_refused(three, three.size(), "something behind the destination");
  std::vector<std::byte> longest(tuning::kLongestDescriptions + 1);
  std::copy(both.begin(), both.end(), longest.begin());
  const std::size_t reads = job_.task(0).transport.reads();
  expect_refused(longest, longest.size(), "longer than any");
  EXPECT_EQ(job_.task(0).transport.reads(), reads) << "and is not even fetched";
}

// As those of others, of one packet: where the data is in one piece.
TEST(OwnMessage, ShowsItsDataToTheHeaderHandler) {
  Job job(1);
  job.start();
  std::vector<unsigned char> data(100);
  const void* shown = nullptr;
  job.task(0).host.on_header = [&](const ArrivedMessage& message) {
    shown = message.one_packet_data;
    return HeaderVerdict{Delivery::bury, CompletionStyle::thread, nullptr, nullptr, nullptr};
  };
  const auto send = [&](std::uint64_t blocks) {
    StridedCursor source({address(data.data()), 10, 20, blocks});
    ASSERT_EQ(job[0].layout_message({0, 1, nullptr, 0, &source, false, 0, 0, 0}), Submit::accepted);
  };
  send(1);
  EXPECT_EQ(shown, data.data());
  send(2);
  EXPECT_EQ(shown, nullptr);
}

// A message to oneself whose buffer overlaps its data.
TEST(OwnMessage, MayMoveWithinItsMemory) {
  Job job(1);
  std::vector<unsigned char> memory(600);
  std::size_t to = 0;
  job.task(0).host.on_header = [&](const ArrivedMessage&) {
    return HeaderVerdict{Delivery::deliver, CompletionStyle::thread, memory.data() + to, nullptr, nullptr};
  };
  job.start();
  for (const std::size_t length : {2u, 5u, 9u, 17u, 31u, 33u, 64u, 100u, 200u, 400u}) {
    for (const std::size_t shift : {1u, 7u, 8u, 40u}) {
      for (const bool forward : {false, true}) {
        std::iota(memory.begin(), memory.end(), 0);
        std::vector<unsigned char> expected = memory;
        const std::size_t from = 100 + (forward ? 0 : shift);
        to = 100 + (forward ? shift : 0);
        std::memmove(expected.data() + to, expected.data() + from, length);
        job[0].active_message({0, 1, nullptr, 0, memory.data() + from, length, 0, 0, 0});
        EXPECT_EQ(memory, expected) << length << " bytes by " << shift << (forward ? " forward" : " back");
      }
    }
  }
}

}  // namespace
}  // namespace openlapi
