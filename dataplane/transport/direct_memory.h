// Loads and stores on a peer's memory, without a message and without the peer's help. Optional, with the same threading
// rule as Transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/memory_range.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

class DirectMemory {
 public:
  // Longer transfers are faster by other means.
  static constexpr std::uint64_t kMostBytes = 16384;
  // Of one operation, which others may have to wait for.
  static constexpr std::size_t kMostPieces = 256;

  virtual ~DirectMemory() = default;

  // Each does its whole operation before it returns, or nothing: then it is false, and the caller sends a message, with
  // which all mistakes are found. Nothing is done where some of the memory cannot be reached, while the peer has not
  // taken all that was sent to it before, and when it has ended or has purged this task. `length`: 1 to kMostBytes.
  // `counter`: the address of one of the peer's, which moves once the data is in place; 0: none.
  virtual bool put(PeerIndex peer, std::uint64_t address, const void* data, std::size_t length,
                   std::uint64_t counter) = 0;
  virtual bool get(PeerIndex peer, std::uint64_t address, void* buffer, std::size_t length, std::uint64_t counter) = 0;
  // The same for 1 to kMostPieces pieces of the peer's memory, in their order. None is empty; together they have at
  // most kMostBytes, which are one after the other here.
  using Pieces = std::span<const MemoryRange>;
  virtual bool put_pieces(PeerIndex peer, Pieces pieces, const std::byte* data, std::uint64_t counter) = 0;
  virtual bool get_pieces(PeerIndex peer, Pieces pieces, std::byte* buffer, std::uint64_t counter) = 0;
  // Calls change(word, operands), which is atomic and short, for a word that is aligned to its width.
  using ChangeWord = void (*)(void* word, void* operands);
  virtual bool change(PeerIndex peer, std::uint64_t address, std::size_t width, ChangeWord change, void* operands) = 0;

  // Whether there were such operations on the peer's memory since the latest call.
  virtual bool is_in_use(PeerIndex peer) = 0;

  // The other side: this task's memory, which peers reach.

  // A peer has sent a message for something short at this address. What is asked for again and again may be opened for
  // peers meanwhile.
  virtual void asked_for(std::uint64_t address) = 0;
  // The same for something short in several pieces, some of those of a message; what follows each other in one place
  // counts once.
  virtual void asked_for_pieces(Pieces pieces) = 0;

  // Whether peers have moved counters of this task since the latest call.
  virtual bool counters_have_moved() = 0;

  // Whether peers may move counters of this task by themselves (at first they may). Once it has returned, none does
  // against that.
  virtual void leave_counters_to_peers(bool on) = 0;

  // What peers have done so far. Each is a message that this task did not see.
  struct Traffic {
    std::uint64_t puts = 0, put_bytes = 0;
    std::uint64_t gets = 0, got_bytes = 0;
  };
  virtual Traffic traffic() const = 0;
};

}  // namespace openlapi
