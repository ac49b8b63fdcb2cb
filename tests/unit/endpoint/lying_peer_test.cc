// A peer that is of the job and lies: nothing is written beyond what an operation or a handler has named, what it can
// make a task keep is bounded, and others do not notice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "dataplane/message/record_bytes.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/wire/layout_description.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

using wire::RecordKind;

constexpr PeerIndex kMe = 0, kLiar = 1, kHonest = 2;
constexpr std::size_t kLong = 3 * tuning::kAttachPiece;

EndpointConfig config() {
  EndpointConfig config = small_copies();
  config.idle_loops_between_timers = 1;
  return config;
}

class LyingPeer : public testing::Test {
 protected:
  LyingPeer() : job_(3, config()) {
    for (PeerIndex i = 0; i < 3; ++i) {
      job_.task(i).transport.make_readable();
      job_.task(i).transport.set_room(1000);
    }
    job_.start();
    job_.task(kMe).host.on_header = [this](const ArrivedMessage&) { return HeaderVerdict{delivery_, {}, place()}; };
  }

  Endpoint& mine() { return job_[kMe]; }
  std::vector<std::pair<Fault, PeerIndex>>& faults() { return job_.task(kMe).host.faults; }
  unsigned char* place() { return memory_.data() + kLong; }

  void lie(const RecordBytes& record, std::size_t payload = 0, PeerIndex from = kLiar) {
    std::vector<std::byte> bytes = payload_;
    bytes.resize(payload, std::byte{0xbb});
    RecordBytes whole = record;
    if (payload != 0) whole.payload_length(payload);
    const ConstBuffer pieces[] = {whole.piece(), {bytes.data(), payload}};
    const OutgoingPacket packet{pieces, static_cast<std::uint32_t>(whole.length() + payload)};
    ASSERT_EQ(job_.task(from).transport.send_burst(kMe, {&packet, 1}), 1u);
  }

  // The liar takes nothing of what it has asked for.
  void lie_until_dropped(const std::function<RecordBytes(std::uint32_t)>& record, std::size_t payload = 0) {
    job_.task(kLiar).transport.set_room(0);
    for (std::uint32_t n = 1; n <= tuning::kMostThingsOfPeer + 100 && faults().empty(); ++n) {
      lie(record(n), payload);
      mine().progress();
    }
    ASSERT_EQ(faults().size(), 1u);
    EXPECT_EQ(faults()[0], std::pair(Fault::too_much_kept, kLiar));
    EXPECT_EQ(mine().put({kLiar, 0, nullptr, 0, 0, 0, 0}), Submit::unreachable);
    lie(record(1), payload);
    mine().progress();
    expect_honest_served();
  }

  void expect_honest_served() {
    int counter = 0;
    std::uint64_t word = 0, data = 77;
    ASSERT_EQ(job_[kHonest].put({kMe, address(&word), &data, 8, 0, 0, address(&counter)}), Submit::accepted);
    for (int n = 0; n < 100 && counter == 0; ++n) {
      mine().progress();
      job_[kHonest].progress();
    }
    EXPECT_EQ(word, 77u);
    EXPECT_EQ(counter, 1);
  }

  RecordBytes attached_message(std::uint32_t id, std::uint64_t length) {
    RecordBytes record(RecordKind::active_message, wire::ActiveMessageBody{1, 0, 0});
    record.extend({length, address(source_.data()), id, 0}, wire::kFlagLong | wire::kFlagAttach);
    return record;
  }
  RecordBytes long_message(std::uint32_t id, std::uint64_t length) {
    RecordBytes record(RecordKind::active_message, wire::ActiveMessageBody{1, 0, 0});
    record.extend({length, 0, id, 0}, wire::kFlagLong);
    return record;
  }
  static RecordBytes data(std::uint32_t id, std::uint64_t offset) {
    return RecordBytes(RecordKind::data, wire::DataBody{id, 0, offset});
  }

  void expect_margins() {
    const auto intact = [](unsigned char byte) { return byte == 0xee; };
    EXPECT_TRUE(std::all_of(memory_.begin(), memory_.begin() + kLong, intact));
    EXPECT_TRUE(std::all_of(memory_.begin() + 2 * kLong, memory_.end(), intact));
  }

  std::vector<unsigned char> memory_ = std::vector<unsigned char>(3 * kLong, 0xee);
  std::vector<unsigned char> source_ = std::vector<unsigned char>(2 * kLong, 0xbb);
  std::vector<std::byte> payload_;  // of lies, as far as they go
  Delivery delivery_ = Delivery::deliver;
  Job job_;
};

// ---- lengths and ids ----

TEST_F(LyingPeer, FragmentsOfAMessageThatIsBeingReadAreNone) {
  constexpr std::size_t kLength = 2 * tuning::kAttachPiece + 1000;
  job_.task(kMe).host.on_header = [this](const ArrivedMessage& message) {
    return HeaderVerdict{Delivery::deliver, {}, place() + kLong - message.length};
  };
  lie(attached_message(7, kLength));
  mine().progress();  // two pieces are read
  for (unsigned n = 0; n < 2; ++n) lie(data(7, 0), 900);
  for (unsigned n = 0; n < 10; ++n) mine().progress();
  expect_margins();
  EXPECT_EQ(mine().statistics(StatisticsPath::shared_memory).data_received, kLength);
}

TEST_F(LyingPeer, AnswersToAGetThatIsBeingReadAreNone) {
  int counter = 0;
  ASSERT_EQ(mine().get({kLiar, address(source_.data()), place(), kLong, 0, address(&counter)}), Submit::accepted);
  for (std::uint32_t id = 0; id < 4; ++id) {
    for (unsigned n = 0; n < 10; ++n) {
      lie(RecordBytes(RecordKind::get_data, wire::GetDataBody{id, 0, kLong - 900}), 900);
      lie(RecordBytes(RecordKind::request_refused, wire::RequestRefusedBody{id, wire::RefusalReason::out_of_memory}));
    }
  }
  for (unsigned n = 0; n < 200; ++n) mine().progress();
  expect_margins();
  EXPECT_EQ(counter, 1);
  EXPECT_TRUE(faults().empty());
  EXPECT_EQ(std::count(place(), place() + kLong, 0xbb), static_cast<std::ptrdiff_t>(kLong));
}

TEST_F(LyingPeer, FragmentsOfARefusedMessageThatLiesElsewhereAreNone) {
  delivery_ = Delivery::drop;
  lie(attached_message(7, 5000));
  lie(data(7, 100), 800);
  mine().progress();
  delivery_ = Delivery::deliver;
  job_.clock.advance(kSecond);
  for (unsigned n = 0; n < 10; ++n) mine().progress();
  EXPECT_EQ(std::count(place(), place() + 5000, 0xbb), 5000);
  expect_margins();
}

TEST_F(LyingPeer, ARefusedMessageIsNoOtherOfItsId) {
  RecordBytes put(RecordKind::put, wire::PutBody{address(place()), 0, 0});
  put.extend({4000, 0, 7, 0}, wire::kFlagLong);
  lie(put);
  delivery_ = Delivery::drop;
  std::vector<unsigned char> small(64, 0xee);
  lie(long_message(7, 32));
  mine().progress();
  job_.task(kMe).host.on_header = [&](const ArrivedMessage&) {
    return HeaderVerdict{Delivery::deliver, {}, small.data()};
  };
  job_.clock.advance(kSecond);
  for (unsigned n = 0; n < 10; ++n) mine().progress();
  lie(data(7, 40), 24);
  mine().progress();
  EXPECT_EQ(std::count(small.begin(), small.end(), 0xee), 64) << "the put's data went to the other's buffer";
}

TEST_F(LyingPeer, BytesThatComeTwiceDoNotCountBeyondTheEnd) {
  lie(long_message(7, 1000));
  for (unsigned n = 0; n < 3; ++n) lie(data(7, 0), 400);
  lie(data(7, 800), 200);
  mine().progress();
  EXPECT_EQ(mine().statistics(StatisticsPath::shared_memory).data_received, 1000u) << "it has ended";
  lie(data(7, 0), 400);
  mine().progress();
  EXPECT_EQ(mine().statistics(StatisticsPath::shared_memory).data_received, 1000u);
}

TEST_F(LyingPeer, UserHeadersAreNoLongerThanTheyMayBe) {
  unsigned calls = 0;
  job_.task(kMe).host.on_header = [&](const ArrivedMessage&) { return ++calls, HeaderVerdict{Delivery::bury}; };
  for (const std::uint32_t length : {tuning::kMaxUserHeader, tuning::kMaxUserHeader + 4}) {
    RecordBytes record(RecordKind::active_message, wire::ActiveMessageBody{1, 0, 0});
    record.user_header_length(length);
    const std::vector<unsigned char> header(length);
    const ConstBuffer pieces[] = {record.piece(), {header.data(), length}};
    const OutgoingPacket packet{pieces, record.length() + length};
    ASSERT_EQ(job_.task(kLiar).transport.send_burst(kMe, {&packet, 1}), 1u);
    mine().progress();
  }
  EXPECT_EQ(calls, 1u);
}

// ---- bounds ----

TEST_F(LyingPeer, AnswersThatNobodyTakesAreBounded) {
  std::uint64_t word = 0;
  lie_until_dropped([&](std::uint32_t n) {
    return RecordBytes(RecordKind::rmw_request, wire::RmwRequestBody{1, 8, 0, n, address(&word), 1, 0});
  });
}

TEST_F(LyingPeer, CounterUpdatesThatNobodyTakesAreBounded) {
  lie_until_dropped([&](std::uint32_t n) { return RecordBytes(RecordKind::put, wire::PutBody{0, 0, n * 8}); });
}

TEST_F(LyingPeer, LongAnswersThatNobodyTakesAreBounded) {
  lie_until_dropped([&](std::uint32_t n) {
    return RecordBytes(RecordKind::get_request, wire::GetRequestBody{address(source_.data()), kLong, 0, n, 0});
  });
}

TEST_F(LyingPeer, MessagesThatDoNotEndAreBounded) {
  lie_until_dropped([&](std::uint32_t n) { return long_message(n, 1000); });
}

TEST_F(LyingPeer, PutsInPiecesThatDoNotEndAreBounded) {
  lie_until_dropped([&](std::uint32_t n) {
    return RecordBytes(RecordKind::put_strided, wire::PutStridedBody{0, 0, 1000, address(place()), 1, 1, 0, n, 0});
  });
}

TEST_F(LyingPeer, FencesBehindAMessageThatDoesNotEndAreBounded) {
  lie(long_message(7, 1000));
  lie_until_dropped([&](std::uint32_t n) { return RecordBytes(RecordKind::fence_request, wire::FenceBody{n, n}); });
}

TEST_F(LyingPeer, RefusedMessagesAreBounded) {
  delivery_ = Delivery::drop;
  lie_until_dropped(
      [&](std::uint32_t) {
        return RecordBytes(RecordKind::active_message, wire::ActiveMessageBody{1, 0, 0});
      },
      100);
}

TEST_F(LyingPeer, BytesOfRefusedMessagesAreBounded) {
  delivery_ = Delivery::drop;
  unsigned messages = 0;
  lie_until_dropped([&](std::uint32_t n) { return ++messages, long_message(n, 16 * 1024 * 1024); });
  EXPECT_LT(messages, 20u);
}

TEST_F(LyingPeer, EarlyRoundsAreBounded) {
  unsigned rounds = 0;
  lie_until_dropped([&](std::uint32_t n) {
    return ++rounds, RecordBytes(RecordKind::collective, wire::CollectiveBody{100 + n, 0});
  });
  EXPECT_LT(rounds, tuning::kMostEarlyRounds + 100);
}

// Not even for a moment: a machine may have no memory for it.
TEST_F(LyingPeer, OneMessageOfMoreBytesThanAnyMayHaveIsTooMuch) {
  delivery_ = Delivery::drop;
  lie(long_message(1, sizeof(void*) == 8 ? std::uint64_t{1} << 46 : tuning::kMostBytesOfPeer + 1));
  mine().progress();
  EXPECT_EQ(faults(), std::vector(1, std::pair(Fault::too_much_kept, kLiar)));
}

// Little is left of what the liar may have here: all that is kept for it counts with its bytes.
class NearlyAllBytes : public LyingPeer {
 protected:
  void lie_until_dropped_soon(const std::function<RecordBytes(std::uint32_t)>& record, std::size_t payload = 0) {
    delivery_ = Delivery::drop;
    lie(long_message(0x7fffffff, tuning::kMostBytesOfPeer - 1000));
    mine().progress();
    ASSERT_TRUE(faults().empty());
    unsigned records = 0;
    lie_until_dropped([&](std::uint32_t n) { return ++records, record(n); }, payload);
    EXPECT_LT(records, 100u);
  }
};

TEST_F(NearlyAllBytes, RefusedMessages) {
  lie_until_dropped_soon(
      [&](std::uint32_t) {
        return RecordBytes(RecordKind::active_message, wire::ActiveMessageBody{1, 0, 0});
      },
      100);
}

TEST_F(NearlyAllBytes, LongRoundsOfCollectives) {
  lie_until_dropped_soon([&](std::uint32_t n) {
    RecordBytes round(RecordKind::collective, wire::CollectiveBody{100 + n, 0});
    round.extend({3 * sizeof(std::uint64_t), 0, n, 0}, wire::kFlagLong);
    return round;
  });
}

TEST_F(NearlyAllBytes, DescriptionsOfWhatIsAskedFor) {
  std::vector<std::byte> description;
  wire::append_description(description, wire::StridedLayout{address(source_.data()), 8, 16, kLong / 16});
  payload_.assign(description.begin(), description.end());
  lie_until_dropped_soon(
      [&](std::uint32_t n) {
        return RecordBytes(RecordKind::get_layout, wire::GetLayoutBody{0, n, 0});
      },
      payload_.size());
}

// Of a collective among three tasks no round has more than three values, and what has is none.
TEST_F(LyingPeer, RoundsLongerThanAnyAreNone) {
  for (std::uint32_t n = 1; n <= 20; ++n) {
    RecordBytes round(RecordKind::collective, wire::CollectiveBody{100 + n, 0});
    round.extend({tuning::kMostBytesOfPeer / 16, 0, n, 0}, wire::kFlagLong);
    lie(round);
    mine().progress();
  }
  EXPECT_TRUE(faults().empty());
  expect_honest_served();
}

// Who begins anew leaves what it has not ended behind, of which the user hears for each.
TEST_F(LyingPeer, MessagesThatDoNotEndAreBoundedInAllItsIncarnationsTogether) {
  constexpr std::uint32_t kOfOneIncarnation = 4096;
  constexpr std::size_t kIncarnations = tuning::kMostThingsOfPeer / kOfOneIncarnation;
  for (std::size_t incarnation = 0; incarnation < kIncarnations + 2; ++incarnation) {
    EXPECT_EQ(std::ranges::count(faults(), std::pair(Fault::too_much_kept, kLiar)), incarnation > kIncarnations ? 1 : 0)
        << incarnation;
    for (std::uint32_t n = 1; n <= kOfOneIncarnation; ++n) {
      lie(long_message(n, 1000));
      mine().progress();
    }
    job_.task(kLiar).transport.purge_peer(kMe);
    job_.task(kLiar).transport.resume_peer(kMe);
    job_.clock.advance(2 * tuning::kWatchPeers);
    for (unsigned n = 0; n < 4; ++n) mine().progress();
    const std::uint32_t era = job_.task(kLiar).transport.era_with(kMe);
    lie(RecordBytes(RecordKind::request_refused, wire::RequestRefusedBody{era, wire::RefusalReason::begins_anew}));
    mine().progress();
  }
  expect_honest_served();
}

TEST_F(LyingPeer, ALongDescriptionIsRefused) {
  RecordBytes record(RecordKind::get_layout, wire::GetLayoutBody{0, 5, 0});
  record.extend({tuning::kMostBytesOfPeer + 16, 0, 7, 0}, wire::kFlagLong);
  lie(record, 64);
  mine().progress();
  const auto answers = job_.task(kLiar).transport.take_waiting();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(static_cast<std::uint8_t>(answers[0][0]), static_cast<std::uint8_t>(RecordKind::request_refused));
}

// It may come back when the user lets it.
TEST_F(LyingPeer, WhoWasDroppedIsPurgedAndResumedLikeAnyOther) {
  lie_until_dropped([&](std::uint32_t n) { return long_message(n, 1000); });
  mine().purge(kLiar);
  EXPECT_EQ(mine().put({kLiar, 0, nullptr, 0, 0, 0, 0}), Submit::purged);
  mine().resume(kLiar, 2);
  job_.task(kLiar).transport.set_room(64);
  EXPECT_EQ(mine().put({kLiar, 0, nullptr, 0, 0, 0, 0}), Submit::accepted);
}

TEST_F(LyingPeer, RefusedMessagesOfOthersLeaveRoomForOnesOwn) {
  delivery_ = Delivery::drop;
  for (unsigned n = 0; n < 10; ++n) {
    lie(RecordBytes(RecordKind::active_message, wire::ActiveMessageBody{1, 0, 0}), 8);
    mine().progress();
  }
  const ActiveMessageRequest own{kMe, 1, nullptr, 0, source_.data(), 8, 0, 0, 0};
  for (unsigned n = 0; n < config().copy_buffers; ++n) EXPECT_EQ(mine().active_message(own), Submit::accepted) << n;
  EXPECT_EQ(mine().active_message(own), Submit::busy);
  delivery_ = Delivery::bury;
  job_.clock.advance(kSecond);
  mine().progress();
  EXPECT_EQ(mine().active_message(own), Submit::accepted);
}

// ---- handlers that purge ----

// What follows in the same packet, and packets that had come too early, are those of a peer that is purged.
class PurgingHandler : public testing::Test {
 protected:
  PurgingHandler() : job_(2) {}

  void start() {
    job_.start();
    job_.task(0).host.on_header = [this](const ArrivedMessage&) {
      return HeaderVerdict{Delivery::bury, CompletionStyle::inline_local, nullptr, &ran_, nullptr};
    };
    job_.task(0).host.on_completion = [this](const CompletionRun&, bool) {
      if (++ran_ != purge_at_) return true;
      job_[0].purge(1);
      if (resumes_) job_[0].resume(1, 2);
      return true;
    };
  }
  void send() {
    ASSERT_EQ(job_[1].active_message({0, 1, nullptr, 0, source_.data(), source_.size(), 0, 0, 0}), Submit::accepted);
  }
  void run() {
    for (unsigned n = 0; n < 6; ++n) {
      job_[0].progress();
      job_.clock.advance(kMillisecond);
    }
    EXPECT_EQ(ran_, purge_at_);
    EXPECT_NE(job_[0].peers().purged(1), resumes_);
  }
  // The third message purges: the fourth and those behind it have come before the second.
  void come_too_early() {
    for (PeerIndex i = 0; i < 2; ++i) job_.task(i).transport.make_lossy(0, 1);
    purge_at_ = 3;
    start();
    send();
    for (unsigned n = 0; n < 10; ++n) {
      job_[0].progress();
      job_[1].progress();
      job_.clock.advance(kMillisecond);
    }
    ASSERT_EQ(ran_, 1);
    job_[1].progress();
    for (unsigned n = 0; n < 5; ++n) send();
    for (unsigned n = 0; n < 3; ++n) job_[1].progress();
    auto packets = job_.task(0).transport.take_waiting();
    ASSERT_GT(packets.size(), 2u);
    std::rotate(packets.begin(), packets.begin() + 1, packets.end());  // the first one comes last
    job_.task(0).transport.put_back(packets);
    run();
  }

  std::vector<unsigned char> source_ = std::vector<unsigned char>(600);
  int ran_ = 0, purge_at_ = 1;
  bool resumes_ = false;
  Job job_;
};

TEST_F(PurgingHandler, LeavesTheRestOfThePacket) {
  start();
  std::vector<unsigned char> packet;
  for (unsigned n = 0; n < 3; ++n) {
    const RecordBytes record(RecordKind::active_message, wire::ActiveMessageBody{1, 0, 0});
    const auto* bytes = static_cast<const unsigned char*>(record.piece().data);
    packet.insert(packet.end(), bytes, bytes + record.length());
  }
  const ConstBuffer piece{packet.data(), packet.size()};
  const OutgoingPacket outgoing{{&piece, 1}, static_cast<std::uint32_t>(packet.size())};
  job_[1].progress();
  send();
  job_.task(0).transport.forget_waiting();
  ASSERT_EQ(job_.task(1).transport.send_burst(0, {&outgoing, 1}), 1u);
  run();
}

TEST_F(PurgingHandler, LeavesPacketsThatHadComeTooEarly) { come_too_early(); }

// They are no packets of the peer's next incarnation.
TEST_F(PurgingHandler, LeavesThemAlsoWhenItResumesThePeer) {
  resumes_ = true;
  come_too_early();
}

}  // namespace
}  // namespace openlapi
