// What a step has to do besides arrivals, as one word: most steps find nothing to do, and look only at this word,
// twice. Whoever keeps such things updates it after every change.
#pragma once

#include <cstdint>

namespace openlapi {

class StepSigns {
 public:
  enum Sign : std::uint32_t {
    records = 1,      // peers for which records or messages wait for room (Outbox)
    refused = 2,      // messages that header handlers have refused (RefusedMessages)
    pulls = 4,        // adapters read (BulkPulls)
    reads = 8,        // this processor reads (AttachReads)
    handlers = 16,    // send completion handlers have to run (OriginNotices)
    dropped = 32,     // peers to be dropped (DroppedPeers)
    buried = 64,      // peers that were purged in this step (Losses)
    losses = 128,     // the host has to be told (LossReports)
    one_sided = 256,  // adapters read a few bytes (OneSidedGets)
    kept_back = 512,  // packets that upkeep has found wait to be taken (ChannelSet)
  };
  static constexpr std::uint32_t kMoves = records | refused | pulls | reads | one_sided | kept_back;
  static constexpr std::uint32_t kEndsStep = handlers | dropped | buried | losses;

  void set(Sign sign, bool there) { signs_ = there ? signs_ | sign : signs_ & ~std::uint32_t{sign}; }
  bool any(std::uint32_t signs) const { return (signs_ & signs) != 0; }

 private:
  std::uint32_t signs_ = 0;
};

}  // namespace openlapi
