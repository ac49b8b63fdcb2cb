// Reading a peer's memory with the adapter while both processors do other work (RDMA READ; guide, chapter 13).
// Optional, like RemoteMemory, and with the same threading rule as Transport.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/memory_range.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

// What a peer needs to read memory that was exposed to it; opaque, sent in a record.
struct MemoryKey {
  std::array<std::byte, 16> bytes{};
};

class BulkMemory {
 public:
  enum class Begin : std::uint8_t {
    begun,   // exactly one Ending will report the result
    full,    // as many reads as allowed are in progress: try again after an Ending
    failed,  // this memory or this peer cannot be read: the caller falls back to packets
  };

  struct Ending {
    std::uint64_t token;  // as given to begin_read()
    bool done;            // false: the content of the local memory is undefined
  };

  virtual ~BulkMemory() = default;

  // Whether reads from `peer` are worth a try; false after they have failed for good.
  virtual bool reachable(PeerIndex peer) = 0;

  // The most bytes that one begin_read() accepts.
  virtual std::uint64_t longest_read() const = 0;

  // Lets all peers read `length` bytes at `address`, until withdraw() was called as often as expose() with this key.
  // False: the memory cannot be pinned or is not there. Cheap when the range was exposed recently.
  virtual bool expose(const void* address, std::size_t length, MemoryKey& key) = 0;
  virtual void withdraw(const MemoryKey& key) = 0;

  // Whether memory was exposed with this key by the adapter of `peer` that this one reads from.
  virtual bool leads_to(PeerIndex peer, const MemoryKey& key) = 0;

  // Begins to copy `length` bytes at `remote_address` of `peer` to `local`. Never blocks. `local` must stay writable
  // until the Ending. `around`: memory which contains that and will be read to as well, so that it is worth while to
  // make it known to the adapter at once.
  virtual Begin begin_read(PeerIndex peer, std::uint64_t remote_address, const MemoryKey& key, void* local,
                           std::size_t length, std::uint64_t token, const MemoryRange& around) = 0;

  // Ends all reads from `peer`, which was given up, or is to be read over another path. When it returns none of them
  // writes to its local memory any more; that memory belongs to the user again. Reads that had not ended end as not
  // done, and their Endings still have to be taken. May block for milliseconds.
  virtual void stop_reads(PeerIndex peer) = 0;

  // Fills `endings` with reads that have ended and returns how many. Never blocks.
  virtual std::size_t take_endings(std::span<Ending> endings) = 0;
};

}  // namespace openlapi
