// All unreliable transports of an endpoint, with the reliable channels over them. Packets are filtered, put in order,
// acknowledged and retransmitted here; what comes out are payloads, each exactly once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/absence.h"
#include "dataplane/base/clock.h"
#include "dataplane/base/step.h"
#include "dataplane/host/endpoint_config.h"
#include "dataplane/host/message_statistics.h"
#include "dataplane/host/path_status.h"
#include "dataplane/host/route_resolver.h"
#include "dataplane/paths/address_exchange.h"
#include "dataplane/paths/kept_back.h"
#include "dataplane/paths/link_notices.h"
#include "dataplane/paths/peer_channel.h"
#include "dataplane/reliability/channel_context.h"
#include "dataplane/reliability/packet_pool.h"
#include "dataplane/transport/transport.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi {

// Who is told what the channels find. Called during receive() and run_timers().
class ChannelListener {
 public:
  // The channel to a task that sent something. Null: it is not reached over an unreliable transport, or it is new
  // although `may_be_new` is false (what came does not justify a first contact).
  virtual PeerChannel* channel_to(PeerIndex source, bool may_be_new) = 0;
  virtual void channel_delivered(PeerIndex source, std::span<std::byte> payload) = 0;
  // Whether it makes no difference if the payload is delivered now, before others that were sent earlier.
  virtual bool channel_may_deliver_early(PeerIndex source, std::span<std::byte> payload) {
    (void)source, (void)payload;
    return false;
  }
  virtual void channel_acknowledged(PeerIndex peer, std::uint64_t tag) = 0;  // a packet with referenced data
  // The peer has a new incarnation; nothing sent to the former one will arrive. `lost`: that one has taken nothing of
  // it. `gave_up`: it is no new process, but has given this task up.
  virtual void channel_restarted(PeerIndex peer, bool lost, bool gave_up) = 0;
  virtual void channel_timed_out(PeerIndex peer) = 0;  // not acknowledged for the whole time-out
  // All packets from the peer's address were made with another key: for some seconds (told once), or, with `for_long`,
  // until the peer timed out.
  virtual void channel_has_other_key(PeerIndex peer, bool for_long) { (void)peer, (void)for_long; }
  // A path to the peer has failed or serves again. Called in the middle of a step: to be told to people, no more.
  virtual void channel_path_changed(PeerIndex peer, const PathChange& change) { (void)peer, (void)change; }
  // A transport has another address, which peers are to be told (ChannelSet::tell_addresses()).
  virtual void channel_own_address_changed(const Transport& transport, const ChangedAddress& change) {
    (void)transport, (void)change;
  }
  // An adapter of the peer is not where it was published to be. True: a path leads to the new place now.
  virtual bool channel_peer_moved(PeerIndex peer, const ChangedAddress& change) {
    return (void)peer, (void)change, false;
  }
  // The peer is alive, was never heard before, and has another wire version.
  virtual void channel_has_other_version(PeerIndex peer, std::uint8_t version) { (void)peer, (void)version; }

 protected:
  ~ChannelListener() = default;
};

class ChannelSet {
 public:
  // `config` is read whenever its values are needed; it may change.
  ChannelSet(const EndpointConfig& config, std::span<Transport* const> transports, Clock& clock,
             ChannelListener& listener);
  ~ChannelSet();

  // The channel to `peer` over some of the transports, the best first. The set must outlive it. `other_ends`: of their
  // paths, and of others.
  std::unique_ptr<PeerChannel> make_channel(PeerIndex peer, std::span<Transport* const> transports,
                                            ChannelEpochs epochs, std::span<const OtherEnd> other_ends = {});

  // The peer learns what the addresses here are now; paths over the one that has changed do not serve until it knows.
  void tell_addresses(PeerChannel& channel, const Transport& changed);

  // Takes in what has arrived: on all transports, but that a step right after another one passes by silent ones.
  unsigned receive(Step step = Step::first);
  unsigned transmit(Nanoseconds now);    // open packets, retransmissions, acknowledgements
  unsigned run_timers(Nanoseconds now);  // retransmission and acknowledgement timers, silent peers
  // All three for a task that makes no calls (Step::upkeep): packets that bring news are kept back. Later,
  // take_kept_back() takes them as receive() would have.
  void keep_up();
  bool keeps_back_any() const { return !kept_back_.empty(); }
  unsigned take_kept_back();
  void flush();            // transmit(), with a look at the clock if there is anything to send
  void acknowledge_now();  // sends all acknowledgements that are owed, so that nobody waits for one

  bool has_work() const;   // transmit() would send packets
  bool must_send() const;  // the same, or there are acknowledgements that may not wait
  // Something is outstanding that has a timer, or links have to be looked at.
  bool needs_clock() const { return !active_.empty() || notices_.is_behind(); }
  bool settled() const;                  // everything that a peer can still acknowledge is acknowledged
  std::size_t not_acknowledged() const;  // packets that a peer can still acknowledge
  Nanoseconds deadline() const;

  std::uint32_t max_record() const;  // bytes of the longest record that fits a packet of every transport
  std::uint32_t max_packets_out() const { return tuning::kMostPacketsInFlight; }
  void set_ack_threshold(std::uint32_t packets) { context_.ack_threshold = packets; }
  void add_statistics(MessageStatistics& statistics) const;

  // For the channels.
  void activate(PeerChannel& channel) {
    if (channel.active_) return;
    channel.active_ = true;
    active_.push_back(&channel);
    if (channel.notices_seen_ != notices_.number()) [[unlikely]]
      channel.look_at_links(now());
  }
  unsigned send_addresses(PeerChannel& channel, Nanoseconds now);
  void tell_addresses_anew(PeerChannel& channel);
  void forget(PeerChannel& channel) { std::erase(active_, &channel); }
  void tell_path_change(PeerIndex peer, const PathChange& change) { listener_.channel_path_changed(peer, change); }
  void look_at_told_links(Nanoseconds now) {
    if (!notices_.empty() && !receiving_) look_at_links(now);
  }
  bool is_receiving() const { return receiving_; }  // what is sent now is packed and leaves at the end of the step
  Nanoseconds now() const { return clock_.now(); }
  const LinkNotices& notices() const { return notices_; }

 private:
  // One of the endpoint's unreliable transports.
  struct Instance {
    explicit Instance(Transport& transport);
    Transport& transport;
    // For a datagram with several packets: their headers, and those packets that no burst had room for. Memory is
    // reserved but touched only as far as a datagram of the job's has needed it.
    std::vector<wire::PacketHeader> headers;
    std::unique_ptr<IncomingPacket[]> rest;
    bool is_silent() const { return in_vain == tuning::kStepsUntilSilent; }

    std::uint32_t in_vain = 0;  // looks since it has brought anything, until it is silent
    const TransportCapabilities capabilities;
  };

  PeerPath way_over(Transport& transport, PeerIndex end) const;
  unsigned receive_from(Instance& instance);
  [[gnu::noinline]] unsigned receive_from_several(Step step);
  // How many more it has taken from the transport.
  [[gnu::noinline]] std::size_t take_packets(Instance& instance, std::span<const IncomingPacket> packets);
  [[gnu::noinline, gnu::cold]] std::size_t take_datagram(Instance& instance, std::span<const IncomingPacket> packets,
                                                         bool may_go_on, Nanoseconds now);
  [[gnu::noinline, gnu::cold]] void look_for_other_task(Instance& instance, const IncomingPacket& packet);
  bool compare_versions(PeerChannel& channel, const IncomingPacket& packet, const wire::PacketHeader& claimed);
  void look_for_other_key(PeerChannel& channel);
  void timed_out(PeerChannel& channel, Nanoseconds now);
  bool admit_all(Instance& instance, std::span<const IncomingPacket> packets);
  void handle_looked_at(Instance& instance, std::size_t first, std::span<const IncomingPacket> packets,
                        Nanoseconds now);
  bool admit(Instance& instance, const IncomingPacket& packet, wire::PacketHeader& header, PeerChannel*& channel);
  void take_early(PeerChannel& channel, Sequence sequence, std::span<std::byte> payload, Nanoseconds now);
  void handle_packet(Instance& instance, PeerChannel& channel, const wire::PacketHeader& header,
                     const IncomingPacket& packet, Nanoseconds now);
  [[gnu::noinline, gnu::cold]] void keep_back(Instance& instance, PeerChannel& channel,
                                              const wire::PacketHeader& header, const IncomingPacket& packet);
  unsigned run_timers_of(PeerChannel& channel, Nanoseconds now) {
    if (now < channel.next_deadline()) return 0;
    channel.run_timers(now);
    return channel.transmit(now);
  }
  void report_completed(PeerChannel& channel);
  unsigned look_at_links(Nanoseconds now);
  void look_at_own_addresses();
  static AddressExchange& exchange_with(PeerChannel& channel);
  [[gnu::noinline, gnu::cold]] void take_addresses(PeerChannel& channel, const ReceiveOutcome& outcome,
                                                   std::span<const std::byte> payload, Nanoseconds now);

  const EndpointConfig& config_;
  Clock& clock_;
  ChannelListener& listener_;
  PacketPool pool_;
  ChannelContext context_;  // of all channels
  std::vector<std::unique_ptr<Instance>> instances_;
  LinkNotices notices_;
  OwnAddresses own_;
  std::vector<PeerChannel*> active_;  // those with something to send, to acknowledge, or to wait for
  KeptBack kept_back_;
  Absence absence_{tuning::kAbsence};
  const Instance* heard_ = nullptr;  // that has brought something last
  std::uint32_t steps_again_ = 0;
  bool receiving_ = false;
  bool keeping_back_ = false;
  bool other_key_said_ = false;
};

}  // namespace openlapi
