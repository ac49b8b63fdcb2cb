// The pair of bare sockets under the UDP figures, on loopback, and the floors that are more than one call of
// bench/floors/udp_floor.h. Both tasks call the same function with the same numbers; task 0 gets the samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/perf/shared_region.h"
#include "bench/perf/stopwatch.h"

namespace openlapi::bench {

class UdpSockets {
 public:
  explicit UdpSockets(SharedRegion& region) : region_(region) {}
  ~UdpSockets();
  UdpSockets(const UdpSockets&) = delete;
  UdpSockets& operator=(const UdpSockets&) = delete;

  bool open(std::string& error);
  int descriptor() const { return socket_; }

  // U: half round trip of one datagram. `parts` 1: the whole round trip.
  void ping_pong(std::uint64_t iterations, std::size_t length, double parts, Samples* samples);
  // A message of `length` bytes in a segmented, coalesced stream with copies on both sides, until it is acknowledged.
  void stream(std::uint64_t messages, std::size_t length, Samples* samples);
  // The same with segments of 64 bytes, one for each of `puts`; one sample: nanoseconds per segment.
  void small_segments(std::uint64_t puts, Samples* samples);
  // One datagram, or a stream, each way at the same time.
  void both_ways(std::uint64_t iterations, std::size_t length, Samples* samples);

 private:
  [[noreturn]] void lost() const;
  std::vector<std::byte>& buffer(std::size_t length);

  SharedRegion& region_;
  int socket_ = -1;
  std::vector<std::byte> buffer_;
};

}  // namespace openlapi::bench
