// One end of a reliable channel for unit tests: a ChannelSet over two MemoryTransports with the channel to one other
// task, over the first of them. It keeps what it is told.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/epoch.h"
#include "dataplane/paths/channel_set.h"
#include "dataplane/wire/association.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {

class ChannelSide final : public ChannelListener {
 public:
  static constexpr Epoch kEpoch = Epoch{1} << kBeginningBits;  // of both
  static constexpr std::uint32_t kMaxPacket = 1024;
  using Bytes = std::vector<unsigned char>;

  static EndpointConfig config_of(PeerIndex self, EndpointConfig config) {
    config.self = self;
    config.tasks = 2;
    config.epoch = kEpoch;
    return config;
  }

  ChannelSide(PeerIndex self, const EndpointConfig& common, Clock& clock, bool checked = true)
      : config(config_of(self, common)),
        transport(self, kMaxPacket),
        other_transport(self, kMaxPacket / 2),
        set(config, prepare(checked), clock, *this),
        clock_(clock) {}
  // Before anything is sent.
  static void connect(ChannelSide& a, ChannelSide& b) {
    MemoryTransport::connect(a.transport, b.transport);
    for (ChannelSide* side : {&a, &b}) {
      side->channel = side->set.make_channel(1 - side->config.self, side->only(), {0, kEpoch});
    }
  }
  // The same with two paths.
  static void connect_over_both(ChannelSide& a, ChannelSide& b) {
    MemoryTransport::connect(a.transport, b.transport);
    MemoryTransport::connect(a.other_transport, b.other_transport);
    for (ChannelSide* side : {&a, &b}) {
      side->channel = side->set.make_channel(1 - side->config.self, side->all_, {0, kEpoch});
    }
  }

  // The transports of a channel with one path.
  std::span<Transport* const> only() { return std::span(all_).first(1); }

  bool send(const Bytes& record) {
    const ConstBuffer piece{record.data(), record.size()};
    return channel->send({&piece, 1}, static_cast<std::uint32_t>(record.size()));
  }
  unsigned transmit() { return set.transmit(clock_.now()); }

  MessageStatistics statistics() const {
    MessageStatistics sums;
    set.add_statistics(sums);
    return sums;
  }

  // A packet as the task `header` names would send it as its first; its association is made with `key`.
  std::vector<std::byte> first_packet(wire::PacketHeader header, const SipKey& key, std::size_t payload = 8) const {
    header.destination = config.self;
    header.association = wire::association_of(key, header);
    header.sequence = wire::first_sequence_of(key, header);
    std::vector<std::byte> packet(header.size() + payload);
    if (header.length == 0) header.length = static_cast<std::uint16_t>(packet.size());
    wire::encode(header, packet.data());
    return packet;
  }
  wire::PacketHeader header_of_peer() const {
    wire::PacketHeader header;
    header.flags = wire::kPacketHasData;
    header.instance = 1;
    header.source = 1 - config.self;
    header.source_epoch = header.destination_epoch = kEpoch;
    return header;
  }

  const EndpointConfig config;
  MemoryTransport transport, other_transport;
  const std::array<Transport*, 2> all_{&transport, &other_transport};
  ChannelSet set;
  std::unique_ptr<PeerChannel> channel;

  // What it was told, in order.
  std::vector<Bytes> delivered;
  std::vector<std::uint64_t> acknowledged;
  std::vector<PeerIndex> timed_out;
  std::vector<bool> other_keys;  // `for_long`
  std::vector<unsigned> other_versions;
  std::vector<PathChange> path_changes;
  std::vector<PeerIndex> asked_for;
  std::function<void()> on_delivery = [] {};

 private:
  std::span<Transport* const> prepare(bool checked) {
    transport.make_lossy(0, 1);
    if (!checked) transport.make_unchecked();
    return all_;
  }

  PeerChannel* channel_to(PeerIndex source, bool) override {
    asked_for.push_back(source);
    return channel.get();
  }
  void channel_delivered(PeerIndex, std::span<std::byte> payload) override {
    const auto* begin = reinterpret_cast<const unsigned char*>(payload.data());
    delivered.emplace_back(begin, begin + payload.size());
    on_delivery();
  }
  void channel_acknowledged(PeerIndex, std::uint64_t tag) override { acknowledged.push_back(tag); }
  void channel_restarted(PeerIndex, bool, bool) override {}
  void channel_timed_out(PeerIndex peer) override { timed_out.push_back(peer); }
  void channel_has_other_key(PeerIndex, bool for_long) override { other_keys.push_back(for_long); }
  void channel_path_changed(PeerIndex, const PathChange& change) override { path_changes.push_back(change); }
  void channel_has_other_version(PeerIndex, std::uint8_t version) override { other_versions.push_back(version); }

  Clock& clock_;
};

}  // namespace openlapi
