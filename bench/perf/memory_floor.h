// Floors in shared memory: what two cores can do at best without any library. Both tasks call the same function with
// the same numbers; task 0 gets the samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/perf/shared_region.h"
#include "bench/perf/stopwatch.h"

namespace openlapi::bench {

class MemoryFloor {
 public:
  explicit MemoryFloor(SharedRegion& region) : region_(region) {}

  // F: half round trip of a flag in one line, with `pause` in the loop. `parts` 1: the whole round trip.
  void flag(std::uint64_t iterations, double parts, Samples* samples);

  // F(n): half round trip of n bytes, freshly written by one side and all read by the other.
  void bytes(std::uint64_t iterations, std::size_t length, Samples* samples);

  // Round trip of a request of one line, answered with n bytes that are copied from a private buffer to shared memory
  // and from there to a private buffer.
  void fetch(std::uint64_t iterations, std::size_t length, Samples* samples);

  // n bytes each way at the same time: written, then the other's read. A side may be one message ahead.
  void both_ways(std::uint64_t iterations, std::size_t length, Samples* samples);

  // Messages of 8 bytes through a ring of 64-byte slots, single producer (task 0) and consumer, with the sequence word
  // in the slot. One sample: nanoseconds per message from the first one written until the last one is taken.
  void ring(std::uint64_t messages, Samples* samples);

 private:
  void publish(int direction, std::size_t length);
  void consume(int direction, std::size_t length);
  void produce_messages(std::uint64_t messages);
  void consume_messages(std::uint64_t messages);

  SharedRegion& region_;
  std::uint64_t flag_ = 0;      // last value of the flag
  std::uint64_t sequence_ = 0;  // number of the last message in bytes[]
  std::uint64_t ring_next_ = 0;
  std::uint64_t ring_taken_ = 0;  // the producer's last look at ring_head
  std::vector<std::byte> source_ = std::vector<std::byte>(kFloorBytes);
  std::vector<std::byte> target_ = std::vector<std::byte>(kFloorBytes);
};

}  // namespace openlapi::bench
