// The channel to one peer over an unreliable transport: records are packed into packets, and packets travel through a
// reliable channel. While little is in flight a packet leaves as soon as it has a record. Otherwise it waits for more
// records until it is full or the engine's next step begins; nothing waits longer than a step.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/base/clock.h"
#include "dataplane/reliability/reliable_channel.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

class ChannelSet;

static_assert(wire::kPacketHeaderSize % 8 == 0, "so that records fill packets whose length is a multiple of 8");

class PeerChannel {
 public:
  // `capabilities` belong to the transport, and outlive the channel.
  PeerChannel(ChannelSet& set, Transport& transport, const TransportCapabilities& capabilities, ChannelContext& context,
              PeerIndex peer, ChannelEpochs epochs);
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
    return (open_ != nullptr && reliable_.has_room()) || reliable_.has_transmissions();
  }
  bool is_idle() const {
    return open_ == nullptr && reliable_.all_acknowledged() && reliable_.next_deadline() == UINT64_MAX;
  }
  bool all_acknowledged() const { return open_ == nullptr && reliable_.all_acknowledged(); }
  bool peer_gone() const {
    return capabilities_.peer_liveness != nullptr && capabilities_.peer_liveness->peer_gone(peer_);
  }
  // Whether packets of the peer come from there. Its address may have changed since the last packet.
  [[gnu::always_inline]] bool comes_from(std::uint64_t origin) { return origin == origin_ || comes_from_new(origin); }

  ReliableChannel& reliable() { return reliable_; }
  PeerIndex peer() const { return peer_; }

 private:
  friend class ChannelSet;

  [[gnu::noinline]] bool comes_from_new(std::uint64_t origin);
  std::uint64_t ask_origin() const;
  std::byte* take_buffer();
  std::byte* place_for(std::uint32_t length);
  void written(std::uint32_t length);
  [[gnu::noinline]] bool close_open_packet();
  unsigned send_open_packet(Nanoseconds now);
  [[gnu::noinline]] unsigned send_queued(Nanoseconds now);
  [[gnu::noinline]] bool send_acknowledgement(Nanoseconds now);

  ChannelSet& set_;
  Transport& transport_;
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
  } foreign_;
  Nanoseconds asked_version_ = 0;  // when the peer was last asked to prove that it has another version; 0: never
  const TransportCapabilities& capabilities_;
  std::uint64_t origin_;  // of the peer, when it was last asked for
};

}  // namespace openlapi
