// Fences of this task. A fence asks every peer that was sent something since its last answer to reply when that many
// messages are in place; gets and read-modify-writes are complete when their answers have arrived.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/counter/counters.h"
#include "dataplane/host/fence_state.h"
#include "dataplane/message/outgoing_messages.h"
#include "dataplane/message/refused_messages.h"
#include "dataplane/message/request_table.h"
#include "dataplane/paths/channel_set.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/transfer/message_sender.h"
#include "dataplane/transfer/outbox.h"

namespace openlapi {

class Fences final : public FirstRecordListener {
 public:
  struct Means {
    ChannelSet* channels;  // null: there are no unreliable transports
    PeerTable& peers;
    Statistics& statistics;
    Counters& counters;
    Outbox& outbox;
    const MessageSender& sender;
    const OutgoingMessages& outgoing;
    RequestTable& requests;
    const RefusedMessages& refused;
  };
  Fences(const Means& means, std::uint64_t first_number) : means_(means), next_fence_(first_number) {}

  // When the ticket's state is `done`, all operations begun before are complete at their targets, and their origins
  // have been told that their buffers are free.
  FenceTicket begin();
  // `awaited`, while it is pending: a task that has not answered; unchanged: none, or the fence waits for answers to
  // gets.
  FenceState state(const FenceTicket& ticket, PeerIndex* awaited = nullptr);
  void forget(const FenceTicket& ticket);  // nobody will ask for its state any more
  bool any_pending() const { return !fences_.empty(); }

  void on_reply(Peer& from, const wire::Record& record);

  // Sends those held fences of which every earlier message has begun to leave, so that these begin to arrive first.
  void first_record_left(Peer& peer) override { ask_held(peer); }

  // The peer will answer neither fences nor requests any more.
  void give_up(Peer& peer, CounterLoss why);

 private:
  struct PendingFence {
    std::uint64_t number;        // its low half is the ticket that is sent to peers
    std::uint32_t remaining;     // peers that have not answered
    std::uint64_t last_request;  // as in FenceTicket
    std::uint64_t next_message;  // number of the first message that does not belong to the fence
    std::uint64_t last_own;      // number of the last message to oneself that had to wait and belongs to the fence
    FenceState outcome;          // the result once nothing remains
  };

  void ask_held(Peer& peer);
  void find_awaited(const FenceTicket& ticket, PeerIndex& awaited) const;

  const Means means_;
  std::vector<PendingFence> fences_;
  std::uint64_t next_fence_;
};

}  // namespace openlapi
