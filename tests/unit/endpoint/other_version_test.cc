// A task whose library has another wire version, without a launcher that compares them: it is found out as soon as one
// of the two sends anything, by what only a task of the job can say to this incarnation of it. Nobody else can bring
// that about. The other one is written by hand here; that two libraries come to it: system/library_versions. Time is
// virtual.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "dataplane/wire/association.h"
#include "dataplane/wire/version_packet.h"
#include "tests/support/socket_task.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kStep = 20'000'000;
constexpr SipKey kOtherKey{kKey.low, kKey.high + 1};
constexpr std::uint8_t kOther = wire::kPacketVersion + 1;
constexpr std::uint64_t kOwnEpoch = 0x700000001;      // of task 0
constexpr std::uint64_t kOthersEpoch = 0x900000000;   // of the other library's task 1
constexpr std::uint64_t kEarlierEpoch = 0x6f0000001;  // of task 0, in another incarnation

// Says that it is task 1, in packets of another version.
class OtherLibrary {
 public:
  OtherLibrary(in_addr_t address, const UdpTransport& first) : transport_(open_at(address)) {
    std::string error;
    EXPECT_TRUE(transport_->add_peer(0, first.local_address(), error)) << error;
  }

  const UdpTransport& transport() const { return *transport_; }

  // A first packet as it may look in another version.
  void send_data() {
    std::array<std::byte, 96> bytes{};
    write_header(header_to(0), bytes.data());
    bytes[3] = std::byte{0x7f};
    send(bytes);
  }

  void tell_version(const SipKey& key, std::uint64_t destination_epoch, bool wants_answer = false) {
    wire::PacketHeader header = header_to(destination_epoch);
    header.flags = wants_answer ? wire::kPacketAckWanted : std::uint8_t{0};
    header.association = wire::version_proof_of(key, kOther, header);
    std::array<std::byte, wire::kPacketHeaderSize> bytes;
    write_header(header, bytes.data());
    send(bytes);
  }

  // The next packet of task 0's that tells its version, if there is one.
  std::optional<wire::PacketHeader> answer() {
    IncomingPacket packet;
    while (transport_->receive_burst({&packet, 1}) != 0) {
      wire::PacketHeader header;
      const bool whole = wire::decode({packet.data, packet.length}, header) == wire::DecodeResult::ok;
      transport_->release(1);
      header.destination = 1;
      const bool tells = whole && !header.is_short() &&
                         header.association == wire::version_proof_of(kKey, wire::kPacketVersion, header);
      if (tells) return header;
    }
    return std::nullopt;
  }

 private:
  static wire::PacketHeader header_to(std::uint64_t destination_epoch) {
    wire::PacketHeader header;
    header.instance = 1;
    header.length = static_cast<std::uint16_t>(wire::kPacketHeaderSize);
    header.source = 1;
    header.source_epoch = kOthersEpoch;
    header.destination_epoch = destination_epoch;
    return header;
  }

  static void write_header(const wire::PacketHeader& header, std::byte* out) {
    wire::encode(header, out);
    out[2] = std::byte{kOther};
  }

  void send(std::span<const std::byte> bytes) {
    const ConstBuffer piece{bytes.data(), bytes.size()};
    const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes.size())};
    EXPECT_EQ(transport_->send_burst(0, {&packet, 1}), 1u);
  }

  std::unique_ptr<UdpTransport> transport_;
};

class OtherVersion : public testing::Test {
 protected:
  void pass(Nanoseconds time) {
    for (Nanoseconds end = clock_.now() + time; clock_.now() < end; clock_.advance(kStep)) {
      for (SocketTask* task : {&first_, &second_}) {
        if (task->endpoint != nullptr) task->endpoint->progress();
      }
      if (repeats_) other_.send_data();
      if (asks_under_other_key_) answer_with_questions();
    }
  }

  // As a task with another key takes questions.
  void answer_with_questions() {
    while (const auto question = other_.answer()) {
      ++questions_;
      other_.tell_version(kOtherKey, question->source_epoch, true);
    }
  }

  bool nothing_was_said() const {
    return first_.host.other_versions.empty() && first_.host.faults.empty() && first_.host.warnings.empty() &&
           second_.host.other_versions.empty() && second_.host.faults.empty() && second_.host.warnings.empty();
  }

  const Faults found_out_{{Fault::other_version, 1}};
  const std::vector<std::pair<PeerIndex, unsigned>> named_{{1, kOther}};
  TurnedClock clock_;
  SocketTask first_{kAddresses[0], clock_}, second_{kAddresses[1], clock_};
  OtherLibrary other_{kAddresses[1], *first_.transport};
  bool repeats_ = false, asks_under_other_key_ = false;
  unsigned questions_ = 0;
};

TEST_F(OtherVersion, WhoSendsIsAskedAndIsAnErrorAtOnce) {
  first_.start(0, kKey, other_.transport());
  other_.send_data();
  pass(kStep);
  const auto question = other_.answer();
  ASSERT_TRUE(question);
  EXPECT_EQ(question->source_epoch, kOwnEpoch);
  EXPECT_EQ(question->destination_epoch, kOthersEpoch);
  EXPECT_EQ(question->flags, wire::kPacketAckWanted);
  EXPECT_TRUE(nothing_was_said());
  other_.tell_version(kKey, question->source_epoch);
  pass(kStep);
  EXPECT_EQ(first_.host.faults, found_out_);
  EXPECT_EQ(first_.host.other_versions, named_);
  EXPECT_FALSE(other_.answer()) << "it would go on for ever";
}

TEST_F(OtherVersion, WhoAsksIsAnswered) {
  first_.start(0, kKey, other_.transport());
  other_.tell_version(kKey, kOwnEpoch, true);
  pass(kStep);
  EXPECT_EQ(first_.host.faults, found_out_);
  const auto answer = other_.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->flags, 0);
  EXPECT_EQ(answer->destination_epoch, kOthersEpoch);
}

TEST_F(OtherVersion, WhatIsOfAnotherIncarnationOrKeyIsNotBelieved) {
  first_.start(0, kKey, other_.transport());
  other_.tell_version(kKey, kEarlierEpoch);
  other_.tell_version(kOtherKey, kOwnEpoch);
  other_.tell_version(kKey, 0);
  pass(kSecond);
  EXPECT_TRUE(nothing_was_said());
}

TEST_F(OtherVersion, WhoWasHeardIsNotDoubted) {
  first_.start(0, kKey, *second_.transport);
  second_.start(1, kKey, *first_.transport);
  first_.put_to(1);
  pass(kSecond);
  other_.tell_version(kKey, kOwnEpoch, true);
  repeats_ = true;
  pass(200 * kSecond);
  EXPECT_TRUE(nothing_was_said());
  EXPECT_FALSE(other_.answer());
}

TEST_F(OtherVersion, WhoHasNotTalkedYetIsAskedAndHeard) {
  first_.start(0, kKey, *second_.transport);
  second_.start(1, kKey, *first_.transport);
  repeats_ = true;
  pass(200 * kSecond);
  EXPECT_TRUE(nothing_was_said());
}

TEST_F(OtherVersion, NobodyElsewhereIsAsked) {
  OtherLibrary elsewhere(kElsewhere, *first_.transport);
  first_.start(0, kKey, *second_.transport);
  elsewhere.send_data();
  elsewhere.tell_version(kKey, kOwnEpoch, true);
  pass(10 * kSecond);
  EXPECT_TRUE(nothing_was_said());
  EXPECT_FALSE(elsewhere.answer());
}

TEST_F(OtherVersion, WhoHasAnotherSecretTooIsOneOfThose) {
  first_.start(0, kKey, other_.transport());
  repeats_ = true;
  pass(10 * kSecond);
  EXPECT_EQ(first_.host.warnings, std::vector<PeerIndex>{1});
  pass(EndpointConfig{}.timeout);
  EXPECT_EQ(first_.host.faults, (Faults{{Fault::other_secret, 1}}));
  EXPECT_TRUE(first_.host.other_versions.empty());
}

// Each takes the other's question for a packet that proves nothing.
TEST_F(OtherVersion, WhoHasAnotherSecretTooIsAskedNowAndThen) {
  first_.start(0, kKey, other_.transport());
  asks_under_other_key_ = true;
  other_.send_data();
  pass(10 * kSecond);
  EXPECT_EQ(questions_, 1u) << "its answer would go on for ever";
  repeats_ = true;
  pass(10 * kSecond);
  EXPECT_LE(questions_, 102u) << "however much it sends";
  EXPECT_GE(questions_, 50u) << "one may be lost";
}

TEST_F(OtherVersion, WhereALauncherComparesThemThereAreOnlyStrangers) {
  first_.start(0, kKey, other_.transport(), false);
  other_.send_data();
  other_.tell_version(kKey, kOwnEpoch, true);
  pass(kSecond);
  EXPECT_TRUE(nothing_was_said());
  EXPECT_FALSE(other_.answer());
}

}  // namespace
}  // namespace openlapi
