// Reading a peer's memory with this processor, without the peer's help (process_vm_readv). Optional, with the same
// threading rule as Transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/memory_range.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;

  // Whether `peer`'s memory can be read from here; tried once for real, at set-up or first use, then remembered. Once
  // false it stays false.
  virtual bool reachable(PeerIndex peer) = 0;

  // Copies `length` bytes at `remote_address` of `peer` to `local`. Blocks for the time of the copy. False: the content
  // of `local` is undefined and the caller falls back to packets; other addresses can still be read as long as the peer
  // is reachable().
  virtual bool read(PeerIndex peer, std::uint64_t remote_address, void* local, std::size_t length) = 0;

  // The same for memory that is not contiguous: the bytes of `remote`, in order, are copied to those of `local`. Both
  // have the same total length, at most kMostVectoredBytes, and at most kMostRanges ranges, none of them empty.
  static constexpr std::size_t kMostRanges = 512;
  static constexpr std::uint64_t kMostVectoredBytes = 1u << 30;
  virtual bool read_ranges(PeerIndex peer, std::span<const MemoryRange> remote, std::span<const MemoryRange> local) = 0;
};

}  // namespace openlapi
