// What RDMA adapters do without the library: the figures of perftest's programs between the same two processors, run by
// the two tasks in turn with the library's slices. Both tasks call the same function; task 0 gets one sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/perf/shared_region.h"
#include "bench/perf/stopwatch.h"

namespace openlapi::bench {

enum class QueuePair { datagram, reliable };

// The words that tell perftest which adapter MP_EUIDEVICE means (device[:port[:gid_index]]); empty: its own choice.
std::string perftest_device(const std::string& euidevice);
// The column that matters of what perftest prints: ib_send_lat's typical latency, ib_read_bw's average bandwidth. 0:
// there is no line of figures.
double perftest_figure(const std::string& output, unsigned column);

class RdmaFloor {
 public:
  explicit RdmaFloor(SharedRegion& region) : region_(region) {}

  // False: `error` says what is missing.
  bool open(std::string& error);

  // ib_send_lat: half round trip of one message; `parts` 1: the whole one.
  void ping_pong(std::size_t length, QueuePair kind, double parts, Samples* samples);
  // ib_read_bw: time of one message in a stream of RDMA READs.
  void read_stream(std::size_t length, Samples* samples);

 private:
  std::string run(const std::string& words);

  SharedRegion& region_;
  std::string device_;
};

}  // namespace openlapi::bench
