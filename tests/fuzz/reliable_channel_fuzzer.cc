// A peer that says whatever it likes, as strangers do and as a broken task of the job could: bytes of the input are
// commands to one channel. It must not crash, not keep more memory than its bounds, report packets in order and once,
// and not notice packets with a wrong association at all.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "dataplane/base/check.h"
#include "dataplane/reliability/packet_filter.h"
#include "dataplane/reliability/reliable_channel.h"
#include "dataplane/wire/association.h"
#include "tests/fuzz/fuzz_input.h"

namespace openlapi {
namespace {

constexpr SipKey kJobKey{0x6f70656e6c617069, 1};
constexpr std::uint32_t kMaxPacket = 256;
constexpr std::size_t kBuffers = 512;
constexpr std::size_t kMostMemory = 256 * 1024;

class Victim {
 public:
  explicit Victim(PacketPool& pool) : pool_(pool) {
    context_.job_key = kJobKey;
    context_.epoch = 2;
    context_.max_packet = kMaxPacket;
    context_.first_sequence = UINT32_MAX - 5;
    context_.pool = &pool_;
  }

  void run(FuzzInput input) {
    {
      ReliableChannel channel(context_, 1);
      while (!input.empty()) {
        command(channel, input);
        OPENLAPI_CHECK(channel.memory_bytes() <= kMostMemory && channel.packets_out() <= tuning::kMostPacketsInFlight);
      }
    }
    OPENLAPI_CHECK(pool_.in_use() == 0);
  }

 private:
  void command(ReliableChannel& channel, FuzzInput& input) {
    const auto choice = input.take();
    switch (choice % 8) {
      case 0:
        return receive(channel, input.take_bytes(kMaxPacket + 8));
      case 1:
        return receive(channel, forged(input));
      case 2:
        return send(channel, choice / 8 + 1);
      case 3:
        return transmit(channel);
      case 4:
        now_ += Nanoseconds{1} << (choice / 8);
        static_cast<void>(channel.run_timers(now_));
        return;
      case 5:
        return acknowledge(channel);
      case 6:
        refusals_ = choice / 8;
        return;
      default:
        if (choice / 8 == 0) channel.abandon();
        return take_completed(channel);
    }
  }

  // A packet that passes the filter, with fields near those that matter.
  std::vector<std::byte> forged(FuzzInput& input) {
    wire::PacketHeader header;
    header.flags = input.take() & (wire::kPacketShort | (wire::kLongHeaderFlags & ~wire::kPacketHasChecksum));
    header.source = 1;
    const auto epochs = input.take();
    header.source_epoch = 1 + epochs % 4;
    header.destination_epoch = epochs / 4 % 8 == 0 ? epochs / 32u : context_.epoch;
    header.sequence = *context_.first_sequence + input.take<std::uint16_t>();
    header.cumulative_ack = *context_.first_sequence + input.take<std::uint16_t>();
    header.selective_ack = input.take<std::uint64_t>();
    if (header.selective_ack % 7 == 1) header.cumulative_ack += Sequence{1} << 31;  // on the other side of all numbers
    header.ahead = input.take<std::uint16_t>();
    header.ack_delay = input.take<std::uint16_t>();
    header.instance = context_.instance;
    header.destination = context_.self;
    header.association = wire::association_of(kJobKey, header);
    std::vector<std::byte> packet(header.size() + ((header.flags & wire::kPacketHasData) != 0 ? 16 : 0));
    header.length = static_cast<std::uint16_t>(packet.size());
    wire::encode(header, packet.data());
    return packet;
  }

  void receive(ReliableChannel& channel, std::vector<std::byte> packet) {
    wire::PacketHeader header;
    const Nanoseconds deadline = channel.next_deadline();
    const std::size_t in_use = pool_.in_use();
    const std::uint64_t received = context_.counters.packets_received;
    if (!admit_packet(context_, packet, header)) {
      OPENLAPI_CHECK(received == context_.counters.packets_received);
      OPENLAPI_CHECK(channel.next_deadline() == deadline && pool_.in_use() == in_use);
      return;
    }
    OPENLAPI_CHECK(header.is_short() || wire::association_of(kJobKey, header) == header.association);
    const std::span<const std::byte> payload = std::span(packet).subspan(header.size());
    const ReceiveOutcome outcome = channel.receive(header, payload, now_);
    take_completed(channel);
    if (outcome.deliver) answer(channel);
    if (outcome.early) take_early(channel, header.sequence, payload);
    for (std::span<std::byte> held; channel.next_held(held);) answer(channel);
  }

  // Every second one out of turn.
  void take_early(ReliableChannel& channel, Sequence sequence, std::span<const std::byte> payload) {
    if (sequence % 2 == 0) return channel.hold(sequence, payload, now_);
    channel.place(sequence, now_);
  }

  void answer(ReliableChannel& channel) {
    if (refusals_ == 0) return channel.taken(now_);
    --refusals_;
    channel.refused();
  }

  void send(ReliableChannel& channel, unsigned count) {
    if (channel.may_pass()) pass(channel);
    for (; count > 0 && channel.has_room(); --count) {
      if (count % 2 == 0) {
        std::memset(channel.queue_referenced(24, kUserData.data(), 100, ++tag_), 1, 24);
        continue;
      }
      std::byte* buffer = pool_.take();
      if (buffer == nullptr) return;
      std::memset(buffer, 1, kMaxPacket);
      channel.queue(buffer, 100, ++tag_);
    }
  }

  void pass(ReliableChannel& channel) {
    std::byte* const buffer = pool_.take();
    if (buffer == nullptr) return;
    std::memset(buffer, 1, kMaxPacket);
    const std::span<std::byte> packet = channel.address(buffer, 100, now_);
    OPENLAPI_CHECK(packet.data() + packet.size() == buffer + wire::kPacketHeaderSize + 100);
    channel.passed(buffer, 100, packet.data(), now_);
  }

  void transmit(ReliableChannel& channel) {
    std::array<Transmission, 16> burst;
    const std::size_t count = channel.collect(now_, burst);
    for (const Transmission& packet : std::span(burst).first(count)) OPENLAPI_CHECK(packet.length() <= kMaxPacket);
    channel.commit(std::span(burst).first(count - count / 4), now_);
  }

  void acknowledge(ReliableChannel& channel) {
    if (!channel.ack_due(now_)) return;
    std::array<std::byte, wire::kLongestAck> bytes;
    const std::size_t length = channel.encode_ack(bytes.data(), now_);
    channel.ack_sent();
    wire::PacketHeader header;
    OPENLAPI_CHECK(wire::decode(std::span(bytes).first(length), header) == wire::DecodeResult::ok);
  }

  void take_completed(ReliableChannel& channel) {
    for (CompletedPacket done; channel.take_completed(done);) OPENLAPI_CHECK(done.tag == ++completed_);
  }

  static constexpr std::array<std::byte, 100> kUserData{};

  PacketPool& pool_;
  ChannelContext context_;
  Nanoseconds now_ = kSecond;
  unsigned refusals_ = 0;
  std::uint64_t tag_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace
}  // namespace openlapi

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static openlapi::PacketPool pool(openlapi::kMaxPacket, openlapi::kBuffers);
  openlapi::Victim(pool).run({data, size});
  return 0;
}
