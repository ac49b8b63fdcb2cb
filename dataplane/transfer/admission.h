// Limits on what is kept of operations that cannot leave yet, or whose answers have not come: a limit per peer and one
// in total, of which every peer gets its share (reliability/fair_share.h). A call beyond the limit is answered `busy`.
// A handler may take more (tuning::kMostRequestsOfHandlers), because nobody could make room while it waits. A handler
// of another context is never answered `busy`: what was accepted from it must begin, and is limited where it is
// accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "dataplane/host/endpoint_config.h"
#include "dataplane/message/outgoing_messages.h"
#include "dataplane/message/refused_messages.h"
#include "dataplane/message/request_table.h"
#include "dataplane/peers/peer.h"
#include "dataplane/tuning.h"

namespace openlapi {

class Admission {
 public:
  // All of these are read whenever their values are needed.
  Admission(const EndpointConfig& config, const RequestTable& requests, const OutgoingMessages& outgoing,
            const RefusedMessages& refused)
      : config_(config), requests_(requests), outgoing_(outgoing), refused_(refused) {}

  bool owes_too_much(const Peer& peer, std::uint64_t completion_counter) const {
    if (completion_counter == 0 || peer.owed.size() < tuning::kMostOwedCounters) return false;
    return !in_handler() || (handlers_bounded() && peer.owed.size() >= tuning::kMostOwedToHandlers);
  }
  bool requests_exhausted(Peer& peer) const;
  bool copies_exhausted(const Peer& peer) const;
  bool keeps_exhausted(const Peer& peer) const;
  bool own_exhausted() const;  // of messages to oneself that have to wait
  // Whether other contexts' handlers must stop, because the limit of what is accepted from them is reached.
  bool handlers_exhausted() const;
  bool copy_has_room(const Peer& peer) const;  // for a reply, wherever it is made

  // Copies of messages for which there was no room.
  void take_copy(Peer& peer) { ++peer.copies_waiting, ++copies_waiting_; }
  void return_copy(Peer& peer) { --peer.copies_waiting, --copies_waiting_; }
  // Bytes kept by the layouts of requests.
  void count_lists(Peer& peer, std::uint64_t more) { peer.list_bytes += more, list_bytes_ += more; }
  void return_lists(Peer& peer, std::uint64_t bytes) { count_lists(peer, -bytes); }
  // Nothing is in progress with the peer any more.
  void give_back_all(Peer& peer);

  // Begins a call from an inline completion handler or a send completion handler.
  void enter_handler() { ++inline_depth_; }
  void leave_handler() { --inline_depth_; }
  bool in_handler() const { return inline_depth_ != 0; }
  // The same from a handler of another context.
  void enter_guest() { ++inline_depth_, ++guest_depth_; }
  void leave_guest() { --inline_depth_, --guest_depth_; }

 private:
  bool handlers_bounded() const { return guest_depth_ == 0; }

  const EndpointConfig& config_;
  const RequestTable& requests_;
  const OutgoingMessages& outgoing_;
  const RefusedMessages& refused_;
  std::uint32_t copies_waiting_ = 0;  // the sum of all Peer::copies_waiting
  std::uint64_t list_bytes_ = 0;      // the sum of all Peer::list_bytes
  unsigned inline_depth_ = 0, guest_depth_ = 0;
};

}  // namespace openlapi
