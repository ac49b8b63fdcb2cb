// Sleeping targets: how long the system takes to wake one, without any library, and whether a task sleeps at all.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "bench/perf/shared_region.h"
#include "bench/perf/stopwatch.h"

namespace openlapi::bench {

// Waits until every thread of `process`, but for `except` (0: none), sleeps in the kernel. False: it did not within
// `milliseconds`.
bool wait_until_asleep(pid_t process, pid_t except, unsigned milliseconds);

// One task's thread sleeps in the kernel while the other one measures: sleep() here pairs with begin(), then wake()
// there.
class Sleeper {
 public:
  explicit Sleeper(SharedRegion& region) : region_(region) {}
  void sleep();
  void begin();
  void wake();

 private:
  SharedRegion& region_;
  std::uint32_t waking_ = 0;  // value of the futex that ends the sleep
};

// Round trip: task 0 wakes task 1, which sleeps on a futex, and spins until it has set a flag. Both call it; `peer` is
// the other's process. The sleep is seen before each sample and is no part of it.
void futex_wake_round_trip(SharedRegion& region, pid_t peer, std::uint64_t iterations, Samples* samples);

// The same with a datagram socket: task 1 sleeps in poll() and answers; task 0 spins for the answer. `socket` is
// connected to the other's and non-blocking.
void socket_wake_round_trip(SharedRegion& region, int socket, pid_t peer, std::uint64_t iterations, Samples* samples);

}  // namespace openlapi::bench
