// The channel to one peer over unreliable transports: records are packed into packets, and packets travel through a
// reliable channel over the best of the paths to the peer, and over all that serve when there is much to send. When a
// path goes silent, what it has not brought to the peer leaves over the others; silent paths are probed, and used again
// when they answer. While little is in flight a packet leaves as soon as it has a record. Otherwise it waits for more
// records until it is full or the engine's next step begins; nothing waits longer than a step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/host/path_status.h"
#include "dataplane/paths/address_exchange.h"
#include "dataplane/paths/peer_path.h"
#include "dataplane/paths/several_paths.h"
#include "dataplane/reliability/reliable_channel.h"
#include "dataplane/transport/transport.h"
#include "dataplane/tuning.h"

namespace openlapi {

class ChannelSet;

static_assert(wire::kPacketHeaderSize % 8 == 0, "so that records fill packets whose length is a multiple of 8");

class PeerChannel {
 public:
  // `paths`: at least one, the best first, each with its ends.
  PeerChannel(ChannelSet& set, ChannelContext& context, PeerIndex peer, std::vector<PathEnds> paths,
              ChannelEpochs epochs);
  ~PeerChannel();
  PeerChannel(const PeerChannel&) = delete;
  PeerChannel& operator=(const PeerChannel&) = delete;

  // Bytes of the longest record; a multiple of 8, so that full packets have a length that segmentation offload can
  // keep.
  std::uint32_t max_record() const { return reliable_.max_payload(); }

  // Copies and takes one record. False: no room.
  bool send(std::span<const ConstBuffer> pieces, std::uint32_t length);

  // The same in steps, for a caller that writes the record in place: begin (null: no room), then one of the two ends.
  std::byte* begin_record(std::uint32_t length);
  void end_record(std::uint32_t length);
  void abandon_record();

  // Takes one record whose data is not copied. The data must stay until ChannelListener::channel_acknowledged(tag), and
  // unchanged unless it `may_change`. The record leaves with the next transmit(). False: no room.
  bool send_referenced(std::span<const ConstBuffer> head, ConstBuffer data, std::uint32_t tag, bool may_change = false);

  // Sends what may leave now. Returns the number of packets.
  unsigned transmit(Nanoseconds now);

  // Sends the acknowledgement that is owed, whether it is due or not.
  void acknowledge_now(Nanoseconds now);

  // Sends the acknowledgement of what was taken again, whether it is owed or not: this task is about to be gone.
  void repeat_acknowledgement(Nanoseconds now) {
    for (unsigned times = 0; times != tuning::kLastAcknowledgements; ++times) send_acknowledgement(now);
  }

  // If nothing is in flight, sends a packet without records: its acknowledgement, or the lack of one, tells whether the
  // peer is still alive.
  void probe();

  // Tells the peer this task's version. `peer_epoch`: the peer's incarnation, if a packet of another version is to be
  // believed.
  void tell_version(Epoch peer_epoch, bool wants_answer);

  // Asks the peer for a proof, unless it was asked recently.
  void ask_version(Epoch peer_epoch);

  // Forgets the records in the packet that is being filled.
  void drop_open_packet();

  // Forgets everything that is in flight or waits.
  void reset();

  // The same when the peer is lost: this task then begins anew with it, if it may.
  bool may_begin_anew() const { return reliable_.may_begin_anew(); }
  void begin_anew();

  // The same for good: nothing is sent or received any more.
  void close();
  bool is_closed() const { return closed_; }

  [[gnu::always_inline]] bool has_work() const {
    return (open_ != nullptr && reliable_.has_room()) || reliable_.has_transmissions() || answers_ != 0;
  }
  bool is_idle() const {
    return open_ == nullptr && reliable_.all_acknowledged() && answers_ == 0 && next_deadline() == UINT64_MAX;
  }
  Nanoseconds next_deadline() const {
    const Nanoseconds of_channel = std::min(reliable_.next_deadline(), addresses_ ? addresses_->due() : UINT64_MAX);
    if (several_ == nullptr) return of_channel;
    return std::min({of_channel, several_->watch.next_probe(), several_->teller.due()});
  }
  void run_timers(Nanoseconds now);
  bool all_acknowledged() const { return open_ == nullptr && reliable_.all_acknowledged(); }
  bool peer_gone() const;
  // Whether packets of the peer come from there over this transport. Its address may have changed since the last
  // packet.
  [[gnu::always_inline]] bool comes_from(const Transport& transport, std::uint64_t origin) {
    if (several_ == nullptr) {
      if (&transport == best_.transport && origin == best_.origin) [[likely]]
        return true;
    } else if (several_->comes_over_best(transport, origin)) {
      return true;
    }
    return find_origin(transport, origin);
  }
  [[gnu::always_inline]] bool reaches_over(const Transport& transport) const {
    return &transport == best_.transport || (several_ != nullptr && several_->reach_over(transport));
  }
  // What has just been received may say something of the paths.
  [[gnu::always_inline]] void look_at_paths(const ReceiveOutcome& outcome, Nanoseconds now) {
    if (outcome.path_probed) [[unlikely]]
      answers_ |= 1u << (several_ != nullptr ? several_->was_probed() : 0);
    if (several_ == nullptr) return;
    if (outcome.path_answered) [[unlikely]]
      several_->note_answer(now);
    if (several_->from_other_end() && several_->follows(outcome, now)) [[unlikely]] {
      if (several_->go_home(now)) give_up_silent();
      use_best();
    }
    if (several_->arrived_over == several_->watch.best()) {
      several_->heard_over_best = now;
    } else {
      consider_following(outcome, now);
    }
    if (several_->watch.any_silent()) return look_for_served(outcome, now);
    if (outcome.path_answered && several_->was_answered(reliable_, now)) [[unlikely]]
      use_best();
  }

  // What the transports say of their links has changed, or may have: a path whose link is down is left at once, and one
  // whose link is up again is probed. Whether any was left.
  [[gnu::noinline, gnu::cold]] bool look_at_links(Nanoseconds now);

  // For what uses the paths besides the channel, which does not look at the links without packets of its own. Null:
  // there is one path, with one end.
  const PathWatch* path_watch() const { return several_ != nullptr ? &several_->watch : nullptr; }
  void watch_links();
  // Something else went wrong there: does not count on it before it has answered a probe.
  void doubt(unsigned path);

  // Something besides packets has come over the path, and more is to come till then: answers may wait behind it.
  void is_alive(unsigned path, Nanoseconds until) {
    if (several_ != nullptr) several_->teller.is_alive(path, until);
  }

  // Of all paths, the best first.
  std::vector<PathStatus> path_statuses() const;

  ReliableChannel& reliable() { return reliable_; }
  PeerIndex peer() const { return peer_; }

 private:
  friend class ChannelSet;

  [[gnu::noinline]] bool find_origin(const Transport& transport, std::uint64_t origin);
  PeerPath& path(unsigned number) { return several_ != nullptr ? several_->paths[number] : best_; }
  void use_best();
  [[gnu::noinline]] void look_for_served(const ReceiveOutcome& outcome, Nanoseconds now);
  void give_up_silent();
  bool look_for_carriers(Nanoseconds now);
  [[gnu::noinline, gnu::cold]] void tell_change(Nanoseconds now);
  [[gnu::noinline]] unsigned probe_silent(Nanoseconds now);
  unsigned send_long_probe(unsigned path, unsigned end, Nanoseconds now);
  void consider_following(const ReceiveOutcome& outcome, Nanoseconds now);
  [[gnu::noinline, gnu::cold]] unsigned answer_probes(Nanoseconds now);
  std::byte* take_buffer();
  std::byte* place_for(std::uint32_t length);
  void written(std::uint32_t length);
  [[gnu::noinline]] bool close_open_packet();
  unsigned send_open_packet(Nanoseconds now);
  [[gnu::noinline]] unsigned send_queued(Nanoseconds now);
  unsigned send_striped(Nanoseconds now);
  [[gnu::noinline]] bool send_acknowledgement(Nanoseconds now);

  ChannelSet& set_;
  PeerPath best_;  // that packets leave over
  ChannelContext& context_;
  PeerIndex peer_;
  ReliableChannel reliable_;
  std::byte* open_ = nullptr;      // the packet being filled, a buffer of the pool; null: none
  std::uint32_t open_length_ = 0;  // bytes of records in it
  bool active_ = false;            // the set visits it in every step
  bool closed_ = false;
  // Packets from the peer's address that were made with another key: the first and the latest in a row.
  struct {
    Nanoseconds since = 0, latest = 0;
    Nanoseconds asked_version = 0;  // when the peer was last asked to prove that it has another version; 0: never
  } foreign_;
  std::uint32_t answers_ = 0;              // paths, as bits, whose probes are to be answered
  std::uint32_t notices_seen_ = 0;         // LinkNotices::number(), of the links
  std::unique_ptr<SeveralPaths> several_;  // null: there is one path, with one end
  // Null: the addresses are those that the paths were made with, as far as is known.
  std::unique_ptr<AddressExchange> addresses_;
};

}  // namespace openlapi
