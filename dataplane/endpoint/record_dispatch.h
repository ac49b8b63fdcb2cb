// What arrives: splits packets into records and passes each record to the part of the engine that it is for. Addresses
// in records can be trusted as the job's own (the packet has proved that it is from its pair); lengths and ids are
// checked where they are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/message/served_packet.h"
#include "dataplane/operation/active_messages.h"
#include "dataplane/operation/completions.h"
#include "dataplane/operation/gets.h"
#include "dataplane/operation/narrow_task.h"
#include "dataplane/operation/puts.h"
#include "dataplane/operation/read_modify_writes.h"
#include "dataplane/paths/channel_set.h"
#include "dataplane/peers/peer_watch.h"
#include "dataplane/sync/collectives.h"
#include "dataplane/sync/fences.h"
#include "dataplane/transfer/memory_offers.h"

namespace openlapi {

class RecordDispatch final : public ChannelListener, public MessageEnd, public MessageDirectory {
 public:
  struct Means {
    HandlerHost& host;
    PeerTable& peers;
    Statistics& statistics;
    const RequestTable& requests;
    const OutgoingMessages& outgoing;
    PendingRequests& pending_requests;
    IncomingMessages& incoming;
    MemoryOffers& offers;
    MessageSender& sender;
    Fences& fences;
    FenceAnswers& fence_answers;
    Collectives& collectives;
    Completions& completions;
    Puts& puts;
    Gets& gets;
    ActiveMessages& messages;
    ReadModifyWrites& rmws;
    NarrowTask& narrow;
    Losses& losses;
    PeerWatch& watch;
  };
  explicit RecordDispatch(const Means& means) : means_(means) {}

  // Takes in what has arrived on a reliable transport.
  unsigned receive(Transport& transport);

  // ChannelListener
  PeerChannel* channel_to(PeerIndex source, bool may_be_new) override;
  void channel_delivered(PeerIndex source, std::span<std::byte> payload) override;
  bool channel_may_deliver_early(PeerIndex source, std::span<std::byte> payload) override;
  void channel_acknowledged(PeerIndex peer, std::uint64_t tag) override;
  void channel_restarted(PeerIndex peer, bool lost, bool gave_up) override;
  void channel_timed_out(PeerIndex peer) override;
  void channel_has_other_key(PeerIndex peer, bool for_long) override;
  void channel_path_changed(PeerIndex peer, const PathChange& change) override;
  void channel_own_address_changed(const Transport& transport, const ChangedAddress& change) override;
  bool channel_peer_moved(PeerIndex peer, const ChangedAddress& change) override;
  void channel_has_other_version(PeerIndex peer, std::uint8_t version) override;

  // MessageDirectory
  const IncomingMessage* incoming_message(PeerIndex from, std::uint32_t id) const override;
  const PendingRequest* pending_request(std::uint32_t id) const override { return means_.requests.find(id); }
  const OutgoingMessage* sent_from(const void* address) const override { return means_.outgoing.sent_from(address); }

 private:
  void message_complete(Peer& from, IncomingMessage message) override;
  void handle_packet(Peer& from, std::span<std::byte> packet);
  void handle_record(Peer& from, const wire::Record& record);
  void dispatch(Peer& from, const wire::Record& record);
  [[gnu::noinline]] void dispatch_longer(Peer& from, const wire::Record& record);
  void on_request_refused(Peer& from, const wire::Record& record);
  bool may_come_early(Peer& from, const wire::Record& record) const;

  const Means means_;
};

}  // namespace openlapi
