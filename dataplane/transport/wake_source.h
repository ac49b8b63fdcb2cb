// How a waiting thread notices that something has arrived, asleep or polling.
#pragma once

#include <atomic>
#include <cstdint>

namespace openlapi {

// For sleeping until something arrives. Optional.
class WakeSource {
 public:
  virtual ~WakeSource() = default;

  // A descriptor that polls readable (POLLIN) when packets wait and the source is armed; sometimes also without a
  // packet. Its state means nothing while the source is not armed. Constant; owned by the source.
  virtual int descriptor() const = 0;

  // Whether a packet ends the sleep at once; otherwise the source ends it after some time, to have a look.
  virtual bool immediate() const = 0;

  // Asks to be woken from now on, and clears the descriptor of earlier wake-ups. False: do not sleep but look again,
  // because packets wait already, or because the source has a deadline (seconds at most) that would not wake its owner.
  // Call it before each sleep.
  virtual bool arm() = 0;

  // Ends what arm() began. Called after each sleep, when a packet waits to be taken: work that can wait is left to
  // arm().
  virtual void disarm() = 0;
};

// The word that the next arrival will change, so that a waiting thread can poll one cache line instead of the whole
// transport. Null: there is no such word.
struct ArrivalWord {
  const std::atomic<std::uint64_t>* word = nullptr;
  std::uint64_t empty = 0;  // its value when receive_burst() last found nothing there, and until something arrives
};

// False also where there is no word.
inline bool nothing_arrives(const ArrivalWord& next) {
  return next.word != nullptr && next.word->load(std::memory_order_relaxed) == next.empty;
}

// For polling a single word. Optional.
class ArrivalWatch {
 public:
  // Where the next packet will show. Valid until the next receive_burst(); ask when that has returned 0.
  virtual ArrivalWord arrival_word() const = 0;

 protected:
  ~ArrivalWatch() = default;
};

}  // namespace openlapi
