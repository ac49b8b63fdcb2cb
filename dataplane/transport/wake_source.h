// How who waits notices that something has arrived, asleep or awake.
#pragma once

#include <atomic>
#include <cstdint>

namespace openlapi {

// Sleeping until something arrives. Optional.
class WakeSource {
 public:
  virtual ~WakeSource() = default;

  // A descriptor that polls readable (POLLIN) when packets wait and the source is armed; now and then without a packet.
  // What it says while the source is not armed means nothing. Constant; owned here.
  virtual int descriptor() const = 0;

  // Whether a packet ends the sleep at once; otherwise the source ends it after a while, for a look.
  virtual bool immediate() const = 0;

  // Asks to be woken from now on, and empties the descriptor of wake-ups from before. False: packets wait already, or
  // the source has a time to keep of which nothing would wake its owner (seconds at most): do not sleep, look again.
  // Called before each sleep.
  virtual bool arm() = 0;

  // Ends what arm() asked for. Called after each sleep, with a packet to be taken: what can wait is left to arm().
  virtual void disarm() = 0;
};

// The word that the next arrival will change, so that who waits can look at one cache line instead of asking the whole
// transport. Null: there is no such word.
struct ArrivalWord {
  const std::atomic<std::uint64_t>* word = nullptr;
  std::uint64_t empty = 0;  // its value as long as nothing has arrived
};

// Looking at one word. Optional.
class ArrivalWatch {
 public:
  // Where the next packet will show. Valid until the next receive_burst(); asked for when that has returned 0.
  virtual ArrivalWord arrival_word() const = 0;

 protected:
  ~ArrivalWatch() = default;
};

}  // namespace openlapi
