// The floor of large messages in shared memory: one copy by process_vm_readv, in the same order of events as the
// library.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/perf/shared_region.h"
#include "bench/perf/stopwatch.h"

namespace openlapi::bench {

// fresh: the source is rewritten by its owner before each transfer and the target is read after it, both outside the
// measured time. warm: the same bytes are copied again and again.
enum class Regime { fresh, warm };

class AttachFloor {
 public:
  AttachFloor(SharedRegion& region, std::size_t largest);

  // Whether both tasks may read each other's memory; tried for real. Called by both.
  bool usable();

  // Task 0 has the data and says so; task 1 copies it and says so. From before the first word to after the second.
  void push(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples);
  // Task 0 copies what task 1 has.
  void pull(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples);
  // Both copy from each other at the same time.
  void both_ways(std::uint64_t iterations, std::size_t length, Samples* samples);

 private:
  bool copy(std::size_t length);
  void meet();

  SharedRegion& region_;
  std::vector<std::byte> source_;
  std::vector<std::byte> target_;
  pid_t peer_ = 0;
  std::uint64_t peer_source_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace openlapi::bench
