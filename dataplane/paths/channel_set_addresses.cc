// What peers are told of addresses here that have changed, and what they tell of theirs.
#include <array>

#include "dataplane/paths/channel_set.h"
#include "dataplane/paths/path_packet.h"

namespace openlapi {

void ChannelSet::look_at_own_addresses() {
  own_.look([this](const Transport& transport, const ChangedAddress& change) {
    listener_.channel_own_address_changed(transport, change);
  });
}

// What leaves from the new address is dropped until the peer knows it: the path does not serve before.
void ChannelSet::tell_addresses(PeerChannel& channel, const Transport& changed) {
  if (channel.is_closed() || !channel.reaches_over(changed)) return;
  exchange_with(channel).tell(now());
  for (unsigned number = 0; channel.several_ != nullptr && number != channel.reliable_.paths(); ++number) {
    if (channel.several_->paths[number].transport == &changed) channel.doubt(number);
  }
  activate(channel);
}

// For a peer that knows what was published, or has forgotten what it was told.
void ChannelSet::tell_addresses_anew(PeerChannel& channel) {
  if (channel.addresses_ != nullptr) channel.addresses_->begin_anew();
  if (own_.changes() == 0) return;
  exchange_with(channel).tell(now());
  activate(channel);
}

AddressExchange& ChannelSet::exchange_with(PeerChannel& channel) {
  if (channel.addresses_ == nullptr) channel.addresses_ = std::make_unique<AddressExchange>();
  return *channel.addresses_;
}

void ChannelSet::take_addresses(PeerChannel& channel, const ReceiveOutcome& outcome, std::span<const std::byte> payload,
                                Nanoseconds now) {
  if (outcome.peer_restarted) tell_addresses_anew(channel);
  if (!outcome.has_news) return;
  AddressNews news;
  if (!news.decode(payload)) {
    ++context_.counters.malformed;
    return;
  }
  AddressExchange& exchange = exchange_with(channel);
  const bool waited = exchange.tells();
  const bool is_new = exchange.take(news, own_.changes(), now);
  // What left from the new addresses was dropped till now, so that probes may be far apart.
  if (waited && !exchange.tells() && channel.several_ != nullptr) channel.several_->watch.probe_silent(now);
  if (!is_new) return;
  bool any = false;
  for (const ChangedAddress& change : news.addresses) any |= listener_.channel_peer_moved(channel.peer_, change);
  if (!any) return;
  // What is on its way to where it was is lost, and silent paths may serve again.
  for (unsigned number = 0; number != channel.reliable_.paths(); ++number) channel.reliable_.doubt_path(number, now);
  if (channel.several_ != nullptr) channel.several_->peer_moved(now);
}

// To each path's home, and to where it leads now: over one of them it gets through, if over any.
unsigned ChannelSet::send_addresses(PeerChannel& channel, Nanoseconds now) {
  AddressExchange& exchange = *channel.addresses_;
  AddressNews news{.changes = own_.changes(), .taken = exchange.taken()};
  if (exchange.tells()) news.addresses = own_.changed();
  alignas(8) std::array<std::byte, wire::kPacketHeaderSize + AddressNews::kMostBytes> bytes;
  const std::size_t length = news.encode(std::span(bytes).last<AddressNews::kMostBytes>());
  const std::span<std::byte> packet = std::span(bytes).first(wire::kPacketHeaderSize + length);
  unsigned sent = 0;
  for (unsigned number = 0; number != channel.reliable_.paths(); ++number) {
    const PeerPath& path = channel.path(number);
    sent += send_for_path(channel.reliable_, path, packet, wire::kPacketAddressNews, now);
    if (channel.several_ == nullptr || !channel.several_->watch.is_elsewhere(number)) continue;
    const PeerPath& home = channel.several_->ends[number].at(PathEnds::kHome);
    sent += send_for_path(channel.reliable_, home, packet, wire::kPacketAddressNews, now);
  }
  exchange.sent(now);
  return sent;
}

}  // namespace openlapi
