// The collective calls of an endpoint, one at a time: a barrier, or an exchange of one 64-bit value per task
// (collective.h has the rounds). This class carries their messages and handles losses of peers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/host/fence_state.h"
#include "dataplane/paths/channel_set.h"
#include "dataplane/peers/collective_view.h"
#include "dataplane/peers/dropped_peers.h"
#include "dataplane/peers/loss_reports.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/sync/collective.h"
#include "dataplane/transfer/incoming_messages.h"
#include "dataplane/transfer/message_sender.h"
#include "dataplane/transfer/outbox.h"

namespace openlapi {

class Collectives final : public Collective::Outbox, public CollectiveView {
 public:
  struct Means {
    const EndpointConfig& config;
    ChannelSet* channels;  // null: there are no unreliable transports
    PeerTable& peers;
    Statistics& statistics;
    DroppedPeers& dropped;
    LossReports& reports;
    openlapi::Outbox& outbox;
    MessageSender& sender;
    IncomingMessages& incoming;
  };
  explicit Collectives(const Means& means)
      : means_(means), collective_(means.config.self, means.config.tasks, means.config.before_first()) {}

  // An exchange is done when all tasks have confirmed theirs, and so have taken the values.
  void begin_barrier();
  void begin_exchange(std::uint64_t value);
  void confirm_exchange();
  CollectiveState state() const;
  // By task; valid until the next collective begins.
  std::span<const std::uint64_t> exchanged() const { return collective_.exchanged(); }
  std::size_t early_rounds_of(PeerIndex peer) const { return collective_.early_rounds_of(peer); }

  // A record with a round's message, and a message that came in several records.
  void on_round(Peer& from, const wire::Record& record);
  void round_arrived(Peer& from, std::uint32_t sequence, std::uint32_t round, std::vector<std::byte> bytes);

  bool active() const override { return collective_.active(); }
  PeerIndex awaited() const override { return collective_.awaited(); }
  void fail(PeerIndex lost) override;
  void peer_given_up(PeerIndex missed) override { collective_.fail(missed, *this); }
  void peer_purged() override { purged_ |= collective_.active(); }
  std::size_t held_rounds() const override { return held_.size(); }
  void send_held() override;

 private:
  void send_round(PeerIndex peer, std::uint32_t sequence, std::uint32_t round,
                  std::span<const std::byte> bytes) override;
  void report_failed();
  void flush();

  // A message to a peer that is still looked for.
  struct HeldRound {
    PeerIndex peer;
    std::uint32_t sequence, round;
    std::vector<std::byte> bytes;
  };

  const Means means_;
  Collective collective_;
  std::vector<HeldRound> held_;
  bool purged_ = false;  // it failed, or will fail, because a peer is purged
};

}  // namespace openlapi
