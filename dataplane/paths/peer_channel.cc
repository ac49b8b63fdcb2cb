#include "dataplane/paths/peer_channel.h"

#include <array>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "dataplane/paths/channel_set.h"
#include "dataplane/reliability/fair_share.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/operation_header.h"
#include "dataplane/wire/version_packet.h"

namespace openlapi {

namespace {

// Transmissions as a transport takes them. Only what leaves is ever written: most bursts are one packet.
class OutgoingBurst {
 public:
  explicit OutgoingBurst(std::span<const Transmission> transmissions) : count_(transmissions.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
      const Transmission& from = transmissions[i];
      pieces_[i] = {{{from.head, from.head_length}, {from.data, from.data_length}}};
      const std::span<const ConstBuffer> used(pieces_[i].data(), from.data_length != 0 ? 2u : 1u);
      std::construct_at(packet(i), OutgoingPacket{used, from.length()});
    }
  }
  std::span<const OutgoingPacket> packets() { return {packet(0), count_}; }

 private:
  OutgoingPacket* packet(std::size_t i) { return reinterpret_cast<OutgoingPacket*>(packets_.data()) + i; }

  static_assert(std::is_trivially_destructible_v<OutgoingPacket>);
  const std::size_t count_;
  std::array<std::array<ConstBuffer, 2>, tuning::kSendBurst> pieces_;
  alignas(OutgoingPacket) std::array<std::byte, tuning::kSendBurst * sizeof(OutgoingPacket)> packets_;
};

}  // namespace

PeerChannel::PeerChannel(ChannelSet& set, Transport& transport, const TransportCapabilities& capabilities,
                         ChannelContext& context, PeerIndex peer, ChannelEpochs epochs)
    : set_(set),
      transport_(transport),
      context_(context),
      peer_(peer),
      reliable_(context, peer, 0, epochs, max_packet_to(transport, peer) & ~7u),
      capabilities_(capabilities),
      origin_(ask_origin()) {}

PeerChannel::~PeerChannel() {
  set_.forget(*this);
  drop_open_packet();
}

void PeerChannel::drop_open_packet() {
  if (open_ != nullptr) context_.pool->give_back(open_);
  open_ = nullptr;
}

// The next three are inline in the two ways of sending a record: every message passes here.

// Null: the peer has its share of the buffers, or there are none at all.
[[gnu::always_inline]] inline std::byte* PeerChannel::take_buffer() {
  PacketPool& pool = *context_.pool;
  const std::uint32_t held = reliable_.buffers_held();
  if (!may_take(held, pool.in_use(), pool.capacity())) return nullptr;
  return held == 0 ? pool.take_first() : pool.take();
}

[[gnu::always_inline]] inline std::byte* PeerChannel::place_for(std::uint32_t length) {
  if (open_ != nullptr && open_length_ + length > reliable_.max_payload() && !close_open_packet()) return nullptr;
  if (open_ == nullptr) {
    open_ = take_buffer();
    if (open_ == nullptr) return nullptr;
    open_length_ = 0;
  }
  return open_ + wire::kPacketHeaderSize + open_length_;
}

[[gnu::always_inline]] inline void PeerChannel::written(std::uint32_t length) {
  // The padding up to the next record is sent too when another one follows: it must not be what lay there before.
  const std::uint32_t end = open_length_ + length;
  open_length_ = static_cast<std::uint32_t>(wire::align_record(end));
  // Seven bytes at most, and mostly none: no call.
  for (std::uint32_t at = end; at < open_length_; ++at) open_[wire::kPacketHeaderSize + at] = std::byte{0};
  set_.activate(*this);
  if (set_.is_receiving() || reliable_.packets_out() >= tuning::kPacketsBeforePacking) return;
  const Nanoseconds now = set_.now();
  if (reliable_.may_pass()) {
    send_open_packet(now);
  } else {
    transmit(now);
  }
}

bool PeerChannel::send(std::span<const ConstBuffer> pieces, std::uint32_t length) {
  std::byte* out = place_for(length);
  if (out == nullptr) return false;
  copy_pieces(out, pieces);
  written(length);
  return true;
}

std::byte* PeerChannel::begin_record(std::uint32_t length) { return place_for(length); }

void PeerChannel::end_record(std::uint32_t length) { written(length); }

void PeerChannel::abandon_record() {
  if (open_length_ == 0) drop_open_packet();
}

bool PeerChannel::send_referenced(std::span<const ConstBuffer> head, ConstBuffer data, std::uint32_t tag,
                                  bool may_change) {
  if (open_ != nullptr && !close_open_packet()) return false;
  if (!reliable_.has_room()) return false;
  std::uint32_t head_length = 0;
  for (const ConstBuffer& piece : head) head_length += static_cast<std::uint32_t>(piece.length);

  const auto data_length = static_cast<std::uint32_t>(data.length);
  std::byte* out;
  if (head_length <= tuning::kSmallHeadBytes) {
    out = reliable_.queue_referenced(head_length, data.data, data_length, tag, may_change);
  } else {
    std::byte* buffer = take_buffer();
    if (buffer == nullptr) return false;
    reliable_.queue_with_data(buffer, head_length, data.data, data_length, tag, may_change);
    out = buffer + wire::kPacketHeaderSize;
  }
  copy_pieces(out, head);
  set_.activate(*this);
  return true;
}

std::uint64_t PeerChannel::ask_origin() const {
  return capabilities_.packet_origins != nullptr ? capabilities_.packet_origins->origin_of(peer_) : 0;
}

bool PeerChannel::comes_from_new(std::uint64_t origin) {
  origin_ = ask_origin();
  return origin == origin_;
}

void PeerChannel::probe() {
  if (!all_acknowledged() || !reliable_.has_room()) return;
  std::byte* buffer = take_buffer();
  if (buffer == nullptr) return;
  reliable_.queue(buffer, 0, 0);
  set_.activate(*this);
}

// False: the window is closed.
bool PeerChannel::close_open_packet() {
  if (!reliable_.has_room()) return false;
  reliable_.queue(open_, open_length_, 0);
  open_ = nullptr;
  return true;
}

unsigned PeerChannel::transmit(Nanoseconds now) {
  unsigned sent = 0;
  if (open_ != nullptr) {
    if (reliable_.may_pass()) {
      sent += send_open_packet(now);
    } else {
      close_open_packet();
    }
  }
  if (reliable_.has_transmissions()) sent += send_queued(now);
  if (reliable_.ack_due(now) && send_acknowledgement(now)) ++sent;
  return sent;
}

// What most sends come to: a packet that nothing waits in front of. Answers how many have left: 0 when the transport
// is full, and then it waits like any other.
unsigned PeerChannel::send_open_packet(Nanoseconds now) {
  const std::span<std::byte> bytes = reliable_.address(open_, open_length_, now);
  const ConstBuffer piece{bytes.data(), bytes.size()};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(piece.length)};
  const bool taken = transport_.send_burst(peer_, {&packet, 1}) != 0;
  std::byte* const buffer = std::exchange(open_, nullptr);
  if (taken) {
    reliable_.passed(buffer, open_length_, bytes.data(), now);
  } else {
    reliable_.queue(buffer, open_length_, 0);
  }
  return taken ? 1 : 0;
}

unsigned PeerChannel::send_queued(Nanoseconds now) {
  unsigned sent = 0;
  do {
    std::array<Transmission, tuning::kSendBurst> burst;
    const std::size_t count = reliable_.collect(now, burst);
    const std::size_t taken = transport_.send_burst(peer_, OutgoingBurst({burst.data(), count}).packets());
    reliable_.commit(std::span(burst.data(), taken), now);
    sent += static_cast<unsigned>(taken);
    if (taken != count || count == 0) break;
  } while (reliable_.has_transmissions());
  return sent;
}

void PeerChannel::acknowledge_now(Nanoseconds now) {
  if (reliable_.ack_owed()) send_acknowledgement(now);
}

bool PeerChannel::send_acknowledgement(Nanoseconds now) {
  alignas(8) std::array<std::byte, wire::kPacketHeaderSize> bytes;
  reliable_.encode_ack(bytes.data(), now);
  const ConstBuffer piece{bytes.data(), bytes.size()};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes.size())};
  if (transport_.send_burst(peer_, {&packet, 1}) == 0) return false;
  reliable_.ack_sent();
  return true;
}

// Where there is no room nothing is kept: the peer's next packet brings it about again.
void PeerChannel::tell_version(Epoch peer_epoch, bool wants_answer) {
  wire::PacketHeader header;
  header.instance = context_.instance;
  header.source = context_.self;
  header.destination = peer_;
  header.source_epoch = context_.epoch;
  header.destination_epoch = peer_epoch;
  alignas(8) std::array<std::byte, wire::kPacketHeaderSize> bytes;
  wire::encode_version_packet(context_.job_key, header, wants_answer, bytes.data());
  const ConstBuffer piece{bytes.data(), bytes.size()};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes.size())};
  context_.counters.packets_sent += transport_.send_burst(peer_, {&packet, 1});
}

void PeerChannel::ask_version(Epoch peer_epoch) {
  const Nanoseconds now = set_.now();
  if (asked_version_ != 0 && now - asked_version_ < tuning::kVersionQuestionPause) return;
  asked_version_ = now;
  tell_version(peer_epoch, true);
}

void PeerChannel::close() {
  reset();
  set_.forget(*this);
  closed_ = true;
}

void PeerChannel::begin_anew() {
  reset();
  reliable_.begin_anew();
}

void PeerChannel::reset() {
  drop_open_packet();
  reliable_.abandon();
  CompletedPacket forgotten;
  while (reliable_.take_completed(forgotten)) {
  }
}

}  // namespace openlapi
