// Two tasks that share memory, of which one begins anew: what the other believes between the moment at which it sees
// the new era and the record that tells it, and when its own record leaves.
#include <gtest/gtest.h>

#include <cstring>

#include "dataplane/message/record_bytes.h"
#include "dataplane/tuning.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

// Task 1 begins anew; task 0 is the one that is looked at.
class Beginnings : public testing::Test {
 protected:
  Beginnings() : job_(2, config()) { job_.start(); }
  static EndpointConfig config() {
    EndpointConfig config = small_copies();
    config.idle_loops_between_timers = 1;
    return config;
  }
  Endpoint& mine() { return job_[0]; }
  MemoryTransport& other() { return job_.task(1).transport; }
  std::uint64_t sent() { return mine().statistics(StatisticsPath::shared_memory).packets_sent; }

  void contact() {
    ASSERT_EQ(mine().put({1, address(&there_), &kWord, sizeof(kWord), 0, 0, 0}), Submit::accepted);
    job_.settle();
  }
  // Its record comes later.
  void begin_anew() { other().give_up_peer(0); }
  void see_it() {
    job_.clock.advance(tuning::kWatchPeers);
    mine().progress();
  }
  void send(RecordBytes record, std::span<const std::byte> payload = {}) {
    if (!payload.empty()) record.payload_length(payload.size());
    const ConstBuffer pieces[] = {record.piece(), {payload.data(), payload.size()}};
    const OutgoingPacket packet{pieces, static_cast<std::uint32_t>(record.length() + payload.size())};
    ASSERT_EQ(other().send_burst(0, {&packet, 1}), 1u);
    mine().progress();
  }
  void send_put() {
    send(RecordBytes(wire::RecordKind::put, wire::PutBody{address(&here_), 0, 0}), std::as_bytes(std::span(&kWord, 1)));
  }
  void tell() {
    send(RecordBytes(wire::RecordKind::request_refused,
                     wire::RequestRefusedBody{other().era_with(0), wire::RefusalReason::begins_anew}));
  }

  static constexpr std::uint64_t kWord = 77;
  Job job_;
  std::uint64_t here_ = 0, there_ = 0;
};

TEST_F(Beginnings, WhatIsOfTheEraBeforeIsNotBelieved) {
  contact();
  begin_anew();
  see_it();
  send_put();
  EXPECT_EQ(here_, 0u);
  tell();
  send_put();
  EXPECT_EQ(here_, kWord);
}

TEST_F(Beginnings, NorIsItAtFirstContact) {
  begin_anew();
  send_put();
  EXPECT_EQ(here_, 0u);
  tell();
  send_put();
  EXPECT_EQ(here_, kWord);
}

// A refusal and the record that tells an era are of one kind.
TEST_F(Beginnings, NeitherIsARefusal) {
  contact();
  begin_anew();
  see_it();
  auto& faults = job_.task(0).host.faults;
  faults.clear();
  std::uint64_t got = 0;
  ASSERT_EQ(mine().get({1, address(&there_), &got, sizeof(got), 0, 0}), Submit::accepted);
  const auto packets = other().take_waiting();
  ASSERT_FALSE(packets.empty());
  wire::GetRequestBody asked;
  std::memcpy(&asked, packets.back().data() + sizeof(wire::RecordHeader), sizeof(asked));
  const RecordBytes refusal(wire::RecordKind::request_refused,
                            wire::RequestRefusedBody{asked.request_id, wire::RefusalReason::out_of_memory});
  send(refusal);
  EXPECT_TRUE(faults.empty());
  tell();
  EXPECT_TRUE(faults.empty());
  send(refusal);
  EXPECT_EQ(faults, std::vector(1, std::pair(Fault::target_out_of_memory, PeerIndex{1})));
}

// This task begins anew with the other one as well, and says so, in a packet that counts: at once, or as soon as there
// is room, also if it has nothing else to say.
TEST_F(Beginnings, AreToldAsSoonAsThereIsRoom) {
  for (const std::size_t room : {64u, 0u}) {
    contact();
    ASSERT_EQ(other().waiting(), 0u);
    const std::uint64_t before = sent();
    begin_anew();
    other().set_room(room);
    see_it();
    if (room == 0) {
      EXPECT_EQ(sent(), before);
      EXPECT_EQ(mine().progress(), 0u);
      EXPECT_EQ(sent(), before);
      other().set_room(64);
      EXPECT_EQ(mine().progress(), 1u);
    }
    EXPECT_EQ(sent(), before + 1);
    EXPECT_EQ(other().waiting(), 1u);
    EXPECT_EQ(mine().progress(), 0u);
    other().forget_waiting();
    tell();
    job_.settle();
  }
}

}  // namespace
}  // namespace openlapi
