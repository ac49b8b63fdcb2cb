// Reading a few bytes of a peer's memory with the adapter, without a message and without the peer's processor (RDMA
// READ). Optional, with the same threading rule as Transport.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/transport/packet.h"

namespace openlapi {

class OneSidedMemory {
 public:
  // A message costs little more for what is longer.
  static constexpr std::uint64_t kMostBytes = 256;

  struct Ending {
    std::uint32_t token;    // as given to begin_get()
    const std::byte* data;  // what was read, until the next call of any function here; null: it was not read
  };

  virtual ~OneSidedMemory() = default;

  // Begins to read; exactly one Ending will report the result. False: nothing was begun, and the caller sends a
  // message. What is asked for again and again may be possible later. Never blocks. `length`: 1 to kMostBytes.
  virtual bool begin_get(PeerIndex peer, std::uint64_t address, std::size_t length, std::uint32_t token) = 0;

  // The next read that has ended; false: there is none. May block for milliseconds where a connection has failed.
  virtual bool take_ending(Ending& ending) = 0;

  // Neither reads the other's memory any more, before resume(). What is under way ends as not read.
  virtual void part_from(PeerIndex peer) = 0;
  virtual void resume(PeerIndex peer) = 0;
};

}  // namespace openlapi
