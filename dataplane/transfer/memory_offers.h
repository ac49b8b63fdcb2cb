// The one place where memory of this task is offered to a peer, which then reads it instead of getting packets: with
// its processor (attach mode; guide, appendix B) or with its adapter (bulk transfer; guide, chapter 13). The peer
// reports the result; what it could not read is sent in packets after all.
#pragma once

#include <cstdint>

#include "dataplane/host/requests.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/transfer/message_sender.h"
#include "dataplane/transfer/outbox.h"

namespace openlapi {

class MemoryOffers {
 public:
  MemoryOffers(const EndpointConfig& config, Statistics& statistics, Outbox& outbox, MessageSender& sender)
      : config_(config), statistics_(statistics), outbox_(outbox), sender_(sender) {}

  // Long contiguous data. False: send it in packets. `message` was not copied.
  bool offer(Peer& peer, OutgoingMessage& message, BulkHint bulk);
  // The same for data in a layout.
  bool offer_layout(Peer& peer, OutgoingMessage& message);
  // The same for the answer to a get for which the peer has asked for a key.
  bool offer_answer(Peer& peer, std::uint32_t request_id, OutgoingMessage& message);

  // Whether bulk transfer is wanted for so much data, and whether it may be tried with this peer now: after a failure
  // some messages are sent without the path that has failed, in packets if there is no other.
  bool wants_bulk(const Peer& peer, BulkHint hint, std::uint64_t length) const;
  static bool may_try_bulk(Peer& peer) { return paths_to_try(peer).first != 0; }
  // The data of a bulk message went in packets.
  void fell_back(Peer& peer) { ++statistics_.of(peer).bulk_fallbacks; }

  // The peer has read, or could not read.
  void on_attach_done(Peer& from, const wire::Record& record);

 private:
  void offer_attach(Peer& peer, OutgoingMessage message);
  void offer_layout_attach(Peer& peer, OutgoingMessage message);
  void post_offer(Peer& peer, OutgoingMessage&& message, const wire::LongExtension& extension, std::uint8_t flags);
  static bool may_attach(const Peer& peer, OutgoingMessage& message);
  bool offer_bulk(Peer& peer, OutgoingMessage& message);
  // As bits.
  struct PathsToTry {
    std::uint32_t first = 0;
    std::uint32_t spare = 0;  // the peer may use them as well when they serve again
  };
  static PathsToTry paths_to_try(Peer& peer);
  static void expose_over(Peer& peer, std::uint32_t paths, bool are_spare, OutgoingMessage& message,
                          std::size_t& most_keys);
  bool expose(Peer& peer, OutgoingMessage& message, std::size_t most_keys);
  void bulk_ended(Peer& peer, const Exposure& exposure, bool succeeded);

  const EndpointConfig& config_;
  Statistics& statistics_;
  Outbox& outbox_;
  MessageSender& sender_;
};

}  // namespace openlapi
