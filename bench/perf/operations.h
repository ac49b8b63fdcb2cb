// The operations of the library as they are measured. Both tasks call the same function with the same numbers; task 0
// gets the samples, in nanoseconds.
//
// Messages up to the copy limit are ping-pongs: their bytes are written anew into shared memory (or a socket) by each
// send, so the origin's own buffer is not rewritten in between; the target reads all of them. Larger ones are moved by
// attaching to the origin's buffer, so there the rule of the floor holds: the owner rewrites the source before each
// transfer and the target reads it after, both outside of the time (Regime::fresh).
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/perf/attach_floor.h"
#include "bench/perf/lapi_job.h"
#include "bench/perf/shared_region.h"
#include "bench/perf/stopwatch.h"

namespace openlapi::bench {

class Operations {
 public:
  Operations(LapiJob& job, SharedRegion& region) : job_(job), region_(region) {}

  // Half round trips.
  void put(std::uint64_t iterations, std::size_t length, unsigned batch, Samples* samples);
  void active_message(std::uint64_t iterations, std::size_t length, Handler handler, unsigned batch, Samples* samples);

  // Whole operations of task 0; task 1 only makes progress.
  void put_completed(std::uint64_t iterations, std::size_t length, unsigned batch, Samples* samples);
  void get(std::uint64_t iterations, std::size_t length, unsigned batch, Samples* samples);
  void read_modify_write(std::uint64_t iterations, RMW_ops_t operation, unsigned bits, unsigned batch,
                         Samples* samples);
  void rate(std::uint64_t messages, Samples* samples);  // one sample: nanoseconds per put

  // Large messages, until they are complete at task 0.
  void large_put(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples);
  void large_get(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples);
  void large_active_message(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples);

  // Several large messages at a time; one sample: time of each.
  void put_stream(std::uint64_t iterations, std::size_t length, Samples* samples);
  void get_stream(std::uint64_t iterations, std::size_t length, Samples* samples);

  // Until what one sent is complete and what the other sent has arrived.
  void put_both_ways(std::uint64_t iterations, std::size_t length, unsigned batch, Samples* samples);
  void large_put_both_ways(std::uint64_t iterations, std::size_t length, Samples* samples);

  // Task 0's part of put_completed() and get() alone, while task 1 is no help.
  void put_and_wait(std::size_t length);
  void get_and_wait(const std::byte* source, std::size_t length);  // `source`: in task 1

 private:
  template <class Send>
  void large_push(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples, Send&& send);
  template <class Begin>
  void stream(std::uint64_t iterations, lapi::Counter& ended, Samples* samples, Begin&& begin);
  template <class Origin>
  void one_sided(Origin&& origin);
  template <class Word>
  void modify(RMW_ops_t operation, lapi::Remote<Word> variable);
  void step(int side);
  void rewrite(std::size_t length, Regime regime);

  LapiJob& job_;
  SharedRegion& region_;
  std::uint64_t sequence_ = 0;
};

}  // namespace openlapi::bench
