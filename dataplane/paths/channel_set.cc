#include "dataplane/paths/channel_set.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dataplane/base/check.h"
#include "dataplane/base/epoch.h"
#include "dataplane/reliability/packet_filter.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/version_packet.h"

namespace openlapi {

namespace {

std::uint32_t packet_bytes(const Transport& transport) {
  return std::min<std::uint32_t>(transport.limits().max_packet, wire::kLongestPacket) & ~7u;
}

// Of the longest one.
std::uint32_t packet_bytes(std::span<Transport* const> transports) {
  std::uint32_t longest = 0;
  for (const Transport* transport : transports) longest = std::max(longest, packet_bytes(*transport));
  return longest;
}

bool is_overdue(const ReliableChannel& channel, Nanoseconds timeout, Nanoseconds now) {
  const Nanoseconds since = channel.waiting_since();
  return since <= now && now - since >= timeout;
}

}  // namespace

ChannelSet::Instance::Instance(Transport& transport) : transport(transport), capabilities(transport.capabilities()) {
  headers.reserve(tuning::kMostPacketsOfDatagram);
  rest = std::make_unique_for_overwrite<IncomingPacket[]>(tuning::kMostPacketsOfDatagram);
}

ChannelSet::ChannelSet(const EndpointConfig& config, std::span<Transport* const> transports, Clock& clock,
                       ChannelListener& listener)
    : config_(config),
      clock_(clock),
      listener_(listener),
      pool_(packet_bytes(transports), PacketPool::buffers_for(packet_bytes(transports))) {
  context_.job_key = config.job_key;
  context_.self = config.self;
  context_.epoch = config.epoch;
  context_.instance = static_cast<std::uint8_t>(config.instance);
  context_.tagged = config.packet_tags;
  context_.max_packet = packet_bytes(transports);
  context_.ack_threshold = config.ack_threshold;
  context_.first_sequence = config.first_packet;
  context_.first_in_window = config.before_first();
  context_.pool = &pool_;
  for (Transport* transport : transports) {
    if (!transport->limits().checked && !config.packet_tags) context_.checksum = true;
    instances_.push_back(std::make_unique<Instance>(*transport));
    LinkStatus* const link = instances_.back()->capabilities.link_status;
    if (link != nullptr) notices_.add(*link);
    own_.add(*transport);
  }
}

ChannelSet::~ChannelSet() = default;

PeerPath ChannelSet::way_over(Transport& transport, PeerIndex end) const {
  const auto instance =
      std::ranges::find_if(instances_, [&](const auto& candidate) { return &candidate->transport == &transport; });
  OPENLAPI_CHECK(instance != instances_.end());
  PeerPath way{.transport = &transport, .capabilities = &(*instance)->capabilities, .end = end};
  way.ask_origin();
  return way;
}

std::unique_ptr<PeerChannel> ChannelSet::make_channel(PeerIndex peer, std::span<Transport* const> transports,
                                                      ChannelEpochs epochs, std::span<const OtherEnd> other_ends) {
  std::vector<PathEnds> paths;
  for (Transport* transport : transports) paths.emplace_back(way_over(*transport, peer));
  for (const OtherEnd& other : other_ends) {
    const auto path = std::ranges::find(transports, other.path);
    if (path == transports.end()) continue;
    const PeerPath end = way_over(other.over != nullptr ? *other.over : *other.path, other.number);
    // Only a transport that tells where packets come from can tell the ends apart.
    if (end.capabilities->packet_origins == nullptr) continue;
    paths[static_cast<std::size_t>(path - transports.begin())].add(end);
  }
  auto channel = std::make_unique<PeerChannel>(*this, context_, peer, std::move(paths), epochs);
  tell_addresses_anew(*channel);
  return channel;
}

inline unsigned ChannelSet::receive_from(Instance& instance) {
  std::array<IncomingPacket, tuning::kReceiveBurst> packets;
  std::size_t count = instance.transport.receive_burst(packets);
  if (count == 0) return 0;
  count += take_packets(instance, {packets.data(), count});
  instance.transport.release(count);
  return static_cast<unsigned>(count);
}

unsigned ChannelSet::receive(Step step) {
  receiving_ = true;
  const unsigned received = instances_.size() == 1 ? receive_from(*instances_.front()) : receive_from_several(step);
  receiving_ = false;
  return received;
}

unsigned ChannelSet::receive_from_several(Step step) {
  unsigned received = 0;
  const bool passes_by = step == Step::again && heard_ != nullptr && !heard_->is_silent() &&
                         ++steps_again_ % tuning::kStepsBetweenLooks != 0;
  for (const auto& instance : instances_) {
    if (passes_by && instance->is_silent()) continue;
    const unsigned packets = receive_from(*instance);
    received += packets;
    instance->in_vain = packets != 0 ? 0 : instance->in_vain + !instance->is_silent();
    if (packets != 0) heard_ = instance.get();
  }
  return received;
}

// Whether the packet proves that it is from its pair, and comes from where the peer is.
[[gnu::always_inline]] inline bool ChannelSet::admit(Instance& instance, const IncomingPacket& packet,
                                                     wire::PacketHeader& header, PeerChannel*& channel) {
  ReliabilityCounters& counters = context_.counters;
  if (!admit_packet(context_, {packet.data, packet.length}, header)) [[unlikely]] {
    if (config_.key_may_differ) look_for_other_task(instance, packet);
    return false;
  }
  if (header.source >= config_.tasks || header.source == config_.self || header.path != 0) {
    ++counters.malformed;
    return false;
  }
  // Only who has heard from us sends short headers, and what they say of their source is not checked yet.
  channel = listener_.channel_to(header.source, !header.is_short());
  if (channel == nullptr || !channel->reaches_over(instance.transport) ||
      (header.is_short() && !channel->reliable_.is_from_peer(header, {packet.data, packet.length}))) {
    ++counters.ghosts;
    return false;
  }
  if (channel->comes_from(instance.transport, packet.origin) || header.tells_addresses()) return true;
  ++counters.wrong_address;
  return false;
}

// Whoever is where the peer is can send packets that it has not made: once the peer was heard they mean nothing.
void ChannelSet::look_for_other_task(Instance& instance, const IncomingPacket& packet) {
  wire::PacketHeader claimed;
  const wire::DecodeResult result = wire::decode({packet.data, packet.length}, claimed);
  const bool other_version = result == wire::DecodeResult::wrong_version;
  if ((result != wire::DecodeResult::ok && !other_version) || claimed.is_short() || packet.length > context_.max_packet)
    return;
  if (claimed.instance != context_.instance || claimed.path != 0) return;
  if (claimed.source >= config_.tasks || claimed.source == config_.self) return;
  PeerChannel* const channel = listener_.channel_to(claimed.source, true);
  if (channel == nullptr || channel->reliable_.last_heard() != 0) return;
  if (!channel->comes_from(instance.transport, packet.origin)) return;
  if (!other_version || !compare_versions(*channel, packet, claimed)) look_for_other_key(*channel);
}

// What tells another version proves it with the job's key, and that it is no packet of an incarnation that is over.
// Until it does the peer is asked now and then, which makes a task of this version heard. Only what is proved is
// answered at once: one who has another key as well takes the question for such a packet and asks, too. Whether it has
// told.
bool ChannelSet::compare_versions(PeerChannel& channel, const IncomingPacket& packet,
                                  const wire::PacketHeader& claimed) {
  wire::PacketHeader header = claimed;
  header.destination = config_.self;
  const bool proven = wire::is_version_packet(config_.job_key, {packet.data, packet.length}, header) &&
                      is_same_incarnation(header.destination_epoch, config_.epoch);
  if (!proven) {
    channel.ask_version(claimed.source_epoch);
    return false;
  }
  if ((header.flags & wire::kPacketAckWanted) != 0) channel.tell_version(claimed.source_epoch, false);
  listener_.channel_has_other_version(channel.peer_, wire::version_of(packet.data));
  return true;
}

// It is asked: the right one answers, and one with another key finds the same as this task, even if nobody here has
// anything to send to it.
void ChannelSet::look_for_other_key(PeerChannel& channel) {
  const Nanoseconds now = clock_.now();
  auto& foreign = channel.foreign_;
  if (foreign.since == 0 || now - foreign.latest > tuning::kOtherSecretPause) foreign.since = now;
  foreign.latest = now;
  channel.probe();
  if (now - foreign.since < tuning::kOtherSecretSaid || std::exchange(other_key_said_, true)) return;
  listener_.channel_has_other_key(channel.peer_, false);
}

// A stranger's packets shorten nobody's time to come; they may say why nothing else has come.
void ChannelSet::timed_out(PeerChannel& channel, Nanoseconds now) {
  auto& foreign = channel.foreign_;
  const bool lasts =
      now - foreign.latest <= tuning::kOtherSecretPause && foreign.latest - foreign.since >= tuning::kOtherSecretSaid;
  if (foreign.since == 0 || !lasts || channel.reliable_.last_heard() != 0)
    return listener_.channel_timed_out(channel.peer_);
  foreign.since = 0;
  listener_.channel_has_other_key(channel.peer_, true);
}

// Whether all packets are right, which follow those of their datagram that were looked at before.
bool ChannelSet::admit_all(Instance& instance, std::span<const IncomingPacket> packets) {
  const std::size_t before = instance.headers.size();
  bool right = before + packets.size() <= tuning::kMostPacketsOfDatagram;
  for (std::size_t i = 0; right && i < packets.size(); ++i) {
    PeerChannel* channel = nullptr;
    right = admit(instance, packets[i], instance.headers.emplace_back(), channel);
  }
  if (!right) context_.counters.beside_wrong += before + packets.size() - 1;
  return right;
}

// The paths are looked up again: what a handler does may have ended the one that was found.
void ChannelSet::handle_looked_at(Instance& instance, std::size_t first, std::span<const IncomingPacket> packets,
                                  Nanoseconds now) {
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const wire::PacketHeader& header = instance.headers[first + i];
    PeerChannel* const channel = listener_.channel_to(header.source, false);
    if (channel != nullptr) handle_packet(instance, *channel, header, packets[i], now);
  }
}

// Several packets of one datagram. All are looked at before any of them is believed: one wrong packet says that a
// stranger has sent all, who could otherwise try a whole datagram of guesses at a time. `may_go_on`: the burst is full,
// and may have ended inside of the datagram. The answer is how many packets more were taken from the transport.
std::size_t ChannelSet::take_datagram(Instance& instance, std::span<const IncomingPacket> packets, bool may_go_on,
                                      Nanoseconds now) {
  instance.headers.clear();
  std::size_t more = 0;
  bool right = admit_all(instance, packets);
  PackedDatagrams* const datagrams = may_go_on ? instance.capabilities.packed_datagrams : nullptr;
  if (right && datagrams != nullptr) {
    more = datagrams->receive_rest({instance.rest.get(), tuning::kMostPacketsOfDatagram});
    right = admit_all(instance, {instance.rest.get(), more});
  }
  if (right) {
    handle_looked_at(instance, 0, packets, now);
    handle_looked_at(instance, packets.size(), {instance.rest.get(), more}, now);
  } else if (datagrams != nullptr) {
    datagrams->skip_datagram();
  }
  return more;
}

// Data of a long message needs not wait for what another path brings later, nor to be copied meanwhile.
void ChannelSet::take_early(PeerChannel& channel, Sequence sequence, std::span<std::byte> payload, Nanoseconds now) {
  ReliableChannel& reliable = channel.reliable_;
  if (!listener_.channel_may_deliver_early(channel.peer_, payload)) return reliable.hold(sequence, payload, now);
  if (reliable.place(sequence, now)) listener_.channel_delivered(channel.peer_, payload);
}

[[gnu::always_inline]] inline void ChannelSet::handle_packet(Instance& instance, PeerChannel& channel,
                                                             const wire::PacketHeader& header,
                                                             const IncomingPacket& packet, Nanoseconds now) {
  if (keeping_back_ && channel.reliable_.is_news(header)) [[unlikely]]
    return keep_back(instance, channel, header, packet);
  activate(channel);
  ReliableChannel& reliable = channel.reliable_;
  const std::span<std::byte> payload = std::span(packet.data, packet.length).subspan(header.size());
  const ReceiveOutcome outcome = reliable.receive(header, payload, now);
  report_completed(channel);
  if (outcome.has_news || outcome.peer_restarted) [[unlikely]]
    take_addresses(channel, outcome, payload, now);
  channel.look_at_paths(outcome, now);
  if (outcome.peer_restarted) {
    listener_.channel_restarted(channel.peer_, outcome.nothing_taken, outcome.gave_up);
  }
  if (outcome.deliver) {
    // The engine takes every packet, so it counts as taken first: replies that leave now acknowledge it.
    reliable.taken(now);
    listener_.channel_delivered(channel.peer_, payload);
  }
  if (outcome.early) [[unlikely]]
    take_early(channel, header.sequence, payload, now);
  for (std::span<std::byte> held; !channel.is_closed() && reliable.next_held(held);) {
    listener_.channel_delivered(channel.peer_, held);
    reliable.taken(now);
  }
}

// Most packets come alone: their headers need no memory.
std::size_t ChannelSet::take_packets(Instance& instance, std::span<const IncomingPacket> packets) {
  const Nanoseconds now = clock_.now();
  const std::size_t count = packets.size();
  std::size_t more = 0;
  for (std::size_t first = 0, end = 0; first < count; first = end) {
    while (++end < count && packets[end].same_datagram) {
    }
    if (end - first == 1 && end != tuning::kReceiveBurst) [[likely]] {
      wire::PacketHeader header;
      PeerChannel* channel = nullptr;
      if (admit(instance, packets[first], header, channel)) {
        handle_packet(instance, *channel, header, packets[first], now);
      }
    } else {
      more += take_datagram(instance, packets.subspan(first, end - first), end == tuning::kReceiveBurst, now);
    }
  }
  return more;
}

void ChannelSet::report_completed(PeerChannel& channel) {
  for (CompletedPacket done; channel.reliable_.take_completed(done);) {
    if (done.acknowledged) listener_.channel_acknowledged(channel.peer_, done.tag);
  }
}

void ChannelSet::flush() {
  if (!active_.empty()) transmit(clock_.now());
}

unsigned ChannelSet::transmit(Nanoseconds now) {
  unsigned sent = 0;
  for (PeerChannel* channel : active_) sent += channel->transmit(now);
  std::erase_if(active_, [](PeerChannel* channel) {
    channel->active_ = !channel->is_idle();
    return !channel->active_;
  });
  return sent;
}

void ChannelSet::acknowledge_now() {
  if (active_.empty()) return;
  const Nanoseconds now = clock_.now();
  for (PeerChannel* channel : active_) channel->acknowledge_now(now);
}

unsigned ChannelSet::run_timers(Nanoseconds now) {
  // Who was away may have been given up, and learns that first.
  absence_.look(now, [&] {
    return std::ranges::any_of(
        active_, [&](const PeerChannel* channel) { return is_overdue(channel->reliable_, config_.timeout, now); });
  });
  unsigned ran = notices_.empty() ? 0 : look_at_links(now);
  for (std::size_t i = 0; i < active_.size(); ++i) {  // grows when a loss is passed on to others
    PeerChannel* channel = active_[i];
    ran += run_timers_of(*channel, now);
    if (is_overdue(channel->reliable_, config_.timeout, now) && !absence_.is_excused(now)) timed_out(*channel, now);
  }
  return ran;
}

// Handlers run in what takes news, faults are told at a step's end, and neither may be now.
void ChannelSet::keep_up() {
  keeping_back_ = true;
  for (unsigned bursts = 0; bursts != tuning::kUpkeepBursts && receive() != 0; ++bursts) {
  }
  keeping_back_ = false;
  const Nanoseconds now = clock_.now();
  transmit(now);
  if (!notices_.empty()) look_at_links(now);
  for (PeerChannel* channel : active_) run_timers_of(*channel, now);
}

void ChannelSet::keep_back(Instance& instance, PeerChannel& channel, const wire::PacketHeader& header,
                           const IncomingPacket& packet) {
  const Epoch epoch = header.is_short() ? channel.reliable_.peer_epoch() : header.source_epoch;
  kept_back_.keep({.source = header.source, .sequence = header.sequence, .epoch = epoch}, instance.transport, packet);
}

unsigned ChannelSet::take_kept_back() {
  receiving_ = true;
  const std::vector<KeptBack::Packet> packets = kept_back_.take();
  for (const KeptBack::Packet& kept : packets) {
    const auto over = [&](const auto& instance) { return &instance->transport == kept.transport; };
    take_packets(**std::ranges::find_if(instances_, over), {&kept.packet, 1});
  }
  receiving_ = false;
  return static_cast<unsigned>(packets.size());
}

// A peer may wait for what was acknowledged over a link that is down.
unsigned ChannelSet::look_at_links(Nanoseconds now) {
  if (!notices_.any_new(now)) [[likely]]
    return 0;
  look_at_own_addresses();
  unsigned sent = 0;
  for (PeerChannel* channel : active_) {
    if (channel->look_at_links(now) && channel->reliable().last_heard() != 0) channel->send_acknowledgement(now);
    sent += channel->transmit(now);
  }
  return sent;
}

bool ChannelSet::has_work() const {
  return std::any_of(active_.begin(), active_.end(), [](const PeerChannel* channel) { return channel->has_work(); });
}

bool ChannelSet::must_send() const {
  for (PeerChannel* channel : active_) {
    if (channel->has_work() || channel->reliable().must_acknowledge()) return true;
  }
  return false;
}

bool ChannelSet::settled() const {
  return std::all_of(active_.begin(), active_.end(),
                     [](PeerChannel* channel) { return channel->all_acknowledged() || channel->peer_gone(); });
}

std::size_t ChannelSet::not_acknowledged() const {
  std::size_t packets = 0;
  for (PeerChannel* channel : active_) packets += channel->peer_gone() ? 0 : channel->reliable().packets_out();
  return packets;
}

Nanoseconds ChannelSet::deadline() const {
  Nanoseconds earliest = notices_.is_behind() ? 0 : UINT64_MAX;
  for (const PeerChannel* channel : active_) earliest = std::min(earliest, channel->next_deadline());
  return earliest;
}

std::uint32_t ChannelSet::max_record() const {
  std::uint32_t smallest = UINT32_MAX;
  for (const auto& instance : instances_) smallest = std::min(smallest, packet_bytes(instance->transport));
  return smallest - static_cast<std::uint32_t>(wire::kPacketHeaderSize);
}

void ChannelSet::add_statistics(MessageStatistics& statistics) const {
  const ReliabilityCounters& counters = context_.counters;
  statistics.duplicate_packets += counters.duplicates;
  statistics.retransmitted_packets += counters.retransmits;
  statistics.ghost_packets += counters.ghosts + counters.strangers + counters.wrong_address + counters.beside_wrong +
                              counters.wrong_destination + counters.malformed + counters.damaged;
  statistics.packets_sent += counters.packets_sent;
  statistics.packets_received += counters.packets_received;
}

}  // namespace openlapi
