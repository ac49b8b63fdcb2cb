// What DPDK ports do without the library: bench/dpdk_floor between the same two processors over ports of its own of the
// same kind, run by the two tasks in turn with the library's slices. Both tasks call the same function; task 0 gets one
// sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/perf/shared_region.h"
#include "bench/perf/stopwatch.h"

namespace openlapi::bench {

class DpdkFloor {
 public:
  // The bytes that come before a packet in a frame of the library.
  static constexpr std::size_t kHeader = 48;

  explicit DpdkFloor(SharedRegion& region) : region_(region) {}

  // False: `error` says what is missing.
  bool open(std::string& error);

  // Half round trip of a frame that is as long as the library's for `length` bytes; `parts` 1: the whole round trip.
  void ping_pong(std::size_t length, double parts, Samples* samples);
  // Time of `length` bytes in a stream of frames that hold `packet` bytes each.
  void stream(std::size_t length, std::size_t packet, Samples* samples);

 private:
  double run(const char* what, std::size_t frame, std::uint64_t count);

  SharedRegion& region_;
  std::string program_;
};

}  // namespace openlapi::bench
