// What the dataplane thread does after a poll that found nothing, by policy:
//   adaptive: while messages follow each other closely it keeps polling for about as long as a wake-up would take, and
//     then sleeps; otherwise it sleeps at once. It expects the next gap to be like the last one, so a stream that
//     begins or ends costs one wake-up or one vain spin
//   spin: polls for ever; if others use its core it yields between two polls
//   sleep: sleeps at once
// And how long it sleeps when nothing can wake it: ever longer, until something arrives.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/clock.h"
#include "dataplane/poller/backoff.h"

namespace openlapi {

enum class ThreadPolicy : std::uint8_t { adaptive, spin, sleep };

struct PacingLimits {
  ThreadPolicy policy = ThreadPolicy::adaptive;
  Nanoseconds spin = 0;                     // after the last traffic; only for adaptive
  bool shares_core = true;                  // only for spin: other threads wait for this core
  Nanoseconds wake_up = 25 * kMicrosecond;  // how much later a sleeper notices a message than a poller, about
};

// For adaptive. Where it was measured (bench/policy_bench) waking a thread took 17 to 25 us. As much time is spent on a
// core that others wait for, twice as much on a core of the thread's own. The thread never yields before it sleeps:
// with a computing thread on its core a yield costs a whole time slice, but a sleeper is woken at once.
inline constexpr Nanoseconds kSharedCoreSpin = 20 * kMicrosecond;
inline constexpr Nanoseconds kOwnCoreSpin = 50 * kMicrosecond;

// Sleeps that nothing ends early. The first is about as long as a wake-up. The longest costs less than one per cent of
// a core (bench/blind_poller_bench) and is below the shortest retransmission time-out of a peer. What arrives early in
// the second sleep is noticed after both, and each is late by the timer slack of 50 us and the wake-up.
inline constexpr Nanoseconds kFirstBlindSleep = 50 * kMicrosecond;
inline constexpr Nanoseconds kLongestBlindSleep = 4 * kMillisecond;
inline constexpr Nanoseconds kBlindWakeUp = 200 * kMicrosecond;

class ThreadPacing {
 public:
  // Polls between two looks at the clock.
  static constexpr std::uint32_t kPollsPerLook = 8;

  explicit ThreadPacing(const PacingLimits& limits) : limits_(limits) {}

  // What to do after one more fruitless poll. `now`: reads the clock; not called each time.
  template <class Now>
  BackoffStep next(Now now) {
    if (limits_.policy == ThreadPolicy::spin) {
      if (!limits_.shares_core || ++polls_ % kPollsPerLook != 0) return BackoffStep::pause;
      return BackoffStep::yield;
    }
    if (limits_.policy == ThreadPolicy::sleep || slept_) return BackoffStep::sleep;
    if (polls_++ % kPollsPerLook != 0) return BackoffStep::pause;
    const Nanoseconds moment = now();
    if (polls_ == 1) since_ = moment;
    return spins_ && moment - since_ < limits_.spin ? BackoffStep::pause : BackoffStep::sleep;
  }

  // A poll found something.
  template <class Now>
  void worked(Now now) {
    // What a spin has caught came soon. What a sleep was ended by, a spin would have caught if it came in time.
    if (slept_ && limits_.policy == ThreadPolicy::adaptive) spins_ = now() - since_ < limits_.spin + limits_.wake_up;
    polls_ = 0;
    slept_ = false;
    blind_sleep_ = kFirstBlindSleep;
  }

  // A sleep has ended; unless the next poll finds something, another sleep follows.
  void slept() { slept_ = true; }

  // Sleeping was not possible, for a reason that will soon be gone: keep polling.
  void kept_awake() {
    polls_ = 0;
    slept_ = false;
    spins_ = true;
  }

  // How long to sleep now if nothing will end the sleep early.
  Nanoseconds take_blind_sleep() {
    const Nanoseconds length = blind_sleep_;
    blind_sleep_ = std::min(2 * length, kLongestBlindSleep);
    return length;
  }

 private:
  const PacingLimits limits_;
  std::uint32_t polls_ = 0;
  bool slept_ = false;
  bool spins_ = false;
  Nanoseconds since_ = 0;  // the first of these polls
  Nanoseconds blind_sleep_ = kFirstBlindSleep;
};

}  // namespace openlapi
