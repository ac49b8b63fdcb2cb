// One end of a reliable channel as a test drives it: numbered messages go in, and what is delivered is written down.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "dataplane/reliability/packet_filter.h"
#include "dataplane/reliability/reliable_channel.h"

namespace openlapi {

using PacketBytes = std::vector<std::byte>;

inline wire::PacketHeader header_of(const PacketBytes& packet) {
  wire::PacketHeader header;
  EXPECT_EQ(wire::decode(packet, header), wire::DecodeResult::ok);
  return header;
}

struct EndConfig {
  std::uint32_t self = 0;
  Epoch epoch = 1;
  std::uint32_t max_packet = 512;
  std::uint32_t ack_threshold = 30;
  std::optional<Sequence> first_sequence = {};  // the same for both ends
  std::size_t buffers = 2048;
  ChannelEpochs epochs = {};
  bool checksum = false;
  bool tagged = false;
};

class ChannelEnd {
 public:
  static constexpr SipKey kJobKey{0x1122334455667788, 0x99aabbccddeeff00};

  explicit ChannelEnd(const EndConfig& config) : pool_(config.max_packet, config.buffers) {
    context_.job_key = kJobKey;
    context_.self = config.self;
    context_.epoch = config.epoch;
    context_.instance = 1;
    context_.checksum = config.checksum && !config.tagged;
    context_.tagged = config.tagged;
    context_.max_packet = config.max_packet;
    context_.ack_threshold = config.ack_threshold;
    context_.first_sequence = config.first_sequence;
    context_.pool = &pool_;
    channel_ = std::make_unique<ReliableChannel>(context_, 1 - config.self, config.epochs);
  }
  ~ChannelEnd() {
    channel_.reset();
    EXPECT_EQ(pool_.in_use(), 0u) << "a buffer was lost";
  }

  // Queues a message of 8 bytes and `extra` more, whose content follows from its number. False: no room.
  bool send(std::uint64_t number, std::uint32_t extra = 0, bool referenced = false) {
    if (!channel_->has_room()) return false;
    if (referenced) {
      const PacketBytes& data = kept_.emplace_back(message(number, extra));
      std::byte* head = channel_->queue_referenced(8, data.data() + 8, extra, number + 1);
      std::memcpy(head, data.data(), 8);
      return true;
    }
    std::byte* buffer = pool_.take();
    if (buffer == nullptr) return false;
    const PacketBytes data = message(number, extra);
    std::memcpy(buffer + wire::kPacketHeaderSize, data.data(), data.size());
    channel_->queue(buffer, static_cast<std::uint32_t>(data.size()), number + 1);
    return true;
  }

  // Packets that may leave now, at most `most` of them, then an acknowledgement if one is still due.
  std::vector<PacketBytes> transmit(Nanoseconds now, std::size_t most = 64) {
    std::vector<PacketBytes> packets;
    std::array<Transmission, 64> burst;
    const std::size_t count = std::min(channel_->collect(now, burst), most);
    for (const Transmission& packet : std::span(burst).first(count)) {
      PacketBytes& bytes = packets.emplace_back(packet.length());
      std::memcpy(bytes.data(), packet.head, packet.head_length);
      if (packet.data_length != 0) std::memcpy(bytes.data() + packet.head_length, packet.data, packet.data_length);
    }
    channel_->commit(std::span(burst).first(count), now);
    if (channel_->ack_due(now)) packets.push_back(acknowledgement(now));
    return packets;
  }

  // The same as send() and transmit(), for a message that nothing waits in front of.
  PacketBytes pass(std::uint64_t number, Nanoseconds now, std::uint32_t extra = 0) {
    std::byte* const buffer = pool_.take();
    const PacketBytes data = message(number, extra);
    std::memcpy(buffer + wire::kPacketHeaderSize, data.data(), data.size());
    const auto length = static_cast<std::uint32_t>(data.size());
    const std::span<std::byte> bytes = channel_->address(buffer, length, now);
    PacketBytes packet(bytes.begin(), bytes.end());
    channel_->passed(buffer, length, bytes.data(), now);
    return packet;
  }

  PacketBytes acknowledgement(Nanoseconds now) {
    PacketBytes bytes(wire::kLongestAck);
    bytes.resize(channel_->encode_ack(bytes.data(), now));
    channel_->ack_sent();
    return bytes;
  }

  void receive(PacketBytes packet, Nanoseconds now) {
    wire::PacketHeader header;
    if (!admit_packet(context_, packet, header)) return;
    if (header.is_short() && !channel_->is_from_peer(header, packet)) {
      ++context_.counters.ghosts;
      return;
    }
    const std::span<std::byte> payload = std::span(packet).subspan(header.size());
    const ReceiveOutcome outcome = channel_->receive(header, payload, now);
    note_completed();
    if (outcome.peer_restarted) {
      ++restarts_seen;
      times_given_up += outcome.gave_up;
      delivered_before_restart += delivered.size();
    }
    if (outcome.deliver) offer(payload, now);
    if (outcome.early) channel_->hold(header.sequence, payload, now);
    for (std::span<std::byte> held; channel_->next_held(held);) offer(held, now);
  }

  void receive_all(const std::vector<PacketBytes>& packets, Nanoseconds now) {
    for (const PacketBytes& packet : packets) receive(packet, now);
  }

  void note_completed() {
    for (CompletedPacket done; channel_->take_completed(done);) {
      (done.acknowledged ? acknowledged : abandoned).push_back(done.tag - 1);
    }
  }

  ReliableChannel& channel() { return *channel_; }
  ChannelContext& context() { return context_; }
  ReliabilityCounters& counters() { return context_.counters; }
  PacketPool& pool() { return pool_; }

  std::vector<std::uint64_t> delivered;
  std::vector<std::uint64_t> acknowledged;
  std::vector<std::uint64_t> abandoned;
  std::function<bool(std::uint64_t)> refuse;  // by message number; null: takes everything
  unsigned restarts_seen = 0;
  unsigned times_given_up = 0;  // by the same incarnation
  std::size_t delivered_before_restart = 0;

 private:
  static PacketBytes message(std::uint64_t number, std::uint32_t extra) {
    PacketBytes bytes(8 + extra);
    std::memcpy(bytes.data(), &number, 8);
    for (std::uint32_t i = 0; i < extra; ++i) bytes[8 + i] = static_cast<std::byte>(number * 31 + i);
    return bytes;
  }

  void offer(std::span<const std::byte> payload, Nanoseconds now) {
    std::uint64_t number = 0;
    ASSERT_GE(payload.size(), 8u);
    std::memcpy(&number, payload.data(), 8);
    if (refuse && refuse(number)) {
      channel_->refused();
      return;
    }
    const PacketBytes expected = message(number, static_cast<std::uint32_t>(payload.size() - 8));
    EXPECT_EQ(std::memcmp(payload.data(), expected.data(), payload.size()), 0) << "content of message " << number;
    delivered.push_back(number);
    channel_->taken(now);
  }

  PacketPool pool_;
  ChannelContext context_;
  std::deque<PacketBytes> kept_;  // data that packets refer to
  std::unique_ptr<ReliableChannel> channel_;
};

inline std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> result(count);
  for (std::uint64_t i = 0; i < count; ++i) result[i] = first + i;
  return result;
}

}  // namespace openlapi
