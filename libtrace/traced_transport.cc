// Levels 4 and 5: packets that leave and arrive.
#include <algorithm>
#include <array>
#include <cstdio>

#include "api/wiring/trace.h"
#include "libtrace/trace_log.h"

namespace openlapi {

namespace {

constexpr std::size_t kShownBytes = 64;

// The first bytes of a packet in hexadecimal, when the level asks for them.
class ShownBytes {
 public:
  void add(const void* data, std::size_t length) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < length && shown_ < kShownBytes; ++i, ++shown_) {
      std::snprintf(text_.data() + 2 * shown_, 3, "%02x", bytes[i]);
    }
  }
  const char* text() const { return text_.data(); }

 private:
  std::array<char, 2 * kShownBytes + 1> text_{};
  std::size_t shown_ = 0;
};

class TracedTransport final : public Transport, private PackedDatagrams {
 public:
  explicit TracedTransport(std::unique_ptr<Transport> inner)
      : inner_(std::move(inner)), datagrams_(inner_->capabilities().packed_datagrams) {}

  std::string_view name() const override { return inner_->name(); }
  const TransportLimits& limits() const override { return inner_->limits(); }
  PeerAddress local_address() const override { return inner_->local_address(); }
  TransportCapabilities capabilities() override {
    TransportCapabilities all = inner_->capabilities();
    if (datagrams_ != nullptr) all.packed_datagrams = this;
    return all;
  }
  TransportCounters counters() const override { return inner_->counters(); }
  void release(std::size_t count) override { inner_->release(count); }

  bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) override {
    const bool added = inner_->add_peer(peer, address, error);
    trace("%s peer %u %s%s", text_of_name(), peer, added ? "added" : "refused: ", added ? "" : error.c_str());
    return added;
  }

  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override {
    const std::size_t taken = inner_->send_burst(peer, packets);
    for (std::size_t i = 0; i < taken; ++i) {
      ShownBytes bytes;
      if (traces(TraceLevel::bytes)) {
        for (const ConstBuffer& piece : packets[i].pieces) bytes.add(piece.data, piece.length);
      }
      trace("%s packet to %u, %u bytes %s", text_of_name(), peer, packets[i].length, bytes.text());
    }
    if (taken != packets.size()) {
      trace("%s full towards %u, %zu packets wait", text_of_name(), peer, packets.size() - taken);
    }
    return taken;
  }

  std::size_t receive_burst(std::span<IncomingPacket> packets) override {
    return show_arrived(packets.first(inner_->receive_burst(packets)));
  }

 private:
  std::size_t receive_rest(std::span<IncomingPacket> packets) override {
    return show_arrived(packets.first(datagrams_->receive_rest(packets)));
  }
  void skip_datagram() override { datagrams_->skip_datagram(); }

  std::size_t show_arrived(std::span<const IncomingPacket> packets) {
    for (const IncomingPacket& packet : packets) {
      ShownBytes bytes;
      if (traces(TraceLevel::bytes)) bytes.add(packet.data, packet.length);
      trace("%s packet arrived, %u bytes %s", text_of_name(), packet.length, bytes.text());
    }
    return packets.size();
  }

  const char* text_of_name() const { return inner_->name().data(); }  // names are literals

  std::unique_ptr<Transport> inner_;
  PackedDatagrams* const datagrams_;  // null: it has none
};

}  // namespace

std::unique_ptr<Transport> traced(std::unique_ptr<Transport> transport) {
  if (!traces(TraceLevel::packets)) return transport;
  return std::make_unique<TracedTransport>(std::move(transport));
}

}  // namespace openlapi
