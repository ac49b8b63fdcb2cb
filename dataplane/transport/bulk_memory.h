// Reading a peer's memory by the adapter, while both processors do other things (RDMA READ; guide, chapter 13).
// Optional, like RemoteMemory, and with the same rule about threads as Transport.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/transport/packet.h"

namespace openlapi {

// What a peer needs to read memory that was exposed to it; opaque, travels in a record.
struct MemoryKey {
  std::array<std::byte, 16> bytes{};
};

class BulkMemory {
 public:
  enum class Begin : std::uint8_t {
    begun,   // exactly one ending will tell how it went
    full,    // as many reads are under way as may be: try again after an ending
    failed,  // this memory or this peer cannot be read: the caller falls back to packets
  };

  struct Ending {
    std::uint64_t token;  // as given to begin_read()
    bool done;            // false: nothing may be assumed about the local memory
  };

  virtual ~BulkMemory() = default;

  // Whether reads from `peer` are worth a try; false after they failed for good.
  virtual bool reachable(PeerIndex peer) = 0;

  // The most bytes that one begin_read() takes.
  virtual std::uint64_t longest_read() const = 0;

  // Lets all peers read `length` bytes at `address` until withdraw() was called as often as expose() with that key.
  // False: the memory cannot be pinned or is not there. Cheap when the range was exposed lately.
  virtual bool expose(const void* address, std::size_t length, MemoryKey& key) = 0;
  virtual void withdraw(const MemoryKey& key) = 0;

  // Begins to copy `length` bytes at `remote_address` in `peer` to `local`. Never blocks. `local` must stay writable
  // until the ending.
  virtual Begin begin_read(PeerIndex peer, std::uint64_t remote_address, const MemoryKey& key, void* local,
                           std::size_t length, std::uint64_t token) = 0;

  // Ends the reads from `peer`, which was given up: when it returns, none of them writes to its local memory any more,
  // which belongs to the user again. Those that had not ended end as not done, and their endings are still taken. May
  // block for milliseconds.
  virtual void stop_reads(PeerIndex peer) = 0;

  // Fills `endings` with reads that have ended since and returns how many. Never blocks.
  virtual std::size_t take_endings(std::span<Ending> endings) = 0;
};

}  // namespace openlapi
