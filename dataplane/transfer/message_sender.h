// Messages that could not leave at once, because they are longer than one record or wait for room. Their fragments
// leave as soon as there is room; the messages of a peer take turns.
#pragma once

#include <cstdint>
#include <memory>

#include "dataplane/base/clock.h"
#include "dataplane/message/layout_record.h"
#include "dataplane/message/outgoing_messages.h"
#include "dataplane/paths/channel_set.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/transfer/guarded_layouts.h"
#include "dataplane/transfer/origin_notices.h"
#include "dataplane/transfer/outbox.h"
#include "dataplane/transfer/refusals.h"

namespace openlapi {

// Is told when the first record of a message to a peer with held fences has left.
class FirstRecordListener {
 public:
  virtual void first_record_left(Peer& peer) = 0;

 protected:
  ~FirstRecordListener() = default;
};

class MessageSender {
 public:
  enum class Attempt : std::uint8_t { sent, no_room, memory_fault };

  // What it works with; everything outlives it. `channels`: null if there are no unreliable transports.
  struct Means {
    HandlerHost& host;
    Clock& clock;
    ChannelSet* channels;
    PeerTable& peers;
    Outbox& outbox;
    Admission& admission;
    Counters& counters;
    OriginNotices& origins;
    Statistics& statistics;
    DroppedPeers& dropped;
    Refusals& refusals;
    const GuardedLayouts& guard;
    OutgoingMessages& outgoing;
    FirstRecordListener& listener;
  };
  MessageSender(const Means& means, std::uint64_t first_number) : means_(means), next_message_(first_number) {}

  // A message gets its number and id when it begins, and is then sent or stored.
  void give_number(OutgoingMessage& message);
  std::uint64_t next_number() const { return next_message_; }
  OutgoingMessage* find(std::uint32_t id) const { return means_.outgoing.find(id); }  // null: it is done
  OutgoingMessage& store(OutgoingMessage message);
  // Stores the message, and sends what there is room for, unless other records wait.
  void begin(Peer& peer, OutgoingMessage message) { go_on(peer, store(std::move(message))); }
  void go_on(Peer& peer, OutgoingMessage& message);

  // For the answer to a get. Null: there is no memory for it, and the peer was told; or the peer has too much here.
  OutgoingMessage* store_answer(Peer& peer, OutgoingMessage message, std::uint32_t request_id);
  void begin_answer(Peer& peer, OutgoingMessage message, std::uint32_t request_id);

  // Sends what there is room for; true: everything has been handed over.
  bool pump(Peer& peer, OutgoingMessage& message);
  // Everything was handed to the path: the message ends, unless its packets still point to the user's memory.
  void finish_sending(OutgoingMessage& message);
  void acknowledged(std::uint32_t id);  // of a packet that points there
  void set_stage(OutgoingMessage& message, OutgoingMessage::Stage stage);
  void forget(OutgoingMessage& message);

  // For a message whose origin may change its data when the call returns. `room`: from room_for_long_copy(), for the
  // message's length.
  static std::unique_ptr<std::byte[]> room_for_long_copy(std::uint64_t bytes);
  void keep_copy(OutgoingMessage& message, std::unique_ptr<std::byte[]> room);
  void keep_layout_copy(OutgoingMessage& message, std::unique_ptr<std::byte[]> room);

  // Sends a record with data of a layout that may name memory which is not there.
  Attempt try_to_send(Peer& peer, const LayoutRecord& record, bool guarded);

  // Serves the records and messages that wait for room, peer by peer: all, or those alone whose data was copied.
  enum class Served : bool { all, copied };
  unsigned serve_pending(Served which = Served::all);

  // Ends all messages to the peer. Their send completion handlers are told: the origin buffers are free.
  void give_up(Peer& peer, Fault fault, CounterLoss why);

 private:
  bool send_fragments(Peer& peer, OutgoingMessage& message);
  bool send_fragment(Peer& peer, OutgoingMessage& message);
  bool send_layout_fragment(Peer& peer, OutgoingMessage& message);
  void fragment_left(Peer& peer, OutgoingMessage& message, std::uint64_t bytes);
  unsigned pump_queue(Peer& peer, Served which);
  void source_failed(OutgoingMessage& message);

  const Means means_;
  std::uint64_t next_message_;
};

}  // namespace openlapi
