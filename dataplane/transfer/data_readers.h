// Reads the data of a message where it lies: with the adapter, or with this processor.
#pragma once

#include "dataplane/transfer/attach_reads.h"
#include "dataplane/transfer/bulk_pulls.h"
#include "dataplane/transfer/incoming_messages.h"

namespace openlapi {

class DataReaders final : public DataReader {
 public:
  DataReaders(AttachReads& reads, BulkPulls& pulls) : reads_(reads), pulls_(pulls) {}

  void read(Peer& from, std::uint32_t id, IncomingMessage& message, const DataElsewhere& where) override {
    if (where.bulk) return pulls_.pull_message(from, id, message, where.address, where.keys);
    reads_.begin({.peer = from.index,
                  .is_get = false,
                  .id = id,
                  .source_address = where.address,
                  .target_counter = 0,
                  .layout_length = where.layout_length});
  }

 private:
  AttachReads& reads_;
  BulkPulls& pulls_;
};

}  // namespace openlapi
