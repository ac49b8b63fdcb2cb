// Bulk transfer (guide, chapter 13), on the side that wants the data. Its adapters read the memory that the other side
// has exposed (memory_offers.h), several chunks at a time over all paths that serve (bulk_shares.h), and this task
// reports the result. For fences, counters and losses a bulk message is like any other: it is in Peer::incoming or
// among the requests here, and among the outgoing ones there.
// What a path has failed to bring is read anew over the others, or comes in packets if there are none: in either case
// only when the failed read has ended, since until then it may write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "dataplane/base/clock.h"
#include "dataplane/message/bulk_pull.h"
#include "dataplane/message/step_signs.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/transfer/bulk_shares.h"
#include "dataplane/transfer/incoming_messages.h"
#include "dataplane/transfer/memory_offers.h"
#include "dataplane/transfer/outbox.h"
#include "dataplane/transfer/pending_requests.h"

namespace openlapi {

class BulkPulls {
 public:
  struct Means {
    PeerTable& peers;
    Statistics& statistics;
    Outbox& outbox;
    PendingRequests& requests;
    IncomingMessages& incoming;
    MemoryOffers& offers;
    std::span<BulkMemory* const> memories;  // of all transports
    Clock& clock;
    StepSigns& signs;
  };
  BulkPulls(const Means& means, std::uint32_t first_number);
  ~BulkPulls();
  BulkPulls(const BulkPulls&) = delete;
  BulkPulls& operator=(const BulkPulls&) = delete;

  // Reads the data of a message, or the answer to a get; `body` says where it lies.
  void pull_message(Peer& from, std::uint32_t id, IncomingMessage& message, std::uint64_t source_address,
                    const MemoryKeys& keys);
  void pull_answer(Peer& from, PendingRequest& request, const wire::GetKeyBody& body, const MemoryKeys& keys);

  unsigned advance();
  // When this returns nothing is written to the user's memory any more.
  void give_up(Peer& peer);

  bool empty() const { return pulls_.empty(); }
  std::size_t size() const { return pulls_.size(); }

 private:
  void begin_pull(Peer& from, BulkPull pull, const MemoryKeys& keys);
  void choose_paths(Peer& from, BulkPull& pull, const MemoryKeys& keys) const;
  bool advance_pull(std::uint32_t id, BulkPull& pull);
  void begin_reads(std::uint32_t id, BulkPull& pull, Peer& from);
  BulkShares shares_of(const BulkPull& pull, const Peer& from) const;
  bool begin_read(std::uint32_t id, BulkPull& pull, BulkPull::Path& path, Peer& from);
  static void brought(const BulkPull::Path& path, Peer& from);
  static void path_failed(BulkPull::Path& path, Peer& from, bool on_the_way);
  void stop_what_holds_up(BulkPull& pull, Peer& from);
  unsigned take_endings();
  void read_ended(const BulkMemory& memory, const BulkMemory::Ending& ending);
  void end_pull(std::uint32_t id, const BulkPull& pull);

  const Means means_;
  std::map<std::uint32_t, BulkPull> pulls_;  // oldest first, until the numbers wrap
  std::uint32_t next_pull_;                  // never 0
  std::uint32_t bulk_reads_ = 0;             // of all pulls; begun and not ended
};

}  // namespace openlapi
