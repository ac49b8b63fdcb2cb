// Operations of messages that are copied before the call returns, and of variables.
#include <cstring>

#include "bench/perf/operations.h"
#include "bench/perf/payload.h"

namespace openlapi::bench {

void Operations::put(std::uint64_t iterations, std::size_t length, unsigned batch, Samples* samples) {
  const bool first = job_.task() == 0;
  std::byte* source = job_.source();
  const auto send = [&] {
    ++sequence_;
    std::memcpy(source, &sequence_, length < 8 ? length : 8);
    job_.context().put(job_.peer_target(), {source, length}, {.target = job_.peer_arrived()});
  };
  const auto receive = [&] {
    job_.wait(job_.window().arrived);
    read_all(job_.target(), length);
  };
  time_batches(iterations, batch, 2, samples, [&] {
    if (first) send();
    receive();
    if (!first) send();
  });
  job_.fence_all();
}

void Operations::active_message(std::uint64_t iterations, std::size_t length, Handler handler, unsigned batch,
                                Samples* samples) {
  const bool first = job_.task() == 0;
  const auto send = [&] {
    job_.context().send(job_.peer_handler(handler), {}, {job_.source(), length}, {.target = job_.peer_arrived()});
  };
  const auto receive = [&] {
    job_.wait(job_.window().arrived);
    if (handler == Handler::read_in_place && !LapiJob::read_by_handler()) read_all(job_.target(), length);
  };
  time_batches(iterations, batch, 2, samples, [&] {
    if (first) send();
    receive();
    if (!first) send();
  });
  job_.fence_all();
}

// Task 0 works; task 1 makes progress until it is told that the work is done.
template <class Origin>
void Operations::one_sided(Origin&& origin) {
  if (job_.task() == 0) {
    origin();
    job_.finish_phase();
  } else {
    job_.wait(job_.window().finished);
  }
  job_.fence_all();
}

void Operations::put_and_wait(std::size_t length) {
  job_.context().put(job_.peer_target(), {job_.source(), length}, {.completion = &job_.window().completed});
  job_.wait(job_.window().completed);
}

void Operations::put_completed(std::uint64_t iterations, std::size_t length, unsigned batch, Samples* samples) {
  one_sided([&] { time_batches(iterations, batch, 1, samples, [&] { put_and_wait(length); }); });
}

void Operations::get(std::uint64_t iterations, std::size_t length, unsigned batch, Samples* samples) {
  one_sided([&] {
    time_batches(iterations, batch, 1, samples, [&] {
      job_.context().get({job_.target(), length}, job_.peer_source(), {.origin = &job_.window().returned});
      job_.wait(job_.window().returned);
    });
  });
}

void Operations::get_and_wait(const std::byte* source, std::size_t length) {
  job_.context().get({job_.target(), length}, lapi::Remote<std::byte>{job_.peer(), const_cast<std::byte*>(source)},
                     {.origin = &job_.window().returned});
  job_.wait(job_.window().returned);
}

template <class Word>
void Operations::modify(RMW_ops_t operation, lapi::Remote<Word> variable) {
  lapi::Context& context = job_.context();
  lapi::Counter& done = job_.window().returned;
  Word previous = 0;
  switch (operation) {
    case FETCH_AND_ADD:
      context.fetch_add(variable, 1, &previous, &done);
      break;
    case FETCH_AND_OR:
      context.fetch_or(variable, 1, &previous, &done);
      break;
    case SWAP:
      context.swap(variable, 1, &previous, &done);
      break;
    case COMPARE_AND_SWAP:
      context.compare_and_swap(variable, 1, 2, &previous, &done);
      break;
  }
  job_.wait(done);
}

void Operations::read_modify_write(std::uint64_t iterations, RMW_ops_t operation, unsigned bits, unsigned batch,
                                   Samples* samples) {
  const lapi::Remote<long long> wide = job_.peer_variable();
  const lapi::Remote<int> narrow{wide.task, reinterpret_cast<int*>(wide.address)};
  one_sided([&] {
    time_batches(iterations, batch, 1, samples,
                 [&] { bits == 64 ? modify(operation, wide) : modify(operation, narrow); });
  });
}

void Operations::rate(std::uint64_t messages, Samples* samples) {
  constexpr std::size_t kSpread = 4096;  // bytes of the target that the puts go over
  one_sided([&] {
    time_each(1, static_cast<double>(messages), samples, [&] {
      const std::uint64_t start = ticks();
      for (std::uint64_t i = 0; i < messages; ++i) {
        job_.context().put(job_.peer_target() + static_cast<std::ptrdiff_t>(i * 8 % kSpread), {job_.source(), 8});
      }
      job_.context().fence();
      return ticks() - start;
    });
  });
}

void Operations::put_both_ways(std::uint64_t iterations, std::size_t length, unsigned batch, Samples* samples) {
  time_batches(iterations, batch, 1, samples, [&] {
    job_.context().put(job_.peer_target(), {job_.source(), length}, {.target = job_.peer_arrived()});
    job_.wait(job_.window().arrived);
    read_all(job_.target(), length);
  });
  job_.fence_all();
}

}  // namespace openlapi::bench
