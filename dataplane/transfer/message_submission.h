// How a message that moves data to a peer begins. If it fits into one record, that record leaves during the call or is
// copied; so is every message up to the copy limit. Longer messages point to the user's memory until the origin counter
// moves (guide, chapter 11).
#pragma once

#include <cstdint>
#include <memory>

#include "dataplane/host/requests.h"
#include "dataplane/message/layout_record.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/transfer/admission.h"
#include "dataplane/transfer/guarded_layouts.h"
#include "dataplane/transfer/memory_offers.h"
#include "dataplane/transfer/message_sender.h"
#include "dataplane/transfer/origin_notices.h"
#include "dataplane/transfer/outbox.h"

namespace openlapi {

class MessageSubmission {
 public:
  struct Means {
    const EndpointConfig& config;
    Statistics& statistics;
    Counters& counters;
    Admission& admission;
    OriginNotices& origins;
    Outbox& outbox;
    MessageSender& sender;
    MemoryOffers& offers;
    const GuardedLayouts& guard;
  };
  explicit MessageSubmission(const Means& means) : means_(means) {}

  // The whole message is one record. Inline for callers that do little else.
  [[gnu::always_inline]] inline Submit send_whole(Peer& peer, Outbox::Pieces pieces, std::uint32_t length,
                                                  std::uint64_t data_bytes, const OriginNotice& notice);

  // It does not fit into one record. `message` has its content and target, but no number yet.
  [[gnu::noinline]] Submit send_long(Peer& peer, OutgoingMessage message, BulkHint bulk);

  // Data that is not contiguous: one record if the whole message fits into it.
  Submit send_layout(Peer& peer, const LayoutParts& parts, const OriginNotice& notice);

  // If the operation was accepted: remembers a completion counter that the peer will move when it has the data.
  static Submit owe(Peer& peer, std::uint64_t completion_counter, Submit result) {
    if (result == Submit::accepted) peer.owed.add(completion_counter);
    return result;
  }

 private:
  // `bytes`: data and user header.
  bool is_copied(std::uint64_t bytes) const { return bytes <= means_.config.copy_limit; }
  bool no_room_for(const Peer& peer, bool copied) const;
  void begin(Peer& peer, OutgoingMessage& message);
  static OutgoingMessage long_layout(const LayoutParts& parts, const OriginNotice& notice, bool copied);
  Submit send_guarded(Peer& peer, const LayoutRecord& record, std::uint64_t data_bytes, const OriginNotice& notice);
  Submit send_long_layout(Peer& peer, OutgoingMessage message, std::unique_ptr<std::byte[]> room);
  void sent_for_the_origin(Peer& peer, OutgoingMessage& message);

  const Means means_;
};

inline Submit MessageSubmission::send_whole(Peer& peer, Outbox::Pieces pieces, std::uint32_t length,
                                            std::uint64_t data_bytes, const OriginNotice& notice) {
  if (!peer.backlog.empty() || !means_.outbox.send_record(peer, pieces, length)) [[unlikely]] {
    if (means_.admission.copies_exhausted(peer)) return Submit::busy;
    means_.outbox.queue_record(peer, pieces, length, true);
  }
  ++peer.messages_sent;
  means_.counters.move(notice.counter, peer.index);
  means_.statistics.message_sent(peer, data_bytes);
  if (notice.handler.function != nullptr) [[unlikely]]
    means_.origins.keep_handler(peer.index, notice.handler);
  return Submit::accepted;
}

}  // namespace openlapi
