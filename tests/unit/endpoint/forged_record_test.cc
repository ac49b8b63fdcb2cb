// Records as only a peer that lies sends them: nothing is written beyond what the operation has named, and what the
// peer sends in truth afterwards arrives.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/message/record_bytes.h"
#include "dataplane/tuning.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

constexpr std::size_t kLength = 64;  // of the message

struct Fragment {
  std::uint64_t offset;
  std::size_t length;
};

// Beyond the end by a little, wholly, and by so much that the end wraps round.
constexpr std::array<Fragment, 5> kImpossible = {
    {{kLength - 4, 8}, {kLength, 8}, {kLength + 8, 8}, {0, kLength + 8}, {UINT64_MAX - 7, 16}}};

class ForgedRecord : public testing::Test {
 protected:
  ForgedRecord() : job_(2, small_copies()) { job_.start(); }

  // From task 1 to task 0: a record whose payload is `length` bytes of 0xbb.
  void forge(RecordBytes record, std::size_t length) { forge(record, std::vector<std::byte>(length, std::byte{0xbb})); }

  void forge(RecordBytes record, std::span<const std::byte> payload) {
    record.payload_length(payload.size());
    const ConstBuffer pieces[] = {record.piece(), {payload.data(), payload.size()}};
    const OutgoingPacket packet{pieces, static_cast<std::uint32_t>(record.length() + payload.size())};
    ASSERT_EQ(job_.task(1).transport.send_burst(0, {&packet, 1}), 1u);
    job_[0].progress();
  }
  std::uint64_t ghosts() { return job_[0].statistics(StatisticsPath::network).ghost_packets; }

  void expect_untouched(const char* when) {
    EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 0xee), static_cast<std::ptrdiff_t>(memory_.size())) << when;
    EXPECT_EQ(counter_, 0) << when;
  }

  unsigned char* place() { return memory_.data() + kLength; }

  Job job_;
  std::vector<unsigned char> memory_ = std::vector<unsigned char>(4 * kLength, 0xee);
  int counter_ = 0;
};

TEST_F(ForgedRecord, DataBeyondTheMessageIsDropped) {
  RecordBytes first(wire::RecordKind::put, wire::PutBody{address(place()), address(&counter_), 0});
  first.extend({kLength, 0, 7, 0}, wire::kFlagLong);
  forge(first, 0);
  for (const Fragment& fragment : kImpossible) {
    forge(RecordBytes(wire::RecordKind::data, wire::DataBody{7, 0, fragment.offset}), fragment.length);
    expect_untouched("offset and length lie");
  }
  forge(RecordBytes(wire::RecordKind::data, wire::DataBody{7, 0, 0}), kLength);
  EXPECT_EQ(std::count(place(), place() + kLength, 0xbb), static_cast<std::ptrdiff_t>(kLength));
  EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 0xbb), static_cast<std::ptrdiff_t>(kLength));
  EXPECT_EQ(counter_, 1);
}

TEST_F(ForgedRecord, AnAnswerBeyondWhatWasAskedForIsDropped) {
  ASSERT_EQ(job_[0].get({1, address(memory_.data()), place(), kLength, 0, address(&counter_)}), Submit::accepted);
  const auto asked = job_.task(1).transport.take_waiting();
  ASSERT_EQ(asked.size(), 1u);
  wire::GetRequestBody request;
  std::memcpy(&request, asked[0].data() + sizeof(wire::RecordHeader), sizeof(request));
  for (const Fragment& fragment : kImpossible) {
    forge(RecordBytes(wire::RecordKind::get_data, wire::GetDataBody{request.request_id, 0, fragment.offset}),
          fragment.length);
    expect_untouched("offset and length lie");
  }
  forge(RecordBytes(wire::RecordKind::rmw_reply, wire::RmwReplyBody{request.request_id, 0, 0}), 0);
  forge(RecordBytes(wire::RecordKind::rmw_reply, wire::RmwReplyBody{request.request_id + 1, 0, 0}), 0);
  expect_untouched("it is no read-modify-write, or nothing at all");
  const auto answer = [&](std::uint64_t offset, std::size_t length) {
    forge(RecordBytes(wire::RecordKind::get_data, wire::GetDataBody{request.request_id, 0, offset}), length);
  };
  answer(0, 40);
  answer(24, 40);
  EXPECT_EQ(counter_, 0) << "more than is left";
  answer(40, kLength - 40);
  EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 0xbb), static_cast<std::ptrdiff_t>(kLength));
  EXPECT_EQ(counter_, 1);
}

// A message that is complete leaves its id to the next one.
TEST_F(ForgedRecord, AnIdServesAgain) {
  for (int times = 1; times <= 3; ++times) {
    RecordBytes put(wire::RecordKind::put, wire::PutBody{address(place()), address(&counter_), 0});
    forge(put.extend({kLength, 0, 7, 0}, wire::kFlagLong), 0);
    forge(RecordBytes(wire::RecordKind::data, wire::DataBody{7, 0, 0}), kLength);
    EXPECT_EQ(counter_, times);
  }
}

TEST_F(ForgedRecord, BlocksBeyondThePutAreDropped) {
  for (const std::uint32_t id : {7u, 0u}) {
    for (const Fragment& fragment : kImpossible) {
      const std::uint64_t total = id != 0 ? kLength : fragment.length;
      const std::uint64_t offset = id != 0 ? fragment.offset : fragment.offset | 8;
      const wire::PutStridedBody body{address(&counter_), 0, total, address(place()), 8, 8, offset, id, 0};
      forge(RecordBytes(wire::RecordKind::put_strided, body), fragment.length);
      expect_untouched("where the blocks begin, or their length, lies");
    }
  }
}

// Records of a put to blocks that name a message of another kind or length, or bring more than is left of it.
TEST_F(ForgedRecord, PartsOfAnotherMessageAreDropped) {
  job_.task(0).host.on_header = [this](const ArrivedMessage&) {
    return HeaderVerdict{Delivery::deliver, CompletionStyle::thread, place(), nullptr, nullptr};
  };
  const auto part = [this](std::uint32_t id, std::uint64_t total, std::uint64_t offset, std::size_t length) {
    const wire::PutStridedBody body{address(&counter_), 0, total, address(place()), 8, 8, offset, id, 0};
    forge(RecordBytes(wire::RecordKind::put_strided, body), length);
  };
  RecordBytes put(wire::RecordKind::put, wire::PutBody{address(place()), address(&counter_), 0});
  forge(put.extend({kLength, 0, 7, 0}, wire::kFlagLong), 0);
  part(7, kLength / 2, 0, 16);
  expect_untouched("the length is another one");
  RecordBytes message(wire::RecordKind::active_message, wire::ActiveMessageBody{1, address(&counter_), 0});
  forge(message.extend({kLength, 0, 8, 0}, wire::kFlagLong), 0);
  part(8, kLength, 0, 16);
  expect_untouched("it is no put");
  part(9, kLength, 0, 40);
  part(9, kLength, 40, 32);
  part(9, kLength, 24, 40);
  EXPECT_EQ(counter_, 0) << "more than is left";
  part(9, kLength, 40, 24);
  EXPECT_EQ(counter_, 1);
}

TEST_F(ForgedRecord, ADescriptionThatIsCutOffOrGoesOnIsNoGet) {
  const StridedCursor asked(address(memory_.data()), kLength);
  std::vector<std::byte> whole;
  ASSERT_TRUE(describe_layout(asked, SIZE_MAX, whole));
  std::vector<std::byte> shorter(whole.begin(), whole.end() - 1), longer = whole;
  longer.resize(whole.size() + 8);
  const RecordBytes get(wire::RecordKind::get_layout, wire::GetLayoutBody{address(&counter_), 1, 0});
  forge(get, shorter);
  forge(get, longer);
  forge(get, std::span<const std::byte>());
  EXPECT_EQ(ghosts(), 3u);
  EXPECT_EQ(job_.task(1).transport.waiting(), 0u) << "an answer";
  EXPECT_EQ(counter_, 0);
  forge(get, whole);
  EXPECT_EQ(ghosts(), 3u);
  EXPECT_EQ(job_.task(1).transport.waiting(), 1u);
  EXPECT_EQ(counter_, 1);
}

TEST_F(ForgedRecord, WhatIsNobodysOrHasAnIdThatIsInUseIsAGhost) {
  job_.task(0).transport.put_back({std::vector<std::byte>(40)});
  job_[0].progress();
  EXPECT_EQ(ghosts(), 1u);
  RecordBytes first(wire::RecordKind::put, wire::PutBody{address(place()), address(&counter_), 0});
  first.extend({kLength, 0, 7, 0}, wire::kFlagLong);
  forge(first, 8);
  EXPECT_EQ(ghosts(), 1u);
  forge(first, 16);
  EXPECT_EQ(ghosts(), 2u);
  EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 0xbb), 8);
}

// The put lies in the origin's memory, which this task cannot read: its records will say where it goes, these do not.
TEST_F(ForgedRecord, DataOfAPutWhosePlaceIsNotKnownGoesNowhere) {
  RecordBytes first(wire::RecordKind::put, wire::PutBody{0, address(&counter_), 0});
  first.extend({kLength, address(memory_.data()), 9, 40}, wire::kFlagLong | wire::kFlagAttach | wire::kFlagLayout);
  forge(first, 0);
  forge(RecordBytes(wire::RecordKind::data, wire::DataBody{9, 0, 0}), 8);
  expect_untouched("the put has no place");
}

// It is as wrong as any other address, which a process does not survive.
TEST_F(ForgedRecord, ALongPutToAddressZeroIsNotThrownAway) {
  RecordBytes first(wire::RecordKind::put, wire::PutBody{0, address(&counter_), 0});
  first.extend({kLength, 0, 7, 0}, wire::kFlagLong);
  const auto not_survived = [](int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 0; };
  EXPECT_EXIT(
      {
        forge(first, 8);
        _exit(0);
      },
      not_survived, "");
}

// As nobody cuts messages, but anybody may.
TEST_F(ForgedRecord, AFirstRecordMayBringASingleByte) {
  std::uint32_t id = 0;
  const auto arrives = [&](RecordBytes first, int refusals, bool layout) {
    std::fill(memory_.begin(), memory_.end(), 0xee);
    counter_ = 0;
    job_.task(0).host.on_header = [&](const ArrivedMessage&) {
      HeaderVerdict verdict;
      if (refusals-- > 0) verdict.delivery = Delivery::drop;
      if (layout) verdict.layout = std::make_unique<StridedCursor>(address(place()), kLength);
      if (!layout) verdict.buffer = place();
      return verdict;
    };
    first.extend({2, 0, ++id, 0}, wire::kFlagLong);
    forge(first, 1);
    for (int look = 0; look < 3; ++look) {
      job_.clock.advance(tuning::kRetryRefused);
      job_[0].progress();
    }
    forge(RecordBytes(wire::RecordKind::data, wire::DataBody{id, 0, 1}), 1);
    EXPECT_EQ(counter_, 1);
    EXPECT_EQ(std::count(place(), place() + 2, 0xbb), 2) << id;
    EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 0xee), static_cast<std::ptrdiff_t>(memory_.size()) - 2);
  };
  arrives(RecordBytes(wire::RecordKind::put, wire::PutBody{address(place()), address(&counter_), 0}), 0, false);
  for (const int refusals : {0, 1}) {
    for (const bool layout : {false, true}) {
      arrives(RecordBytes(wire::RecordKind::active_message, wire::ActiveMessageBody{1, address(&counter_), 0}),
              refusals, layout);
    }
  }
}

// A peer makes this task keep nearly all that it may, and then has a message refused which would be more: it is
// dropped, and the message that was refused just before, another one's, is still delivered.
TEST(RefusedMessages, OfOneThatIsDroppedAreNotTakenForOthers) {
  Job job(3, small_copies());
  job.start();
  Delivery delivery = Delivery::drop;
  std::uint64_t there = 0;
  const std::uint64_t word = 77;
  int arrived = 0;
  job.task(0).host.on_header = [&](const ArrivedMessage&) {
    return HeaderVerdict{delivery, CompletionStyle::thread, &there, nullptr, nullptr};
  };
  const auto lie = [&](std::uint64_t length, std::uint32_t id, unsigned flags, std::uint32_t header_length) {
    RecordBytes record(wire::RecordKind::active_message, wire::ActiveMessageBody{1, 0, 0});
    record.extend({length, address(&there), id, 0}, static_cast<std::uint8_t>(wire::kFlagLong | flags))
        .user_header_length(header_length);
    const std::vector<std::byte> header(header_length);
    const ConstBuffer pieces[] = {record.piece(), {header.data(), header.size()}};
    const OutgoingPacket packet{pieces, record.length() + header_length};
    ASSERT_EQ(job.task(1).transport.send_burst(0, {&packet, 1}), 1u);
  };
  lie(tuning::kMostBytesOfPeer - 8, 1, 0, 0);
  job[0].progress();
  ASSERT_EQ(job[2].active_message({0, 1, nullptr, 0, &word, sizeof(word), address(&arrived), 0, 0}), Submit::accepted);
  lie(100, 2, wire::kFlagAttach, 64);
  job[0].progress();
  EXPECT_EQ(job.task(0).host.faults, std::vector(1, std::pair(Fault::too_much_kept, PeerIndex{1})));
  delivery = Delivery::deliver;
  job.clock.advance(kSecond);
  job[0].progress();
  EXPECT_EQ(arrived, 1);
  EXPECT_EQ(there, word);
}

}  // namespace
}  // namespace openlapi
