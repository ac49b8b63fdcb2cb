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
    check(
        LAPI_Put(job_.handle(), job_.peer(), length, job_.peer_target(), source, job_.peer_arrived(), nullptr, nullptr),
        "LAPI_Put");
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
  void* address = job_.peer_handler(handler);
  const auto send = [&] {
    check(LAPI_Amsend(job_.handle(), job_.peer(), address, nullptr, 0, job_.source(), length, job_.peer_arrived(),
                      nullptr, nullptr),
          "LAPI_Amsend");
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
  check(LAPI_Put(job_.handle(), job_.peer(), length, job_.peer_target(), job_.source(), nullptr, nullptr,
                 &job_.window().completed),
        "LAPI_Put");
  job_.wait(job_.window().completed);
}

void Operations::put_completed(std::uint64_t iterations, std::size_t length, unsigned batch, Samples* samples) {
  one_sided([&] { time_batches(iterations, batch, 1, samples, [&] { put_and_wait(length); }); });
}

void Operations::get(std::uint64_t iterations, std::size_t length, unsigned batch, Samples* samples) {
  one_sided([&] {
    time_batches(iterations, batch, 1, samples, [&] {
      check(LAPI_Get(job_.handle(), job_.peer(), length, job_.peer_source(), job_.target(), nullptr,
                     &job_.window().returned),
            "LAPI_Get");
      job_.wait(job_.window().returned);
    });
  });
}

void Operations::read_modify_write(std::uint64_t iterations, RMW_ops_t operation, unsigned bits, unsigned batch,
                                   Samples* samples) {
  lapi_cntr_t& done = job_.window().returned;
  one_sided([&] {
    time_batches(iterations, batch, 1, samples, [&] {
      if (bits == 64) {
        long long input[2] = {1, 2};
        long long previous = 0;
        check(LAPI_Rmw64(job_.handle(), operation, job_.peer(), job_.peer_variable(), input, &previous, &done),
              "LAPI_Rmw64");
        job_.wait(done);
      } else {
        int input[2] = {1, 2};
        int previous = 0;
        check(LAPI_Rmw(job_.handle(), operation, job_.peer(), reinterpret_cast<int*>(job_.peer_variable()), input,
                       &previous, &done),
              "LAPI_Rmw");
        job_.wait(done);
      }
    });
  });
}

void Operations::rate(std::uint64_t messages, Samples* samples) {
  constexpr std::size_t kSpread = 4096;  // bytes of the target that the puts go over
  one_sided([&] {
    time_each(1, static_cast<double>(messages), samples, [&] {
      const std::uint64_t start = ticks();
      for (std::uint64_t i = 0; i < messages; ++i) {
        check(LAPI_Put(job_.handle(), job_.peer(), 8, job_.peer_target() + i * 8 % kSpread, job_.source(), nullptr,
                       nullptr, nullptr),
              "LAPI_Put");
      }
      check(LAPI_Fence(job_.handle()), "LAPI_Fence");
      return ticks() - start;
    });
  });
}

void Operations::put_both_ways(std::uint64_t iterations, std::size_t length, unsigned batch, Samples* samples) {
  time_batches(iterations, batch, 1, samples, [&] {
    check(LAPI_Put(job_.handle(), job_.peer(), length, job_.peer_target(), job_.source(), job_.peer_arrived(), nullptr,
                   nullptr),
          "LAPI_Put");
    job_.wait(job_.window().arrived);
    read_all(job_.target(), length);
  });
  job_.fence_all();
}

}  // namespace openlapi::bench
