// Attach mode (guide, appendix B): the receiving side copies directly from the other side's memory, a bounded piece per
// step, so that a huge message does not hold up everything else. If the memory cannot be read, the message comes as
// fragments instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "dataplane/message/attach_read.h"
#include "dataplane/message/step_signs.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/transfer/incoming_messages.h"
#include "dataplane/transfer/outbox.h"
#include "dataplane/transfer/pending_requests.h"

namespace openlapi {

// Asks for a get's data in packets when it could not be read.
class GetFallback {
 public:
  virtual void ask_for_packets(Peer& peer, const AttachRead& read, std::uint64_t length) = 0;

 protected:
  ~GetFallback() = default;
};

class AttachReads {
 public:
  struct Means {
    PeerTable& peers;
    Statistics& statistics;
    Outbox& outbox;
    PendingRequests& requests;
    IncomingMessages& incoming;
    GetFallback& fallback;
    StepSigns& signs;
  };
  explicit AttachReads(const Means& means) : means_(means) {}

  // Reads the first piece at once.
  void begin(AttachRead read);
  // Reads the next piece of one of them.
  unsigned advance();
  void give_up(const Peer& peer);

  bool empty() const { return reads_.empty(); }
  std::size_t size() const { return reads_.size(); }

 private:
  bool advance_read(AttachRead& read);
  bool advance_get(AttachRead& read, Peer& peer);
  bool get_in_packets(const AttachRead& read, Peer& peer, PendingRequest& request);
  std::uint64_t read_layout(Peer& peer, LayoutCursor& remote, LayoutCursor& local, std::uint64_t offset,
                            std::uint64_t most);
  bool advance_attach(AttachRead& read, Peer& peer);
  bool advance_layout_attach(AttachRead& read, Peer& peer, IncomingMessage& message);
  bool read_description(AttachRead& read, Peer& peer, IncomingMessage& message);
  void finish_attach(const AttachRead& read, Peer& peer, IncomingMessage& message, std::uint64_t bytes);
  void refuse_attach(const AttachRead& read, Peer& peer, IncomingMessage& message);

  const Means means_;
  std::deque<AttachRead> reads_;
};

}  // namespace openlapi
