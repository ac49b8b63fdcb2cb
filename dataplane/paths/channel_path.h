// The path to one peer over an unreliable transport: records are packed into packets, packets travel through a reliable
// channel. A packet leaves as soon as a record is in it while little is on the way; otherwise it waits for company
// until it is full or the next step of the engine (what waits is packed, nothing waits longer than a step).
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/base/clock.h"
#include "dataplane/reliability/reliable_channel.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

class ChannelSet;

static_assert(wire::kPacketHeaderSize % 8 == 0, "so that records fill packets whose length is a multiple of 8");

class ChannelPath {
 public:
  // `capabilities` are the transport's, and outlive the path.
  ChannelPath(ChannelSet& set, Transport& transport, const TransportCapabilities& capabilities, ChannelContext& context,
              PeerIndex peer, ChannelEpochs epochs);
  ~ChannelPath();
  ChannelPath(const ChannelPath&) = delete;
  ChannelPath& operator=(const ChannelPath&) = delete;

  // Bytes of the longest record; a multiple of 8, so that full packets have a length that segmentation can keep.
  std::uint32_t max_record() const { return channel_.max_payload(); }

  // Takes one record, copied. False: no room.
  bool send(std::span<const ConstBuffer> pieces, std::uint32_t length);

  // The same in steps, for who copies the record itself: its place (null: no room), then one of the two ends.
  std::byte* begin_record(std::uint32_t length);
  void end_record(std::uint32_t length);
  void abandon_record();

  // Takes one record whose data stays where it is until ChannelListener::channel_acknowledged(tag), and as it is unless
  // it `may_change`. It leaves with the next transmit(). False: no room.
  bool send_referenced(std::span<const ConstBuffer> head, ConstBuffer data, std::uint32_t tag, bool may_change = false);

  // Sends what may leave now. Returns the number of packets.
  unsigned transmit(Nanoseconds now);

  // Sends the acknowledgement that is owed, due or not.
  void acknowledge_now(Nanoseconds now);

  // Sends a packet without records when nothing is on the way: its acknowledgement, or the lack of it, tells whether
  // the peer still lives.
  void probe();

  // Tells the peer, whose incarnation is `peer_epoch` if a packet of another version is right, the version of this
  // task.
  void tell_version(Epoch peer_epoch, bool wants_answer);

  // Asks it for a proof, unless it has just been asked.
  void ask_version(Epoch peer_epoch);

  // Forgets the records that wait for a packet to fill.
  void drop_open_packet();

  // Forgets everything that is on the way or waits.
  void reset();

  // The same when the peer is lost: this task begins anew with it, if it may.
  bool may_begin_anew() const { return channel_.may_begin_anew(); }
  void begin_anew();

  // The same for good: nothing is sent or received any more.
  void close();
  bool is_closed() const { return closed_; }

  [[gnu::always_inline]] bool has_work() const {
    return (open_ != nullptr && channel_.has_room()) || channel_.has_transmissions();
  }
  bool is_idle() const {
    return open_ == nullptr && channel_.all_acknowledged() && channel_.next_deadline() == UINT64_MAX;
  }
  bool all_acknowledged() const { return open_ == nullptr && channel_.all_acknowledged(); }
  bool peer_gone() const {
    return capabilities_.peer_liveness != nullptr && capabilities_.peer_liveness->peer_gone(peer_);
  }
  // Whether packets of the peer come from there. Its address may have changed since the last one.
  [[gnu::always_inline]] bool comes_from(std::uint64_t origin) { return origin == origin_ || comes_from_new(origin); }

  ReliableChannel& channel() { return channel_; }
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
  ReliableChannel channel_;
  std::byte* open_ = nullptr;      // packet being filled, a buffer of the pool; null: none
  std::uint32_t open_length_ = 0;  // bytes of records in it
  bool active_ = false;            // the set looks at it in every step
  bool closed_ = false;
  // Packets from where the peer is that another key has made: the first and the latest of a row.
  struct {
    Nanoseconds since = 0, latest = 0;
  } foreign_;
  Nanoseconds asked_version_ = 0;  // when the peer was asked last to prove that it has another version; 0: never
  const TransportCapabilities& capabilities_;
  std::uint64_t origin_;  // of the peer, as last asked for
};

}  // namespace openlapi
