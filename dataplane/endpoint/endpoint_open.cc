// Construction, and first contact with a peer: the only places that allocate state per peer.
#include <algorithm>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/check.h"
#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/tuning.h"

namespace openlapi {

EndpointCore::EndpointCore(const EndpointConfig& config, std::span<Transport* const> transports, Clock& clock,
                           RouteResolver& resolver, HandlerHost& host)
    : config_(config),
      clock_(clock),
      resolver_(resolver),
      host_(host),
      peers_(config.tasks),
      requests_(config.before_first()),
      collective_(config.self, config.tasks, config.before_first()),
      next_message_(config.first_number),
      next_pull_(std::max(static_cast<std::uint32_t>(config.first_number), 1u)),
      next_fence_(config.first_number) {
  std::vector<Transport*> unreliable;
  for (Transport* transport : transports) {
    const TransportCapabilities has = transport->capabilities();
    if (transport->limits().reliable) {
      OPENLAPI_CHECK(has.peer_liveness != nullptr && has.reliable_delivery != nullptr && has.peer_eras != nullptr);
      direct_transports_.push_back({transport, has});
    } else {
      unreliable.push_back(transport);
    }
    if (has.bulk_memory != nullptr) bulk_memories_.push_back(has.bulk_memory);
  }
  if (!unreliable.empty()) channels_ = std::make_unique<ChannelSet>(config_, unreliable, clock_, *this);
}

Peer* EndpointCore::first_contact(PeerIndex index) {
  peers_[index] = make_peer(index);
  Peer* const peer = peers_[index].get();
  if (peer == nullptr) return nullptr;
  contacted_.push_back(peer);
  if (peer->is_direct() && former_.contains(index)) tell_beginning(*peer);
  return peer;
}

std::unique_ptr<Peer> EndpointCore::make_peer(PeerIndex index) {
  const auto former = former_.find(index);
  if (index == config_.self) return nullptr;
  if (former != former_.end() && (former->second.purged || former->second.dropped)) return nullptr;
  const CancellationOff off;
  const Route route = resolver_.resolve(index);
  if (route.count == 0) return nullptr;

  auto peer = std::make_unique<Peer>();
  peer->index = index;
  peer->life = config_.before_first();
  ChannelEpochs epochs{0, route.epoch};
  if (former != former_.end()) {
    peer->life = former->second.life;
    epochs = {former->second.epoch, 0};  // the peer may have begun anew as well: its present epoch is not the published
  }
  Transport& best = *route.paths[0];
  if (best.limits().reliable) {
    peer->direct = &best;
    const TransportCapabilities has = best.capabilities();
    peer->liveness = has.peer_liveness;
    peer->delivery = has.reliable_delivery;
    peer->eras = has.peer_eras;
    peer->remote_memory = has.remote_memory;
    peer->max_record = max_packet_to(best, index) & ~7u;
    peer->deaf = former == former_.end() && has.peer_eras->era_sent_for(index) != 0;
  } else {
    peer->channel = channels_->make_path(index, best, epochs);
    peer->max_record = peer->channel->max_record();
  }
  for (std::size_t i = 0; i < route.count && peer->bulk_memory == nullptr; ++i) {
    peer->bulk_memory = route.paths[i]->capabilities().bulk_memory;
  }
  OPENLAPI_CHECK(peer->max_record >= tuning::kSmallestRecord);
  return peer;
}

std::uint32_t EndpointCore::max_user_header() const {
  // The whole header travels in the first record, beside the longest fixed part.
  const std::uint32_t room = max_packet_payload() - static_cast<std::uint32_t>(sizeof(wire::LongExtension));
  return std::min(room, tuning::kMaxUserHeader) & ~7u;
}

std::uint32_t EndpointCore::max_packet_payload() const {
  std::uint32_t smallest = UINT32_MAX;
  for (const DirectTransport& direct : direct_transports_) {
    smallest = std::min(smallest, direct.transport->limits().max_packet & ~7u);
  }
  if (channels_ != nullptr) smallest = std::min(smallest, channels_->max_record());
  if (smallest == UINT32_MAX) return config_.copy_limit;  // a task alone: everything is a local copy
  return smallest - static_cast<std::uint32_t>(sizeof(wire::RecordHeader) + sizeof(wire::ActiveMessageBody));
}

std::uint32_t EndpointCore::max_packets_out() const {
  return channels_ != nullptr ? channels_->max_packets_out() : tuning::kDirectPacketsOut;
}

void EndpointCore::set_ack_threshold(std::uint32_t packets) {
  if (channels_ != nullptr) channels_->set_ack_threshold(packets);
}

PeerLoad EndpointCore::load(PeerIndex index) const {
  PeerLoad load;
  load.early_rounds = collective_.early_rounds_of(index);
  const Peer* const peer = peers_[index].get();
  if (peer == nullptr) return load;
  load.requests = peer->requests_waiting;
  load.owed_counters = peer->owed.size();
  load.copies = peer->copies_waiting;
  load.kept_bytes = peer->outgoing.kept_bytes + peer->list_bytes;
  load.backlog = peer->backlog.size();
  load.things = peer->kept.things;
  load.bytes = peer->kept.bytes;
  return load;
}

MessageStatistics EndpointCore::statistics(StatisticsPath path) const {
  MessageStatistics result = statistics_[static_cast<std::size_t>(path)];
  if (path == StatisticsPath::network) {
    if (channels_ != nullptr) channels_->add_statistics(result);
    result.ghost_packets += network_ghosts_;
  }
  return result;
}

}  // namespace openlapi
